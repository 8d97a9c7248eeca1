import assert from "node:assert/strict";
import { join } from "node:path";
import { repository } from "../../scenario/sandbox.js";
import { attempt, type Job } from "../attempt.js";
import type { Boundary } from "../boundary.js";
import type { Operation } from "../operation.js";
import { hasPassed, problemText, resultLine } from "../report.js";
import { AwsStage } from "./aws-stage.js";

/** A sample of `npm run chaos -- --provider aws`, at calls that would leave most behind. */
describe("a sample of chaos over a simulated AWS", () => {
  let stage: AwsStage;

  before(() => {
    stage = new AwsStage(join(repository, "test", "chaos", "aws", "pair"));
  });
  after(() => stage.close());

  const passes = async (operation: Operation, boundary: Boundary, ways: Job["ways"]) => {
    const job: Job = { aim: { operation, boundary, fault: "tree" }, ways };
    const results = await attempt(await stage.sceneOf(operation), job);
    const told = results.map((result) => `${resultLine(result)}\n${problemText(result)}`);
    assert.ok(results.length === ways.length && results.every(hasPassed), told.join(""));
  };
  const at = (side: Boundary["side"], what: string, name: string | null = null): Boundary => ({
    side,
    kind: "call",
    what,
    name,
    nth: 1,
  });

  it("finds the VPC of a killed creation, which has no token, and takes it back", () =>
    passes(stage.operations.create, at("after", "ec2:CreateVpc", "vpc"), ["rollback"]));

  it("rolls workers back when it was killed before the old one ends", () =>
    passes(stage.operations.roll, at("before", "ec2:TerminateInstances"), ["rollback"]));

  it("goes on with a destroy that was killed when its first instance had ended", () => {
    const { destroy, create } = stage.operations;
    const first = create.target;
    assert.ok(first !== undefined);
    // From the revision that is there already: another one would take a change more.
    const early: Operation = { ...destroy, baseline: "first", revisions: [first], previous: first };
    return passes(early, at("after", "ec2:TerminateInstances"), ["same"]);
  });
});
