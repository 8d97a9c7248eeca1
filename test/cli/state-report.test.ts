import assert from "node:assert/strict";
import { nodeKey } from "../../src/graph/graph.js";
import { ownerOfItem, stateItemDetails, stateItems } from "../../src/cli/state-report.js";
import { FakeEngine } from "../support/fake-engine.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
} from "../support/manifests.js";

const objects = desiredOf([
  cluster(),
  machine("cp", { controlPlane: "1.34.2" }),
  machineDeployment("web", 1),
  machineSet("db", 1),
]);

function withoutHash(text: string): string {
  return text.replace(/-[0-9a-f]{8}\b/g, "-#");
}

async function listed(engine: FakeEngine): Promise<string[]> {
  return stateItems(engine.prior).map((item) =>
    withoutHash(
      [item.key, item.id ?? "-", item.phase, item.machine ?? "-", ownerOfItem(item)].join(" "),
    ).trimEnd(),
  );
}

describe("the list of what is recorded", () => {
  it("has infrastructure first, then each Machine with its hosts", async () => {
    assert.deepEqual(await listed(await FakeEngine.running(objects)), [
      "LocalNetwork/network LocalNetwork-1 recorded -",
      "LocalLoadBalancer/api LocalLoadBalancer-2 recorded -",
      "Machine/cp - recorded -",
      "LocalHost/cp-#-1 LocalHost-3 recorded cp",
      "Machine/db-0 - recorded - MachineSet db",
      "LocalHost/db-0-#-1 LocalHost-4 recorded db-0 MachineSet db",
      "Machine/web-#-0 - recorded - MachineDeployment web",
      "LocalHost/web-#-0-#-1 LocalHost-5 recorded web-#-0 MachineDeployment web",
    ]);
  });

  it("tells what an open transaction has yet to make, and what is to leave", async () => {
    const engine = await FakeEngine.running(objects);
    const fewer = desiredOf([
      cluster(),
      machine("cp", { controlPlane: "1.34.2" }),
      machine("new"),
      machineDeployment("web", 1),
    ]);
    await engine.up(fewer, [{ at: "call", number: 0, what: "killBefore" }]);
    const phases = (await listed(engine)).filter((line) => !line.includes(" recorded "));
    assert.deepEqual(phases, [
      "Machine/db-0 - leaving - MachineSet db",
      "LocalHost/db-0-#-1 LocalHost-4 leaving db-0 MachineSet db",
      "LocalHost/new-#-1 - interrupted new",
    ]);
  });

  it("of nothing is empty", () => {
    assert.deepEqual(stateItems(new FakeEngine().prior), []);
  });
});

describe("what is recorded of one", () => {
  it("host: identity, inputs, outputs, and what it needs", async () => {
    const { prior } = await FakeEngine.running(objects);
    const key = stateItems(prior).find(({ machine: name }) => name === "cp")?.key;
    const details = stateItemDetails(key ?? nodeKey("", ""), prior);
    assert.equal(details?.identity?.["clusterUid"], "uid-1");
    assert.equal((details.inputs?.["spec"] as { role: string }).role, "controlPlane");
    assert.match((details.outputs?.["status"] as { address: string }).address, /^10\./);
    assert.deepEqual(details.dependsOn, ["LocalNetwork/network", "LocalLoadBalancer/api"]);
    assert.equal(details.undo, undefined);
  });

  it("Machine: versions, hosts and set", async () => {
    const { prior } = await FakeEngine.running(objects);
    const details = stateItemDetails(nodeKey("Machine", "db-0"), prior);
    assert.equal(details?.versions?.kubelet, "1.34.2");
    assert.deepEqual(details.hosts?.map(withoutHash), ["LocalHost/db-0-#-1"]);
    assert.equal(details.machineSet, "db");
  });

  it("shows no secret, whichever side marks it", async () => {
    const { prior } = await FakeEngine.running(objects);
    const key = nodeKey("LocalNetwork", "network");
    for (const mark of ["secretInputs", "secretOutputs"] as const) {
      const resources = prior.resources.map((one) =>
        one.key === key ? { ...one, [mark]: ["spec"] } : one,
      );
      const details = stateItemDetails(key, { ...prior, resources });
      assert.deepEqual(
        [details?.inputs?.["spec"], details?.outputs?.["spec"]],
        ["[secret]", "[secret]"],
      );
    }
  });

  it("tells how a change can be taken back, where that is not simply so", async () => {
    const engine = await FakeEngine.running(objects);
    const { transaction } = engine.prior;
    assert.ok(transaction !== undefined);
    const key = nodeKey("LocalNetwork", "network");
    const state = { ...engine.prior, transaction: { ...transaction, compensable: [key] } };
    assert.equal(stateItemDetails(key, state)?.undo, "compensable");
  });

  it("is nothing of what has no record", async () => {
    const { prior } = await FakeEngine.running(objects);
    assert.equal(stateItemDetails(nodeKey("Machine", "none"), prior), undefined);
  });
});
