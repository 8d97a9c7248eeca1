import assert from "node:assert/strict";
import type {
  ClusterStatus,
  Condition,
  MachineDeploymentStatus,
  MachineStatus,
} from "../../src/api/status.js";
import {
  cluster,
  healthCheck,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";
import { FakeController } from "../support/fake-controller.js";

const member = machine("cp-0", { controlPlane: "1.34.2" });
const rkt = { kubelet: "1.34.2", containerRuntime: { name: "rkt", version: "1.0.0" } };

/** A controller that has brought the objects about. */
async function running(...given: readonly Manifest[]): Promise<FakeController> {
  const controller = new FakeController();
  controller.server.apply(cluster(), member, ...given);
  assert.deepEqual(await controller.settle(), { kind: "done" });
  return controller;
}

function edited(controller: FakeController, name: string, spec: object): void {
  controller.server.edit(name, (one) => ({ spec: { ...one.spec, ...spec } }));
}

function statusOf<S>({ server }: FakeController, name: string): Partial<S> {
  return (server.find(name)?.status ?? {}) as Partial<S>;
}

function isReady(status: { readonly conditions?: readonly Condition[] }) {
  const found = status.conditions?.find(({ type }) => type === "Ready");
  return [found?.status, found?.reason];
}

/** Machines of hosts that run. */
function hostsOf({ world }: FakeController): string[] {
  const machines = world.prior.transaction?.target.machines ?? [];
  const alive = new Set(world.hosts().map(({ who }) => `${who.kind}/${who.name}`));
  return machines.filter(({ host }) => alive.has(host)).map(({ name }) => name);
}

function scale(controller: FakeController, name: string, replicas: number): void {
  edited(controller, name, { replicas });
}

/** Lets a host of that machine die. */
function kill({ world }: FakeController, machineName: string): void {
  const found = world.prior.transaction?.target.machines.find(({ name }) => name === machineName);
  const host = world.hosts().find(({ who }) => `${who.kind}/${who.name}` === found?.host);
  assert.ok(host !== undefined);
  world.cloud.kill(host.id);
}

const wrongs = [
  {
    name: "a Machine",
    spoil: (one: FakeController) => edited(one, "Machine db", { versions: { kubelet: "x" } }),
    told: "Machine db",
  },
  {
    name: "a MachineSet",
    spoil: (one: FakeController) => edited(one, "MachineSet set", { template: { spec: {} } }),
    told: "MachineSet set",
  },
  {
    name: "the Cluster",
    spoil: (one: FakeController) =>
      edited(one, "Cluster prod", { providerSpec: { value: { apiVersion: "elsewhere/v1" } } }),
    told: "Cluster prod",
  },
] as const;

describe("a cluster with a wrong object", () => {
  for (const { name, spoil, told } of wrongs) {
    for (const isRestarted of [false, true]) {
      it(`is kept while ${name} is wrong${isRestarted ? ", after a restart, too" : ""}`, async () => {
        const controller = await running(
          machine("db"),
          machineSet("set", 1),
          machineDeployment("web", 1),
        );
        spoil(controller);
        await controller.settle();
        if (isRestarted) controller.restart();
        scale(controller, "MachineDeployment web", 2);
        await controller.settle();
        assert.equal(hostsOf(controller).filter((one) => one.startsWith("web-")).length, 2);
        const [first = ""] = hostsOf(controller).filter((one) => one.startsWith("web-"));
        kill(controller, first);
        controller.world.clock.advance(60_000);
        await controller.settle();
        assert.deepEqual(hostsOf(controller).sort().length, 5, hostsOf(controller).join());
        assert.ok(hostsOf(controller).includes("db"));
        const status = statusOf<ClusterStatus>(controller, "Cluster prod");
        assert.deepEqual([status.phase, status.errorReason], ["Failed", "InvalidConfiguration"]);
        assert.equal(status.machines?.summary, "5/5");
        const { errorReason, errorMessage } = statusOf<MachineStatus>(controller, told);
        assert.equal(errorReason, "InvalidConfiguration");
        assert.match(errorMessage ?? "", /spec\./);
      });
    }
  }

  it("says it once, and goes on with the object once that is right", async () => {
    const controller = await running(machine("db"));
    edited(controller, "Machine db", { versions: { kubelet: "x" } });
    await controller.settle();
    await controller.settle();
    assert.equal(controller.count("refused"), 1);
    assert.equal(statusOf<MachineStatus>(controller, "Machine db").phase, "Running");
    edited(controller, "Machine db", { versions: { kubelet: "1.34.1" } });
    assert.deepEqual(await controller.settle(), { kind: "done" });
    assert.equal(statusOf<MachineStatus>(controller, "Machine db").errorReason, undefined);
    const versions = controller.world.hosts().map(({ spec }) => spec["kubelet"]);
    assert.deepEqual(versions.sort(), ["1.34.1", "1.34.2"]);
    const { phase } = statusOf<ClusterStatus>(controller, "Cluster prod");
    assert.equal(phase, "Running");
  });

  it("costs no engine run while nothing changes", async () => {
    const controller = await running(machine("db"));
    edited(controller, "Machine db", { versions: { kubelet: "x" } });
    assert.deepEqual(await controller.settle(), { kind: "done" });
    const { locked } = controller;
    assert.deepEqual(await controller.settle(), { kind: "done" });
    assert.equal(controller.locked, locked);
  });

  it("lets a wrong object go that is deleted", async () => {
    const controller = await running(machine("db"), machine("other"));
    edited(controller, "Machine db", { versions: { kubelet: "x" } });
    await controller.settle();
    controller.server.delete("Machine db");
    await controller.settle();
    assert.deepEqual(hostsOf(controller), ["cp-0", "other"]);
    assert.equal(controller.server.find("Machine db"), undefined);
  });

  it("leaves out a new object that is wrong, which says why", async () => {
    const controller = await running(machineDeployment("web", 1));
    controller.server.apply(machine("bad"), healthCheck("watcher", "web"));
    edited(controller, "Machine bad", { versions: rkt });
    edited(controller, "MachineHealthCheck watcher", { clusterName: "prod", selector: {} });
    scale(controller, "MachineDeployment web", 2);
    await controller.settle();
    const bad = statusOf<MachineStatus>(controller, "Machine bad");
    assert.deepEqual([bad.phase, bad.errorReason], ["Failed", "UnsupportedConfiguration"]);
    assert.match(bad.errorMessage ?? "", /rkt/);
    assert.deepEqual(isReady(bad), ["False", "UnsupportedConfiguration"]);
    const web = statusOf<MachineDeploymentStatus>(controller, "MachineDeployment web");
    assert.equal(web.availableReplicas, 2);
    controller.server.delete("Machine bad");
    await controller.settle();
    assert.equal(controller.server.find("Machine bad"), undefined);
  });

  it("is not made while the Cluster is wrong", async () => {
    const controller = new FakeController();
    controller.server.apply(cluster(), member, machine("bad"));
    edited(controller, "Cluster prod", { providerSpec: {} });
    edited(controller, "Machine bad", { versions: rkt });
    await controller.settle();
    assert.equal(controller.world.calls.length, 0);
    const { phase, errorReason } = statusOf<ClusterStatus>(controller, "Cluster prod");
    assert.deepEqual([phase, errorReason], ["Failed", "InvalidConfiguration"]);
    const bad = statusOf<MachineStatus>(controller, "Machine bad");
    assert.deepEqual([bad.phase, bad.errorReason], ["Failed", "UnsupportedConfiguration"]);
  });

  const lower = { versions: { kubelet: "1.33.0", controlPlane: "1.33.0" } };

  it("follows its other objects while a change of one is refused", async () => {
    const controller = await running(machineDeployment("web", 1, { kubelet: "1.33.0" }));
    edited(controller, "Machine cp-0", lower);
    scale(controller, "MachineDeployment web", 2);
    await controller.settle();
    const { errorReason } = statusOf<MachineStatus>(controller, "Machine cp-0");
    assert.equal(errorReason, "UnsupportedChange");
    assert.equal(hostsOf(controller).length, 3);
    assert.equal(statusOf<ClusterStatus>(controller, "Cluster prod").errorReason, errorReason);
  });

  it("keeps the accepted objects as a whole where the accepted form of one contradicts the others", async () => {
    const controller = await running(machineDeployment("web", 2));
    edited(controller, "Machine cp-0", lower);
    await controller.settle();
    assert.equal(statusOf<ClusterStatus>(controller, "Cluster prod").phase, "Failed");
    const web = statusOf<MachineDeploymentStatus>(controller, "MachineDeployment web");
    assert.deepEqual(isReady(web), ["False", "InvalidConfiguration"]);
    kill(controller, hostsOf(controller).find((one) => one.startsWith("web-")) ?? "");
    controller.world.clock.advance(60_000);
    await controller.settle();
    assert.equal(hostsOf(controller).length, 3);
  });
});
