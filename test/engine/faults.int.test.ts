import assert from "node:assert/strict";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };
const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };

// Every fault at every call, and what each verb makes of it: test/transaction/atomic.model.test.ts and apply.test.ts.
describe("an apply in a cloud that misbehaves", () => {
  let sandbox: Sandbox;

  copyForEachTest(member, (copy) => {
    sandbox = copy;
  });

  const assertFinished = async () => {
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  };

  it("tries again when it is asked to slow down, and finds what was created when the answer is lost", async () => {
    sandbox.write({
      machines: { "cp-0": { controlPlane: true, kubelet: "1.34.3" }, "worker-0": {} },
    });
    await sandbox.cloud.fault("create", "throttle", { name: "worker-0", times: 3 });
    await sandbox.cloud.fault("create", "lose", { name: "worker-0" });
    await sandbox.cloud.fault("update", "throttle", { name: "cp-0" });
    await sandbox.up();
    const refused = sandbox.ledger().filter(({ effect }) => effect === "refused: throttle");
    assert.equal(refused.length, 4);
    assert.ok(sandbox.ledger().some(({ call, fault }) => call === "create" && fault === "lose"));
    sandbox.hostOf("worker-0");
    await assertFinished();
  });

  it("keeps and records what exists when a create fails, and finishes it later", async () => {
    sandbox.write(pair);
    await sandbox.cloud.fault("create", "fail", { name: "worker-0" });
    const { stderr } = await sandbox.up(4, "--no-rollback");
    assert.match(stderr, /cannot create LocalHost worker-0-\S+: local cloud: create failed/);
    assert.match(stderr, /Transaction 2 of default\/demo stays open; what exists is recorded/);
    assert.match(
      stderr,
      /hint: go on with capstan --state \S+ up -f \S+, or take it back with capstan --state \S+ rollback default\.demo/,
    );
    assert.doesNotMatch(stderr, /capstan destroy/, "a running cluster is not to be taken down");
    await sandbox.assertSound(demoStack);

    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, /Transaction 2 is not finished; this goes on with it/);
    await sandbox.up();
    sandbox.hostOf("worker-0");
    await assertFinished();
  });

  it("plans the rest of a deletion that failed after the commit", async () => {
    const annotations = { "capstan.dev/allow-removal": "control-plane" };
    sandbox.write({ annotations, machines: { "cp-1": { controlPlane: true } } });
    await sandbox.cloud.fault("terminate", "fail", { name: "cp-0", times: 2 });
    const { stderr } = await sandbox.up(3);
    assert.match(stderr, /Revision 2 of default\/demo is committed, but not all/);
    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, /Machine cp-0 +- delete/);
    await sandbox.up();
    assert.equal(sandbox.alive().filter(({ kind }) => kind === "LocalHost").length, 1);
    await assertFinished();
  });
});
