import assert from "node:assert/strict";
import { join } from "node:path";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const at = (version: string): ScenarioCluster => ({
  machines: {
    "cp-0": { controlPlane: true, kubelet: version, joinMs: 20 },
    "db-0": { kubelet: version, joinMs: 20 },
  },
});

describe("an upgrade over three minor versions", () => {
  let sandbox: Sandbox;

  copyForEachTest(at("1.31.4"), (copy) => {
    sandbox = copy;
  });

  /** What the control plane ran, and each worker, in the order in which the cloud was told. */
  const versionsOf = (machine: string) => {
    const { kubelet, controlPlane } = sandbox.hostOf(machine).spec;
    return [kubelet, controlPlane].filter((version) => version !== undefined);
  };

  it("is one up of several stages, each a revision of its own, the control plane always first", async () => {
    sandbox.write(at("1.34.2"));
    const { stdout } = await sandbox.plan(2);
    assert.match(
      stdout,
      /Stage 1 of 3: control plane 1\.31\.4 -> 1\.32\.\d+ .*one minor version at a time/,
    );
    assert.match(stdout, /^Plan: stage 1 of 3: 1 to update in place; 1 wave/m);
    assert.match(
      stdout,
      / then stage 2: control plane 1\.32\.\d+ -> 1\.33\.\d+ .*\(Machine cp-0\)\n/,
    );
    assert.match(stdout, / then stage 3: all that is asked for \(Machine cp-0, .*\)\n/);
    const begin = sandbox.ledgerEnd();
    const applied = await sandbox.up();
    assert.deepEqual(applied.stdout.match(/^Plan: stage \d of \d/gm), [
      "Plan: stage 1 of 3",
      "Plan: stage 2 of 3",
      "Plan: stage 3 of 3",
    ]);
    assert.deepEqual(applied.stdout.match(/^Stage \d of \d: .{9}/gm), [
      "Stage 1 of 3: control p",
      "Stage 2 of 3: control p",
      "Stage 3 of 3: all that ",
    ]);
    assert.deepEqual(
      sandbox.mutations(begin).map(({ call, name }) => `${call} ${(name ?? "").slice(0, 4)}`),
      ["update cp-0", "update cp-0", "update cp-0", "update db-0"],
    );
    assert.deepEqual(versionsOf("cp-0"), ["1.34.2", "1.34.2"]);
    assert.deepEqual(versionsOf("db-0"), ["1.34.2"]);
    const history = await sandbox.capstan(0, "history", demoStack);
    assert.match(history.stdout, /^4 .*present/m);
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  });

  it("does not lead back: neither by manifests nor by rollback --to", async () => {
    sandbox.write(at("1.32.10"));
    await sandbox.up();
    const begin = sandbox.ledgerEnd();
    sandbox.write(at("1.31.4"));
    const refused = await sandbox.up(65);
    assert.match(
      refused.stderr,
      /control plane 1\.31\.4 is of an older minor version than 1\.32\.10/,
    );
    const back = await sandbox.capstan(65, "rollback", demoStack, "--to", "1", "--yes");
    assert.match(back.stderr, /older minor version than 1\.32\.10/);
    const history = await sandbox.capstan(0, "history", demoStack);
    assert.match(history.stdout, /^1 .*older versions/m);
    assert.deepEqual(sandbox.mutations(begin), []);
  });

  it("of a saved plan is its first stage", async () => {
    sandbox.write(at("1.33.6"));
    const saved = join(sandbox.folder, "plan.json");
    await sandbox.plan(2, "--out", saved);
    await sandbox.capstan(0, "up", "--plan", saved);
    assert.match(String(versionsOf("cp-0")[0]), /^1\.32\./);
    assert.deepEqual(versionsOf("db-0"), ["1.31.4"]);
    await sandbox.capstan(6, "up", "--plan", saved);
    await sandbox.up();
    assert.deepEqual(versionsOf("db-0"), ["1.33.6"]);
    await sandbox.plan(0);
  });
});
