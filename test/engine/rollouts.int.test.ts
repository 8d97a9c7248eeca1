import assert from "node:assert/strict";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { changesAmong, countOf, rostersAfter } from "../scenario/host-roster.js";
import { type ScenarioCluster, demoStack, type ScenarioMachine } from "../scenario/manifests.js";
import type { PrintedPlan, Sandbox } from "../scenario/sandbox.js";

/** What each wave of a plan asks of the cloud, sorted: "create web-1a2b3c4d-0-a830c4ef-1". */
function changesByWave({ waves, steps }: PrintedPlan): string[][] {
  const kinds = new Map(steps.map(({ kind, key }) => [key, kind]));
  const calls: Record<string, string> = { create: "create", update: "update", delete: "terminate" };
  return waves.map(({ keys }) =>
    keys.map((key) => `${calls[kinds.get(key) ?? ""]} ${key.replace("LocalHost/", "")}`).sort(),
  );
}

/** The ledger's changes, cut into pieces as long as the waves. */
function cutLike(waves: readonly (readonly string[])[], changes: readonly string[]): string[][] {
  let from = 0;
  const pieces = waves.map(({ length }) => changes.slice(from, (from += length)).sort());
  return from < changes.length ? [...pieces, changes.slice(from)] : pieces;
}

describe("a rolling update of a hundred machines", () => {
  const hundred = (template: ScenarioMachine): ScenarioCluster => ({
    machines: { "cp-0": { controlPlane: true } },
    deployments: { web: { replicas: 100, maxSurge: "25%", maxUnavailable: "10%", template } },
  });
  let sandbox: Sandbox;

  copyForEachTest(hundred({ size: "small" }), (copy) => {
    sandbox = copy;
  });

  it("takes the waves that its plan shows, step by step in the cloud's ledger", async () => {
    sandbox.write(hundred({ size: "medium" }));
    const plan = await sandbox.planDocument(2);
    const begin = sandbox.ledgerEnd();
    await sandbox.up();

    const waves = changesByWave(plan);
    assert.ok(waves.length > 4, `${waves.length} waves are no rollout`);
    const rosters = rostersAfter(sandbox.cloudFile, begin);
    const changes = changesAmong(rosters);
    assert.deepEqual(cutLike(waves, changes), waves);
    assert.equal(changes.length, 200);
    for (const { seq, alive, serving } of rosters) {
      const [there, serve] = [countOf(alive, "web"), countOf(serving, "web")];
      assert.ok(there <= 125, `${there} hosts at ledger entry ${seq}`);
      assert.ok(serve >= 90, `${serve} hosts serve at ledger entry ${seq}`);
    }
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  });
});

describe("a control plane of three members that is replaced", () => {
  const member: ScenarioMachine = { controlPlane: true, joinMs: 200 };
  const three = (size: "small" | "medium"): ScenarioCluster => ({
    machines: {
      "cp-0": { ...member, size },
      "cp-1": { ...member, size },
      "cp-2": { ...member, size },
    },
  });
  let sandbox: Sandbox;

  copyForEachTest(three("small"), (copy) => {
    sandbox = copy;
    sandbox.write(three("medium"));
  });

  it("keeps its quorum at every entry of the ledger, one member after the other", async () => {
    const { stdout } = await sandbox.plan(2);
    for (const name of ["cp-0", "cp-1", "cp-2"]) {
      assert.match(stdout, new RegExp(`Machine ${name} +± replace +size small -> medium`));
    }
    const waves = changesByWave(await sandbox.planDocument(2));
    assert.deepEqual(
      waves.map((wave) => wave.map(withoutHash)),
      [
        ["create cp-0"],
        ["terminate cp-0"],
        ["create cp-1"],
        ["terminate cp-1"],
        ["create cp-2"],
        ["terminate cp-2"],
      ],
    );
    const begin = sandbox.ledgerEnd();
    await sandbox.up();
    const rosters = rostersAfter(sandbox.cloudFile, begin);
    assert.deepEqual(cutLike(waves, changesAmong(rosters)), waves);
    for (const { seq, call, alive, serving } of rosters) {
      const quorum = Math.floor(alive.size / 2) + 1;
      const text = `${serving.size} of ${alive.size} members serve after entry ${seq}, ${call}`;
      assert.ok(serving.size >= quorum && alive.size <= 4, text);
    }
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  });
});

/** "create cp-0" for "create cp-0-7ca2dcf0-1". */
function withoutHash(change: string): string {
  return change.replace(/-[0-9a-f]{8}-\d+$/, "");
}
