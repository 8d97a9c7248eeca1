import assert from "node:assert/strict";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";
import type { Result } from "./attempt.js";
import { boundaryText } from "./boundary.js";
import { record, ChaosStage, workOff } from "./campaign.js";
import type { ChaosFault } from "./chaos-fault.js";
import { jobsOf, type Matrix, type Recording } from "./jobs.js";
import { type OperationName, rolloutNames } from "./operation.js";
import { pickBy, seedOf } from "./random.js";
import { hasPassed, problemText, resultLine } from "./report.js";
import { requestVerbs } from "./request-verbs.js";

const seed = seedOf(process.env, Date.now());
const quickstart = join(repository, "examples", "quickstart");
const rollouts = join(repository, "test", "chaos", "scenarios", "rollouts");
const lagging = join(repository, "test", "chaos", "scenarios", "lagging");

/** A sample of what `npm run chaos` runs in full; CHAOS_SEED repeats one, or draws another. */
describe(`a sample of chaos, seed ${seed}`, () => {
  const stages = new Map<string, ChaosStage>();

  after(async () => {
    for (const stage of stages.values()) await stage.close();
  });

  const stageOf = (scenario: string): ChaosStage => {
    const stage = stages.get(scenario) ?? new ChaosStage(scenario);
    stages.set(scenario, stage);
    return stage;
  };

  const freshRecordingOf = async (scenario: string, name: OperationName): Promise<Recording> => {
    const stage = stageOf(scenario);
    const recording = await record(stage, stage.operations[name]);
    assert.deepEqual(recording.problems, [], "undisturbed");
    return recording;
  };

  const recordings = new Map<string, Promise<Recording>>();
  const recordingOf = (scenario: string, name: OperationName): Promise<Recording> => {
    const id = `${scenario} ${name}`;
    const known = recordings.get(id) ?? freshRecordingOf(scenario, name);
    recordings.set(id, known);
    return known;
  };

  const run = async (
    scenario: string,
    recordings: readonly Recording[],
    matrix: Partial<Matrix>,
  ): Promise<Result[]> => {
    const jobs = jobsOf(recordings, {
      faults: ["tree"],
      recoveries: undefined,
      seed,
      at: undefined,
      points: undefined,
      double: 0,
      ...matrix,
    });
    return workOff(stageOf(scenario), jobs, 2, () => {});
  };

  const assertPassed = (results: readonly Result[], atLeast: number): void => {
    const failed = results.filter((result) => !hasPassed(result));
    const told = failed.map((result) => `${resultLine(result)}\n${problemText(result)}`);
    assert.equal(failed.length, 0, told.join(""));
    assert.ok(results.length >= atLeast, `${results.length} recoveries are too few`);
  };

  it("passes the same boundaries in every undisturbed run", async () => {
    const [one, other] = await Promise.all([
      freshRecordingOf(quickstart, "scale"),
      recordingOf(quickstart, "scale"),
    ]);
    const texts = ({ boundaries }: Recording) => boundaries.map(boundaryText).sort();
    assert.deepEqual(texts(one), texts(other));
    const kinds = new Set(one.boundaries.map(({ side, what }) => `${side} ${what}`));
    const calls = ["list", "get", "create"];
    const all = calls.flatMap((call) => [`before ${call}`, `after ${call}`]);
    assert.deepEqual([...kinds].sort(), all.sort());
  });

  const operations: OperationName[] = [
    "create",
    "update",
    "shrink",
    "replace",
    "destroy",
    "rollback",
    "failing",
    "stillborn",
    "plain",
  ];
  for (const name of operations) {
    it(`${name}: killed anywhere, it is recovered, seed ${seed}`, async () => {
      const recording = await recordingOf(quickstart, name);
      assertPassed(await run(quickstart, [recording], { points: 1 }), 1);
    });
  }

  for (const name of rolloutNames) {
    it(`${name}: killed in a wave, it is recovered`, async () => {
      const recording = await recordingOf(rollouts, name);
      const at = name === "upgrade" ? "after update cp-" : "after terminate ";
      const matrix: Partial<Matrix> = { at, points: 1, recoveries: ["same", "rollback"] };
      assertPassed(await run(rollouts, [recording], matrix), 2);
    });
  }

  const faults: ChaosFault[] = ["cli", "frozen", "rival", "unsynced", "lose", "fail"];
  it(`scale: ${faults.join(", ")} at the create`, async () => {
    const recording = await recordingOf(quickstart, "scale");
    const matrix: Partial<Matrix> = { faults, at: "after create", recoveries: ["rollback"] };
    assertPassed(await run(quickstart, [recording], matrix), 5);
  });

  it(`scale: killed, then a request for records alone, seed ${seed}`, async () => {
    const recording = await recordingOf(quickstart, "scale");
    const recovery = pickBy(seed, "request")(requestVerbs);
    const recoveries = recovery === undefined ? [] : [recovery];
    assertPassed(await run(quickstart, [recording], { points: 1, recoveries }), 1);
  });

  it("scale: killed twice in a row", async () => {
    const recording = await recordingOf(quickstart, "scale");
    const results = await run(quickstart, [recording], { points: 0, double: 1 });
    assertPassed(results, 1);
    assert.ok(results.every(({ second }) => second !== undefined));
  });

  it("create: killed in a cloud whose listings show nothing new", async () => {
    const recording = await recordingOf(lagging, "create");
    const matrix: Partial<Matrix> = { at: "after create network", recoveries: ["same"] };
    assertPassed(await run(lagging, [recording], matrix), 1);
  });
});
