import assert from "node:assert/strict";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeController } from "../support/fake-controller.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, machine, machineDeployment, type Manifest } from "../support/manifests.js";

const member = machine("cp-0", { controlPlane: "1.34.2" });
const hook = "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate";

async function running(...given: readonly Manifest[]): Promise<FakeController> {
  const world = new FakeEngine({ traits: { ...plainWorld, joins: true } });
  const controller = new FakeController(world);
  controller.server.apply(cluster(), member, ...given);
  assert.deepEqual(await controller.settle(), { kind: "done" });
  return controller;
}

function annotate({ server }: FakeController, name: string, annotations: object): void {
  server.edit(name, ({ metadata }) => ({ metadata: { ...metadata, annotations } }));
}

function workers({ world }: FakeController): string[] {
  return world.hosts().flatMap(({ who }) => (who.name.startsWith("cp-") ? [] : [who.name]));
}

describe("hooks of Machines in an API server", () => {
  it("hold a Machine that is deleted until they are taken off it", async () => {
    const controller = await running(machine("web"), machine("other"));
    annotate(controller, "Machine web", { [hook]: "backup" });
    controller.server.delete("Machine web");
    const outcome = await controller.settle();
    assert.notEqual(outcome.kind, "done");
    assert.equal(workers(controller).length, 2);
    assert.notEqual(controller.server.find("Machine web"), undefined);
    const { message } = controller.server.find("Cluster prod")?.status ?? {};
    assert.match(String(message), /Machine web is held by pre-drain\S+ \(owner backup\) since/);
    annotate(controller, "Machine web", {});
    assert.deepEqual(await controller.settle(), { kind: "done" });
    assert.equal(workers(controller).length, 1);
    assert.equal(controller.server.find("Machine web"), undefined);
  });

  it("hold one that a set has made, by its own annotations", async () => {
    const controller = await running(machineDeployment("pool", 2));
    const derived = controller.server.all().filter(({ kind }) => kind === "Machine");
    const made = derived.map(({ metadata }) => metadata.name).filter((name) => name !== "cp-0");
    for (const name of made) annotate(controller, `Machine ${name}`, { [hook]: "" });
    controller.server.edit("MachineDeployment pool", ({ spec }) => ({
      spec: { ...(spec as object), replicas: 1 },
    }));
    await controller.settle();
    assert.equal(workers(controller).length, 2);
    for (const name of made) annotate(controller, `Machine ${name}`, {});
    assert.deepEqual(await controller.settle(), { kind: "done" });
    assert.equal(workers(controller).length, 1);
  });
});
