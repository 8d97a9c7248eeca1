import assert from "node:assert/strict";
import { classFinalizer, withoutClasses } from "../../src/kube/machine-classes.js";
import type { ClusterStatus } from "../../src/api/status.js";
import { FakeController } from "../support/fake-controller.js";
import {
  cluster,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";

const machineClass: Manifest = {
  apiVersion: "cluster.k8s.io/v1alpha1",
  kind: "MachineClass",
  metadata: { name: "small" },
  providerSpec: {
    apiVersion: "local.capstan.dev/v1alpha1",
    kind: "LocalMachineProviderSpec",
    size: "small",
  },
};
const fromClass = { valueFrom: { machineClass: { name: "small" } } };

/** The object with its provider's part from the class. */
function classed(manifest: Manifest): Manifest {
  const copy = structuredClone(manifest) as { spec: Manifest & { template?: { spec: Manifest } } };
  (copy.spec.template?.spec ?? copy.spec)["providerSpec"] = fromClass;
  return copy;
}

async function running(...given: readonly Manifest[]): Promise<FakeController> {
  const controller = new FakeController();
  controller.server.apply(machineClass, cluster(), ...given);
  assert.deepEqual(await controller.settle(), { kind: "done" });
  return controller;
}

function status({ server }: FakeController): Partial<ClusterStatus> {
  return server.find("Cluster prod")?.status ?? {};
}

const finalizers = ({ server }: FakeController) =>
  server.find("MachineClass small")?.metadata.finalizers;

describe("MachineClasses in an API server", () => {
  it("are told by their contents in what is derived", async () => {
    const { server } = await running(classed(machineDeployment("web", 2)));
    const derived = server
      .all()
      .filter(({ metadata }) => metadata.ownerReferences?.[0]?.controller);
    assert.equal(derived.length, 3);
    for (const { kind, spec = {} } of derived) {
      const { template } = spec as { template?: { spec: Manifest } };
      const part = (template?.spec ?? spec)["providerSpec"] as Manifest;
      assert.deepEqual(Object.keys(part), ["value"], kind);
    }
  });

  it("change the machines of a deployment when they change", async () => {
    const controller = await running(classed(machineDeployment("web", 1)));
    const { size } = machineClass["providerSpec"] as { size: string };
    const providerSpec = { ...(machineClass["providerSpec"] as object), size: "large" };
    controller.server.apply({ ...machineClass, providerSpec });
    await controller.settle();
    const sizes = controller.world.hosts().map(({ spec }) => spec["size"]);
    assert.deepEqual([size, sizes], ["small", ["large"]]);
  });

  for (const object of [
    classed(machine("cp-0", { controlPlane: "1.34.2" })),
    classed(machineSet("set", 1)),
    classed(machineDeployment("web", 1)),
  ]) {
    const kind = String(object["kind"]);
    const { name } = object["metadata"] as { name: string };
    it(`are kept while a ${kind} names them, and the Cluster says so`, async () => {
      const controller = await running(object);
      const { server } = controller;
      assert.deepEqual(finalizers(controller), [classFinalizer("prod")]);
      server.delete("MachineClass small");
      await controller.settle();
      assert.notEqual(server.find("MachineClass small"), undefined);
      assert.equal(status(controller).phase, "Running");
      assert.equal(
        status(controller).message,
        `MachineClass default/small is being deleted, and is kept while ${kind} default/${name} names it`,
      );
      assert.equal(controller.world.hosts().length, 1);
      const own = kind === "Machine" ? machine(name, { controlPlane: "1.34.2" }) : undefined;
      if (own !== undefined) server.apply(own);
      else server.apply(kind === "MachineSet" ? machineSet(name, 1) : machineDeployment(name, 1));
      await controller.settle();
      assert.equal(server.find("MachineClass small"), undefined);
      assert.equal(status(controller).message, undefined);
      assert.equal(controller.world.hosts().length, 1);
    });
  }

  it("are let go with the Cluster", async () => {
    const controller = await running(classed(machineDeployment("web", 1)));
    controller.server.delete("Cluster prod");
    await controller.settle();
    assert.equal(controller.server.find("Cluster prod"), undefined);
    assert.equal(finalizers(controller), undefined);
    controller.server.delete("MachineClass small");
    assert.equal(controller.server.find("MachineClass small"), undefined);
  });

  it("are let go of a Cluster that somebody has torn away", async () => {
    const controller = await running(classed(machineDeployment("web", 1)));
    const { server } = controller;
    for (const { kind, metadata } of server.all().filter((one) => one.kind !== "MachineClass")) {
      server.edit(`${kind} ${metadata.name}`, (one) => ({
        metadata: { ...one.metadata, finalizers: [] },
      }));
      server.delete(`${kind} ${metadata.name}`);
    }
    controller.restart();
    assert.deepEqual(controller.source.keys(), ["default/prod"]);
    await controller.settle();
    assert.equal(finalizers(controller), undefined);
  });

  it("leave what names an unknown one as it is written", () => {
    assert.deepEqual(withoutClasses({ spec: { providerSpec: fromClass } }), {
      spec: { providerSpec: fromClass },
    });
  });
});
