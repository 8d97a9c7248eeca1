import assert from "node:assert/strict";
import { attempt, type Job } from "../attempt.js";
import type { Boundary } from "../boundary.js";
import { hasPassed, problemText, resultLine } from "../report.js";
import { AwsStage } from "./aws-stage.js";

/** A sample of `npm run chaos -- --provider aws`, at calls that would leave most behind. */
describe("a sample of chaos over a simulated AWS", function () {
  this.timeout(300_000);
  let stage: AwsStage;

  before(() => {
    stage = new AwsStage();
  });
  after(() => stage.close());

  const passes = async (boundary: Boundary, ways: Job["ways"]) => {
    const operation = stage.operations.create;
    const job: Job = { aim: { operation, boundary, fault: "tree" }, ways };
    const results = await attempt(await stage.sceneOf(operation), job);
    const told = results.map((result) => `${resultLine(result)}\n${problemText(result)}`);
    assert.ok(results.length === ways.length && results.every(hasPassed), told.join(""));
  };
  const after1 = (what: string, name: string): Boundary => ({
    side: "after",
    kind: "call",
    what,
    name,
    nth: 1,
  });

  it("finds the VPC of a killed creation, which has no token, and takes it back", () =>
    passes(after1("ec2:CreateVpc", "vpc"), ["rollback"]));

  it("goes on with a creation that was killed when its instance was launched", () =>
    passes(after1("ec2:RunInstances", "cp-0-3b81542a-1"), ["same"]));
});
