import assert from "node:assert/strict";
import fc from "fast-check";
import type { OwnerMove } from "../../../src/sets/moves.js";
import { FakeEngine, outcomeText } from "../../support/fake-engine.js";
import { assertAsyncLaw } from "../../support/laws.js";
import {
  desiredCluster,
  type WantedCluster,
  wantedClusters,
} from "../../support/wanted-cluster.js";

/** Every set and deployment under a name that nothing had before. */
function renamed(wanted: WantedCluster): WantedCluster {
  const anew = <G>(groups: Readonly<Record<string, G>>): Record<string, G> =>
    Object.fromEntries(Object.entries(groups).map(([name, group]) => [`other-${name}`, group]));
  return { ...wanted, sets: anew(wanted.sets), deployments: anew(wanted.deployments) };
}

/** What makes `renamed` of it; a pool without machines has none that could move. */
function renaming({ sets, deployments }: WantedCluster): OwnerMove[] {
  const movesOf = (kind: OwnerMove["to"]["kind"], groups: WantedCluster["sets"]) =>
    Object.entries(groups)
      .filter(([, { replicas }]) => replicas > 0)
      .map(([name]) => ({ from: { kind, name }, to: { kind, name: `other-${name}` } }));
  return [...movesOf("MachineSet", sets), ...movesOf("MachineDeployment", deployments)];
}

describe("a move alone", () => {
  it("laws 1, 8: creates and deletes no host, and the plan behind it is empty", async () => {
    const property = fc.asyncProperty(
      fc.array(wantedClusters, { minLength: 1, maxLength: 3 }),
      async (history) => {
        const engine = new FakeEngine();
        let last: WantedCluster | undefined;
        for (const wanted of history) {
          const outcome = await engine.up(desiredCluster(wanted));
          if (outcome.kind === "done") last = wanted;
        }
        if (last === undefined) return;
        await engine.settle(desiredCluster(last));
        const moves = renaming(last);
        if (moves.length === 0) return;
        const [hosts, calls] = [engine.hosts(), engine.calls.length];
        const wanted = desiredCluster(renamed(last));
        const outcome = await engine.move(wanted, moves);
        assert.equal(outcome.kind, "done", outcomeText(outcome));
        assert.deepEqual([engine.hosts(), engine.calls.length], [hosts, calls]);
        assert.equal((await engine.plan(wanted)).empty, true);
        assert.deepEqual(engine.cloud.watch.violations, []);
      },
    );
    await assertAsyncLaw(property, 100);
  }).timeout(120_000);
});
