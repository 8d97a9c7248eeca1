import assert from "node:assert/strict";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";
import { record, ChaosStage, workOff } from "./campaign.js";
import { jobsOf, type Recording } from "./jobs.js";
import type { OperationName } from "./operation.js";
import type { NextCommand } from "./recovery.js";
import { seedOf } from "./random.js";
import { problemText, resultLine } from "./report.js";

const seed = seedOf(process.env, Date.now());

/** A few points of what `npm run chaos -- --matrix` draws from, with neighbours in the cloud. */
describe(`a sample of the matrix (verb killed) x (verb next), seed ${seed}`, () => {
  let stage: ChaosStage;
  const recordings = new Map<OperationName, Promise<Recording>>();

  before(() => {
    const scenario = join(repository, "examples", "quickstart");
    stage = new ChaosStage(scenario);
  });
  after(() => stage.close());

  const recordingOf = (name: OperationName): Promise<Recording> => {
    const known = recordings.get(name) ?? record(stage, stage.operations[name]);
    recordings.set(name, known);
    return known;
  };

  const points: readonly (readonly [OperationName, string, readonly NextCommand[]])[] = [
    ["scale", "after create workers-", ["rollbackTo", "destroy", "adopt", "plain"]],
    ["rollback", "after update cp-", ["same", "rollbackTo", "up"]],
    ["rollbackTo", "after update cp-", ["same", "rollback"]],
    ["destroy", "before terminate workers-", ["same", "old", "rollback"]],
    ["destroy", "after terminate cp-", ["same", "third", "rollbackTo"]],
    ["adoptChanged", "after create workers-", ["same", "rollback"]],
    ["adoptFailing", "after list (all)", ["same", "rollback"]],
    ["cornered", "before update cp-", ["rollback"]],
    ["cornered", "after update cp-", ["old", "rollback"]],
  ];
  for (const name of new Set(points.map(([killed]) => killed))) {
    it(`${name}, undisturbed`, async () => {
      assert.deepEqual((await recordingOf(name)).problems, []);
    });
  }

  for (const [name, at, recoveries] of points) {
    it(`${name}, killed ${at}, then ${recoveries.join(", ")}`, async () => {
      const drawn = jobsOf([await recordingOf(name)], {
        faults: ["tree"],
        recoveries,
        seed,
        at,
        points: 1,
        double: 0,
      });
      const jobs = drawn.map((job) => ({ ...job, repeats: true }));
      const told = await workOff(stage, jobs, 2, () => {});
      const text = told.map((result) => `${resultLine(result)}\n${problemText(result)}`).join("");
      assert.ok(told.length >= recoveries.length, text);
      assert.equal(/\| FAILED$/m.test(text), false, text);
    });
  }
});
