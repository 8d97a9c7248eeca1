import assert from "node:assert/strict";
import type { Condition } from "../../src/api/status.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeController } from "../support/fake-controller.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, machine, type Manifest } from "../support/manifests.js";

const members = ["cp-0", "cp-1", "cp-2"].map((name) => machine(name, { controlPlane: "1.34.2" }));

async function running(of: Manifest = cluster()): Promise<FakeController> {
  const world = new FakeEngine({ traits: { ...plainWorld, joins: true, tellsTimes: true } });
  const controller = new FakeController(world);
  controller.server.apply(of, ...members);
  assert.deepEqual(await controller.settle(), { kind: "done" });
  return controller;
}

/** "True Healthy", without the hash in a host's name. */
function etcdCondition({ server }: FakeController): string | undefined {
  const { conditions = [] } = server.find("Cluster prod")?.status ?? {};
  const found = (conditions as readonly Condition[]).find(
    (one) => one.type === "EtcdClusterHealthy",
  );
  const words = [found?.status, found?.reason, found?.message].filter((one) => one);
  return found && words.join(" ").replace(/-[0-9a-f]{8}-1/, "");
}

/** The next look, in which something else is asked for. */
async function lookAgain(controller: FakeController, label: string): Promise<void> {
  controller.server.edit("Cluster prod", ({ metadata }) => ({
    metadata: { ...metadata, labels: { label } },
  }));
  await controller.settle();
}

describe("the status of a Cluster", () => {
  it("tells how etcd is, as Cluster API calls it, and that it is not known", async () => {
    const controller = await running();
    const { hosts } = controller.world.cloud;
    assert.equal(etcdCondition(controller), "True Healthy");
    hosts.ails = (host) => (host.startsWith("cp-1") ? "it is out of space" : undefined);
    await lookAgain(controller, "ill");
    assert.equal(
      etcdCondition(controller),
      'False NotHealthy LocalHost/cp-1: its etcd says "it is out of space"',
    );
    hosts.answers = () => false;
    await lookAgain(controller, "silent");
    assert.equal(etcdCondition(controller), "Unknown HealthUnknown no API server answers");
  });
});
