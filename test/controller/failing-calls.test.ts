import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { CapstanError, type ErrorCode } from "../../src/api/error.js";
import type {
  ClusterStatus,
  Condition,
  MachineDeploymentStatus,
  MachineSetStatus,
  MachineStatus,
} from "../../src/api/status.js";
import {
  cluster,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";
import { cloudPassword, FakeController } from "../support/fake-controller.js";

const member = machine("cp-0", { controlPlane: "1.34.2" });

/** A controller that has brought the objects about. */
async function running(...given: readonly Manifest[]): Promise<FakeController> {
  const controller = new FakeController();
  controller.server.apply(cluster(), member, ...given);
  assert.deepEqual(await controller.settle(), { kind: "done" });
  return controller;
}

function refuseCreations({ world }: FakeController, code: ErrorCode, message: string): void {
  world.cloud.refusal = ({ call }) =>
    call === "create" ? new CapstanError({ code, source: "cloud", message }) : undefined;
}

function statusOf<S>({ server }: FakeController, name: string): Partial<S> {
  return (server.find(name)?.status ?? {}) as Partial<S>;
}

const clusterStatus = (controller: FakeController) =>
  statusOf<ClusterStatus>(controller, "Cluster prod");

function condition(status: { readonly conditions?: readonly Condition[] }, type: string) {
  const found = status.conditions?.find((one) => one.type === type);
  return [found?.status, found?.reason];
}

/** What was told of single objects: "Machine set-1 InsufficientResources". */
function failuresTold({ happenings }: FakeController): string[] {
  return happenings.flatMap((event) =>
    event.kind === "object failed"
      ? [`${event.failure.kind} ${event.failure.name} ${event.failure.reason}`]
      : [],
  );
}

describe("calls that a cloud refuses", () => {
  it("are shown by the Machine, its set, the deployment and the Cluster, and are over when they are", async () => {
    const controller = await running(machineSet("set", 1), machineDeployment("web", 1));
    assert.deepEqual(condition(clusterStatus(controller), "Ready"), ["True", "AsAsked"]);
    assert.deepEqual(condition(clusterStatus(controller), "Progressing"), ["False", "Complete"]);
    refuseCreations(controller, "QUOTA", "quota of 3 machines is exhausted");
    controller.server.apply(machineSet("set", 2));
    await controller.settle();

    const status = statusOf<MachineStatus>(controller, "Machine set-1");
    assert.equal(status.phase, "Failed");
    assert.equal(status.errorReason, "InsufficientResources");
    assert.equal(status.errorMessage, "quota of 3 machines is exhausted");
    assert.deepEqual(
      [status.lastOperation?.type, status.lastOperation?.state],
      ["Create", "Failed"],
    );
    assert.deepEqual(condition(status, "Ready"), ["False", "InsufficientResources"]);
    const set = statusOf<MachineSetStatus>(controller, "MachineSet set");
    assert.equal(set.errorReason, "InsufficientResources");
    assert.equal(set.errorMessage, "Machine set-1: quota of 3 machines is exhausted");
    assert.deepEqual([set.replicas, set.readyReplicas], [2, 1]);
    assert.equal(clusterStatus(controller).machines?.summary, "3/4");
    assert.match(clusterStatus(controller).message ?? "", /^taken back as revision 3: /);
    assert.deepEqual(condition(clusterStatus(controller), "Ready"), [
      "False",
      "InsufficientResources",
    ]);
    const web = statusOf<MachineDeploymentStatus>(controller, "MachineDeployment web");
    assert.deepEqual(condition(web, "Ready"), ["True", "MachinesAvailable"]);
    assert.deepEqual(failuresTold(controller), ["Machine set-1 InsufficientResources"]);

    controller.world.cloud.refusal = () => undefined;
    await controller.world.clock.sleep(60_000);
    await controller.settle();
    const healed = statusOf<MachineStatus>(controller, "Machine set-1");
    assert.deepEqual([healed.phase, healed.errorReason], ["Running", undefined]);
    assert.equal(healed.lastOperation?.state, "Successful");
    const { errorReason } = statusOf<MachineSetStatus>(controller, "MachineSet set");
    assert.equal(errorReason, undefined);
    assert.equal(clusterStatus(controller).machines?.summary, "4/4");
    assert.deepEqual(condition(clusterStatus(controller), "Ready"), ["True", "AsAsked"]);
  });

  it("are shown by a Machine that its user wrote, until they take it back", async () => {
    const controller = await running();
    refuseCreations(controller, "PERMISSION", "not allowed to run hosts");
    controller.server.apply(machine("extra"));
    await controller.settle();
    const { errorReason, phase } = statusOf<MachineStatus>(controller, "Machine extra");
    assert.deepEqual([phase, errorReason], ["Failed", "PermissionDenied"]);
    assert.equal(clusterStatus(controller).machines?.summary, "1/2");
    controller.server.delete("Machine extra");
    await controller.settle();
    assert.equal(controller.server.find("Machine extra"), undefined);
    assert.equal(clusterStatus(controller).machines?.summary, "1/1");
  });

  for (const { call, code, want } of [
    { call: "create", code: "CLOUD_FAILED", want: "CreateError" },
    { call: "create", code: "INVALID_INPUT", want: "InvalidConfiguration" },
    { call: "update", code: "CLOUD_FAILED", want: "UpdateError" },
    { call: "update", code: "UNSUPPORTED_CHANGE", want: "UnsupportedChange" },
  ] as const) {
    it(`have the word of Cluster API: ${call}, ${code}`, async () => {
      const controller = await running(machine("a"));
      controller.world.cloud.refusal = ({ call: asked, who }) =>
        asked === call && who.name.startsWith("a")
          ? new CapstanError({ code, source: "cloud", message: "no" })
          : undefined;
      const changed = call === "create" ? { size: "large" } : { tags: { team: "b" } };
      controller.server.apply(machine("a", changed));
      await controller.settle();
      const { errorReason, phase } = statusOf<MachineStatus>(controller, "Machine a");
      // What runs goes on running.
      assert.deepEqual([phase, errorReason], ["Running", want]);
      assert.deepEqual(condition(clusterStatus(controller), "Ready"), ["False", want]);
    });
  }

  it("are a JoinClusterTimeoutError where a host never serves", async () => {
    const controller = await running();
    controller.meet({ at: "boot", number: 0, what: "never" });
    controller.server.apply(machine("late"));
    await controller.settle();
    const status = statusOf<MachineStatus>(controller, "Machine late");
    assert.equal(status.errorReason, "JoinClusterTimeoutError");
    assert.equal(status.errorMessage, "not ready after 4 s");
  });

  it("are a DeleteError where a host cannot be deleted", async () => {
    const controller = await running();
    controller.world.cloud.refusal = ({ call }) =>
      call === "delete"
        ? new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message: "held" })
        : undefined;
    controller.server.delete("Cluster prod");
    await controller.settle();
    const status = statusOf<MachineStatus>(controller, "Machine cp-0");
    assert.deepEqual([status.phase, status.errorReason], ["Terminating", "DeleteError"]);
    assert.equal(clusterStatus(controller).phase, "Deleting");
    assert.match(clusterStatus(controller).message ?? "", /cannot destroy default\/prod: .*held/);
  });

  it("are told of on the Machine alone while they may heal by themselves", async () => {
    const controller = await running();
    let left = 2;
    controller.world.cloud.refusal = ({ call }) => {
      if (call !== "create" || left === 0) return undefined;
      left -= 1;
      const details = { code: "CLOUD_THROTTLED", source: "cloud", message: "slow down" } as const;
      return new CapstanError({ ...details, retryable: true });
    };
    controller.server.apply(machine("extra"));
    assert.deepEqual(await controller.settle(), { kind: "done" });
    assert.deepEqual(failuresTold(controller), ["Machine extra CreateError"]);
    assert.equal(statusOf<MachineStatus>(controller, "Machine extra").errorReason, undefined);
  });
});

