import assert from "node:assert/strict";
import { join } from "node:path";
import { repository } from "../../scenario/sandbox.js";
import { copyReplaced, programOf } from "../../support/mutant.js";
import { pickBy, seedOf } from "../random.js";
import { lifeTargetsOf } from "../targets.js";
import { verdictProblems } from "../verdict.js";
import { type WatchBoundary, watchBoundaryText } from "./watch-boundary.js";
import { watchResultLine } from "./watch-campaign.js";
import type { WatchFault } from "./watch-fault.js";
import { playLife, type WatchLife, type WatchPoint, type WatchResult } from "./watch-life.js";
import { type WatchMutantName, watchMutants } from "./watch-mutants.js";
import type { WatchOperation } from "./watch-operation.js";
import { WatchStage } from "./world.js";
import { removeFolder } from "../../support/folders.js";

const seed = seedOf(process.env, Date.now());
const targets = lifeTargetsOf(join(repository, "examples", "quickstart"));

/** What every life passes, whatever it is about. */
const passed: Readonly<Partial<Record<WatchOperation, readonly (readonly [string, number])[]>>> = {
  create: [
    ["claim", 1],
    ["create", 1],
    ["create", 3],
    ["status", 1],
    ["status", 4],
  ],
  scale: [
    ["create", 1],
    ["status", 1],
    ["status", 2],
  ],
};

function drawn(operation: WatchOperation): WatchPoint {
  const pick = pickBy(seed, operation);
  const faults: readonly WatchFault[] = ["tree", "frozen", "api"];
  const [what, nth] = pick(passed[operation] ?? []) ?? ["status", 1];
  const side = pickBy(seed, operation, "side")(["before", "after"] as const) ?? "before";
  const fault = pickBy(seed, operation, "fault")(faults) ?? "tree";
  const boundary: WatchBoundary = { side, kind: "write", what, name: undefined, nth };
  return { operation, boundary, fault };
}

async function lived(stage: WatchStage, life: WatchLife): Promise<WatchResult[]> {
  const results: WatchResult[] = [];
  const tell = (result: WatchResult) => void results.push(result);
  const missed = ({ boundary }: WatchPoint) =>
    assert.fail(`${watchBoundaryText(boundary)}: missed`);
  await playLife(stage, life, { targets, names: undefined, tell, missed });
  return results;
}

/** A sample of what `npm run chaos -- --watch` runs in full. */
describe(`a sample of chaos in the watch loop, seed ${seed}`, () => {
  let stage: WatchStage;

  afterEach(() => stage.close());

  const points = [drawn("create"), drawn("scale")];
  const names = points.map(({ boundary, fault }) => `${fault} ${watchBoundaryText(boundary)}`);
  it(`another controller goes on: ${names.join(", ")}`, async () => {
    stage = await WatchStage.start("file");
    const results = await lived(stage, { operations: ["create", "scale"], points });
    const problems = results.flatMap((result) => [
      watchResultLine(result),
      ...verdictProblems(result.verdict),
    ]);
    assert.equal(results.length, points.length, problems.join("\n"));
    assert.deepEqual(
      results.flatMap(({ verdict }) => verdictProblems(verdict)),
      [],
      problems.join("\n"),
    );
  });

  for (const name of Object.keys(watchMutants) as WatchMutantName[]) {
    const { edits, life, want } = watchMutants[name];
    it(`is failed by a controller with a defect: ${name}`, async () => {
      const folder = copyReplaced(["dist/src", "dist/providers"], edits);
      try {
        stage = await WatchStage.start("file", programOf(folder));
        const results = await lived(stage, life);
        const problems = results.flatMap(({ verdict }) => verdictProblems(verdict));
        assert.match(problems.join("\n"), want);
      } finally {
        removeFolder(folder);
      }
    });
  }
});
