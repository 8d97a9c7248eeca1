import assert from "node:assert/strict";
import { makeMutant } from "../chaos/mutants.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import type { ExportedResource } from "../scenario/ledger-judge.js";
import { type ScenarioCluster, demoStack, mayLoseWorkers } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { programOf } from "../support/mutant.js";
import { removeFolder } from "../support/folders.js";

const member: ScenarioCluster = {
  annotations: mayLoseWorkers,
  machines: { "cp-0": { controlPlane: true } },
};
const pair: ScenarioCluster = { machines: { ...member.machines, "worker-0": {} } };

describe("a resource that Pulumi has replaced and still has to delete", () => {
  let sandbox: Sandbox;

  copyForEachTest(pair, (copy) => {
    sandbox = copy;
  });

  const isWorker = ({ urn }: ExportedResource) => urn.includes(":LocalHost::worker-0");

  const condemn = (edit: (host: ExportedResource) => ExportedResource[], where = sandbox) =>
    where.editState(demoStack, (deployment) => {
      deployment.resources = (deployment.resources ?? []).flatMap((one) =>
        isWorker(one) ? edit(one) : [one],
      );
    });

  const assertFinished = async () => {
    await sandbox.plan(0);
    await sandbox.plain(0, "preview", demoStack);
    await sandbox.assertSound(demoStack);
  };

  it("is shown by the plan, and goes before anything is begun", async () => {
    await condemn((host) => [{ ...host, delete: true }]);
    sandbox.write(member);
    const { id } = sandbox.hostOf("worker-0");
    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, new RegExp(`to be deleted: LocalHost worker-0-\\S+ \\(${id}\\)`));
    const before = sandbox.ledgerEnd();
    await sandbox.up();
    assert.deepEqual(
      sandbox.mutations(before).map(({ call, id: what }) => [call, what]),
      [["terminate", id]],
    );
    await assertFinished();
  });

  it("stays when its successor is the same resource: only the older record goes", async () => {
    await condemn((host) => [host, { ...host, delete: true }]);
    const { id } = sandbox.hostOf("worker-0");
    const { stdout } = await sandbox.plain(1, "up", demoStack, "--yes", "--skip-preview");
    assert.match(stdout, /the deletion of LocalHost\/worker-0-\S+ is owed/);
    const before = sandbox.ledgerEnd();
    await sandbox.plan(2);
    await sandbox.up();
    assert.deepEqual(sandbox.mutations(before), []);
    assert.equal(sandbox.hostOf("worker-0").id, id);
    await assertFinished();
  });

  it("takes its successor along where nobody knows that both are one", async () => {
    const folder = makeMutant("recordedOnce");
    const mutant = sandbox.copy({ program: programOf(folder) });
    try {
      await condemn((host) => [host, { ...host, delete: true }], mutant);
      await mutant.startUp().finished;
      assert.deepEqual(
        mutant.alive().filter(({ name }) => name.startsWith("worker-0")),
        [],
      );
    } finally {
      await mutant.close();
      removeFolder(folder);
    }
  });

  it("is deleted once, with its successor, when that is no longer wanted", async () => {
    await condemn((host) => [host, { ...host, delete: true }]);
    sandbox.write(member);
    await sandbox.up();
    assert.equal(sandbox.alive().length, 3);
    await assertFinished();
  });
});