describe("a change that is taken back", () => {
  it("names the machines that did not get their hosts back", async () => {
    const rolling = { maxSurge: 0, maxUnavailable: 1 };
    const controller = await running(machineDeployment("web", 2, {}, rolling));
    const large = ({ spec }: { readonly spec?: JsonObject }) => spec?.["size"] === "large";
    const hostIds = () =>
      new Map(
        controller.server
          .all()
          .filter(({ kind, metadata }) => kind === "Machine" && metadata.name.startsWith("web"))
          .map(({ metadata, status }) => [
            metadata.name,
            (status?.["providerStatus"] as { readonly id?: string } | undefined)?.id,
          ]),
      );
    const before = hostIds();
    let made = 0;
    controller.world.cloud.refusal = (asked) => {
      if (asked.call !== "create" || !large(asked)) return undefined;
      made += 1;
      if (made === 1) return undefined;
      return new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message: "no more" });
    };
    controller.server.apply(machineDeployment("web", 2, { size: "large" }, rolling));
    await controller.settle();
    const { message = "" } = clusterStatus(controller);
    const [, told = ""] = /but for \d machines? on .*?new hosts? \((.*?)\): /.exec(message) ?? [];
    const after = hostIds();
    const moved = [...before].filter(([name, id]) => after.get(name) !== id);
    assert.ok(moved.length > 0);
    assert.equal(told, moved.map(([name]) => name).join(", "), message);
    const web = statusOf<MachineDeploymentStatus>(controller, "MachineDeployment web");
    assert.deepEqual([web.updatedReplicas, web.availableReplicas], [0, 2]);
    assert.equal(clusterStatus(controller).machines?.summary, "3/3");
  });
});

