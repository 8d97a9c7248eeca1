import assert from "node:assert/strict";
import type { ClusterStatus } from "../../src/api/status.js";
import {
  annotated,
  cluster,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";
import { FakeController } from "../support/fake-controller.js";

const member = machine("cp-0", { controlPlane: "1.34.2" });
const web = machineDeployment("web", 2);
const protect = (object: Manifest) => annotated({ "capstan.dev/protect": "true" }, object);

/** A controller that has brought the objects about. */
async function running(...given: readonly Manifest[]): Promise<FakeController> {
  const controller = new FakeController();
  controller.server.apply(...given);
  assert.deepEqual(await controller.settle(), { kind: "done" });
  return controller;
}

function status({ server }: FakeController): Partial<ClusterStatus> {
  return server.find("Cluster prod")?.status ?? {};
}

function annotate({ server }: FakeController, name: string, annotations: object): void {
  server.edit(name, ({ metadata }) => ({ metadata: { ...metadata, annotations } }));
}

/** Everything stays, and the cluster's status says why. */
async function assertHeld(controller: FakeController, hosts: number, why: RegExp) {
  const { world } = controller;
  const deletions = () => world.calls.filter(({ call }) => call === "delete").length;
  const before = deletions();
  await controller.settle();
  await controller.settle();
  assert.equal(deletions(), before);
  assert.equal(world.hosts().length, hosts);
  const { phase, errorReason, errorMessage } = status(controller);
  assert.deepEqual([phase, errorReason], ["Failed", "InvalidConfiguration"]);
  assert.match(errorMessage ?? "", why);
  assert.ok(controller.count("refused") > 0);
}

describe("what a cluster cannot lose by accident, in an API server", () => {
  const controlPlane =
    /control plane .* capstan\.dev\/allow-removal: "control-plane" on the Cluster/;

  it("holds the deletion of the only member until the Cluster allows it", async () => {
    const controller = await running(cluster(), member, web);
    controller.server.delete("Machine cp-0");
    await assertHeld(controller, 3, controlPlane);
    assert.equal(controller.count("refused"), 1, "told once");
    assert.notEqual(controller.server.find("Machine cp-0"), undefined);
    annotate(controller, "Cluster prod", { "capstan.dev/allow-removal": "control-plane" });
    await controller.settle();
    assert.equal(controller.world.hosts().length, 2);
    assert.equal(controller.server.find("Machine cp-0"), undefined);
    assert.equal(status(controller).errorReason, undefined);
  });

  it("keeps what is there running meanwhile", async () => {
    const controller = await running(cluster(), member, web);
    const { world, server } = controller;
    server.delete("Machine cp-0");
    await assertHeld(controller, 3, controlPlane);
    world.cloud.kill(world.hosts().at(-1)?.id ?? "");
    assert.equal(world.hosts().length, 2);
    await controller.settle();
    assert.equal(world.hosts().length, 3);
    assert.equal(status(controller).phase, "Failed");
    assert.match(status(controller).errorMessage ?? "", controlPlane);
  });

  it("holds back the deletion of the only member that a set has made", async () => {
    const controller = await running(
      cluster(),
      machineSet("cp", 1, { controlPlane: "1.34.2" }),
      web,
    );
    controller.server.delete("Machine cp-0");
    await assertHeld(controller, 3, controlPlane);
  });

  it("holds the deletion of everything that owns workers", async () => {
    const controller = await running(cluster(), member, web);
    controller.server.delete("MachineDeployment web");
    await assertHeld(controller, 3, /cannot remove all 2 workers .*MachineDeployment web/);
    controller.server.apply(web);
    await controller.settle();
    assert.equal(status(controller).phase, "Running");
  });

  it("keeps a protected object until its annotation is taken away, although it is being deleted", async () => {
    const controller = await running(cluster(), member, protect(machine("db")), machine("gpu"));
    controller.server.delete("Machine db");
    await assertHeld(controller, 3, /Machine default\/db.*first apply .* without the annotation/);
    annotate(controller, "Machine db", {});
    await controller.settle();
    assert.equal(controller.world.hosts().length, 2);
    assert.equal(controller.server.find("Machine db"), undefined);
  });

  it("does not replace a derived Machine that carries the annotation", async () => {
    const controller = await running(cluster(), member, machineSet("db", 2));
    const before = controller.world.hosts().map(({ id }) => id);
    annotate(controller, "Machine db-0", { "capstan.dev/protect": "true" });
    controller.server.delete("Machine db-0");
    await controller.settle();
    assert.deepEqual(
      controller.world.hosts().map(({ id }) => id),
      before,
    );
    annotate(controller, "Machine db-0", {});
    await controller.settle();
    assert.notDeepEqual(
      controller.world.hosts().map(({ id }) => id),
      before,
    );
  });

  it("destroys no cluster that holds something protected", async () => {
    const controller = await running(cluster(), member, protect(machine("db")));
    controller.server.delete("Cluster prod");
    await assertHeld(controller, 2, /Machine default\/db/);
    annotate(controller, "Machine db", {});
    await controller.settle();
    assert.equal(controller.world.hosts().length, 0);
    assert.equal(controller.server.find("Cluster prod"), undefined);
  });

  it("does nothing in the middle of a transaction", async () => {
    const controller = await running(cluster(), member, web);
    const { server, world } = controller;
    controller.hearsAtOnce = true;
    server.apply(machineDeployment("web", 5));
    controller.onHappening = (event) => {
      if (event.kind !== "run" || event.event.kind !== "pass") return;
      controller.onHappening = () => {};
      server.delete("Machine cp-0");
    };
    await controller.settle();
    const ids = world.hosts().map(({ id }) => id);
    await controller.settle();
    assert.deepEqual(
      world.hosts().map(({ id }) => id),
      ids,
    );
    assert.match(status(controller).errorMessage ?? "", controlPlane);
  });
});
