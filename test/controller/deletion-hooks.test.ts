import assert from "node:assert/strict";
import type { Condition } from "../../src/api/status.js";
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

/** "Deleting True DrainingNode", without what its Node says. */
function conditionsOf({ server }: FakeController, machineName: string): string[] {
  const { conditions = [] } = server.find(`Machine ${machineName}`)?.status ?? {};
  return (conditions as readonly Condition[])
    .filter(({ type }) => type !== "Ready")
    .map(({ type, status, reason }) => `${type} ${status} ${reason ?? ""}`);
}

describe("a Machine that is deleted in an API server", () => {
  it("tells of what it waits for in the words of Cluster API", async () => {
    const controller = await running(machine("web"), machine("other"));
    const { hosts } = controller.world.cloud;
    const seen = new Set<string>();
    let rounds = 0;
    const look = () => seen.add(conditionsOf(controller, "web").join(", "));
    hosts.blockersOf = () => {
      look();
      rounds += 1;
      return rounds < 2 ? [{ pod: "default/a", why: "is ending" }] : [];
    };
    hosts.volumesOf = () => {
      look();
      rounds += 1;
      return rounds < 5 ? ["default/data"] : [];
    };
    controller.server.delete("Machine web");
    assert.deepEqual(await controller.settle(), { kind: "done" });
    assert.deepEqual([...seen].slice(-2), [
      "Deleting True DrainingNode, DrainingSucceeded False Draining",
      "Deleting True WaitingForVolumeDetach, DrainingSucceeded True Drained",
    ]);
  });
});

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
    assert.match(String(message), /web-\w+-1: held by pre-drain\S+ \(owner backup\) since/);
    assert.deepEqual(conditionsOf(controller, "web"), ["Deleting True Deleting"]);
    const { conditions } = controller.server.find("Machine web")?.status ?? {};
    assert.match(JSON.stringify(conditions), /held by pre-drain\S+ \(owner backup\) since/);
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