describe("changes that are refused", () => {
  it("do not count as followed, and are told at the object that asks for them", async () => {
    const controller = await running(machineDeployment("web", 2), machineSet("set", 1));
    const status = () => statusOf<MachineDeploymentStatus>(controller, "MachineDeployment web");
    assert.equal(status().updatedReplicas, 2);
    assert.equal(status().conditions?.[0]?.status, "True");
    controller.server.apply(machineDeployment("web", 2, { kubelet: "1.35.0" }));
    await controller.settle();
    assert.equal(status().updatedReplicas, 0);
    assert.equal(status().conditions?.[0]?.status, "False");
    assert.match(status().conditions?.[0]?.message ?? "", /newer than the control plane/);
    const { message, errorMessage, machines } = clusterStatus(controller);
    assert.match(message ?? "", /newer than the control plane/);
    assert.equal(machines?.summary, "4/4");
    const [first = ""] = (errorMessage ?? "").split("\n");
    assert.equal(first.split("MachineDeployment default/web").length, 2, errorMessage);
    assert.deepEqual(failuresTold(controller), ["MachineDeployment web InvalidConfiguration"]);
    const set = statusOf<MachineSetStatus>(controller, "MachineSet set");
    assert.equal(set.errorReason, undefined);
  });

  it("are the MachineSet's InvalidConfiguration where its template is wrong", async () => {
    const controller = await running(machineSet("set", 1));
    controller.server.apply(machineSet("set", 1, { size: "huge" }));
    await controller.settle();
    const { errorReason, errorMessage } = statusOf<MachineSetStatus>(controller, "MachineSet set");
    assert.equal(errorReason, "InvalidConfiguration");
    assert.match(errorMessage ?? "", /size/);
  });

  it("are the MachineSet's UnsupportedConfiguration where its provider has no such version", async () => {
    const controller = await running(machineSet("set", 1));
    controller.server.apply(machineSet("set", 1, { kubelet: "1.99.0" }));
    await controller.settle();
    const { errorReason, errorMessage } = statusOf<MachineSetStatus>(controller, "MachineSet set");
    assert.equal(errorReason, "UnsupportedConfiguration");
    assert.match(
      errorMessage ?? "",
      /provider local has no Kubernetes 1\.99\.0; it has 1\.24 - 1\.35/,
    );
  });

  it("leave a Cluster at which nobody has looked anew not Ready", async () => {
    const controller = await running(machineSet("set", 1));
    controller.restart();
    controller.server.apply(machineSet("set", 1, { size: "huge" }));
    await controller.settle();
    assert.deepEqual(condition(clusterStatus(controller), "Ready"), [
      "False",
      "InvalidConfiguration",
    ]);
  });
});

describe("what is shown of Machines", () => {
  it("counts those as fully labeled that carry the template's labels", async () => {
    const controller = await running(machineSet("set", 2));
    const labeled = () =>
      statusOf<MachineSetStatus>(controller, "MachineSet set").fullyLabeledReplicas;
    assert.equal(labeled(), 2);
    controller.server.edit("Machine set-0", ({ metadata }) => ({
      metadata: { ...metadata, labels: { "cluster.k8s.io/cluster-name": "prod" } },
    }));
    await controller.settle();
    assert.equal(labeled(), 1);
  });

  it("tells of the shared resources in the Cluster's providerStatus", async () => {
    const controller = await running();
    const { providerStatus } = clusterStatus(controller);
    assert.equal(providerStatus?.["kind"], "LocalClusterProviderStatus");
    const resources = providerStatus["resources"] as { kind: string; phase: string }[];
    assert.deepEqual(
      resources.map(({ kind, phase }) => `${kind} ${phase}`),
      ["LocalNetwork ready", "LocalLoadBalancer ready"],
    );
  });
});

describe("secrets in what a cloud answers", () => {
  it("reach no status, whatever the field", async () => {
    const controller = await running(machineSet("set", 1));
    const said = `denied for ${cloudPassword} at postgres://root:hunter2@db/x`;
    refuseCreations(controller, "CLOUD_FAILED", said);
    controller.server.apply(machineSet("set", 2));
    await controller.settle();
    const statuses = controller.server.effects.filter(({ kind }) => kind === "status");
    const written = JSON.stringify(statuses.map((write) => "patch" in write && write.patch));
    assert.match(written, /denied for \[redacted\]/);
    assert.equal(written.includes(cloudPassword), false);
    assert.equal(written.includes("hunter2"), false);
  });
});
