import assert from "node:assert/strict";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };
const withoutMembers: ScenarioCluster = { machines: { "worker-0": {} } };

describe("a control plane whose file is lost", () => {
  let sandbox: Sandbox;

  copyForEachTest(pair, (copy) => {
    sandbox = copy;
  });

  it("stays, whoever asks, until the flag allows to lose it", async () => {
    const before = sandbox.ledgerEnd();
    sandbox.write(withoutMembers);
    const planned = await sandbox.plan(65);
    assert.match(
      planned.stderr,
      /\.yaml:\d+:\d+: cannot remove the control plane of Cluster default\/demo/,
    );
    assert.match(planned.stderr, /--allow-removal control-plane, or with the annotation/);
    await sandbox.up(65);
    await sandbox.plain(1, "up", demoStack, "--yes", "--skip-preview");
    assert.deepEqual(sandbox.mutations(before), []);
    await sandbox.up(0, "--allow-removal", "control-plane");
    assert.throws(() => sandbox.hostOf("cp-0"));
    sandbox.write(pair);
    await sandbox.up();
    const back = await sandbox.capstan(65, "rollback", demoStack, "--to", "2", "--yes");
    assert.match(back.stderr, /allow it with --allow-removal control-plane$/m);
    await sandbox.capstan(
      ...([0, "rollback", demoStack, "--to", "2", "--yes"] as const),
      "--allow-removal",
      "control-plane",
    );
    await sandbox.assertSound(demoStack);
  });
});
