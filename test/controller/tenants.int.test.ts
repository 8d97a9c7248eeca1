import assert from "node:assert/strict";
import { stringify } from "yaml";
import type { JsonObject } from "../../src/api/json.js";
import { setWideFault } from "../scenario/cloud-faults.js";
import type { ScenarioCluster } from "../scenario/manifests.js";
import { until } from "../scenario/until.js";
import { WatchRig } from "../scenario/watch-rig.js";

const two: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true } },
  deployments: { workers: { replicas: 1 } },
};
const tenant = "team-a";

describe("a tenant who does all the harm that objects can do", () => {
  let rig: WatchRig;
  afterEach(() => rig.stop());

  const statusOf = async (name: string): Promise<Readonly<Record<string, unknown>>> => {
    const text = await rig.kubectl("get", "cl", name, "-n", tenant, "-o", "json");
    return (JSON.parse(text) as { status?: JsonObject }).status ?? {};
  };

  it("holds up no change of another one", async () => {
    rig = await WatchRig.start(two);
    const watcher = await rig.watchLeading("--engines", "2", "--timeout", "3000");
    await rig.applyManifests();
    await rig.untilRunning("demo", 2, 240_000);
    const change = async (replicas: number) => {
      await rig.kubectl("scale", "md", "workers", `--replicas=${replicas}`);
      await rig.untilRunning("demo", replicas + 1, 240_000);
    };
    await change(2);

    await rig.kubectl("create", "namespace", tenant);
    setWideFault(rig.sandbox.cloudFile, {
      call: "create",
      mode: "hang",
      name: "hangs-",
      ms: 3_600_000,
    });
    await rig.server.apply(
      [
        ...clusterOf("shell", { nodes: "kubeadm" }),
        ...clusterOf("faulty", { faults: [{ call: "create", mode: "hang", times: 1_000 }] }),
        ...clusterOf("frozen", {}, { "capstan.dev/paused": "eyJ-".repeat(24 * 1_024) }),
        ...["hangs-1", "hangs-2", "hangs-3"].flatMap((name) => clusterOf(name)),
      ]
        .map((object) => stringify(object))
        .join("---\n"),
    );
    for (const name of ["shell", "faulty"]) {
      const { errorReason } = await until(`${name} is refused`, async () => {
        const status = await statusOf(name);
        return status["phase"] === "Failed" ? status : undefined;
      });
      assert.equal(errorReason, "InvalidConfiguration");
    }
    await until(
      "the frozen one is shown",
      async () => (await statusOf("frozen"))["phase"] === "Paused",
    );
    const hanging = () =>
      rig.sandbox
        .ledger()
        .filter(({ call, name }) => call === "create" && name?.startsWith("hangs-") === true);
    await until("a create hangs", () => hanging().length > 0);

    await change(3);
    // None of theirs was answered meanwhile, and no second engine was held by their calls.
    assert.equal(new Set(hanging().map(({ name }) => name)).size, 1);
    assert.ok(!rig.sandbox.alive().some(({ name }) => name.startsWith("hangs-")));
    assert.equal(watcher.hasEnded, false, watcher.said);
  });
});

/** A cluster of one machine in the tenant's namespace. The machine comes first. */
function clusterOf(
  name: string,
  fields: JsonObject = {},
  annotations: Readonly<Record<string, string>> = {},
): JsonObject[] {
  const api = { apiVersion: "cluster.k8s.io/v1alpha1" };
  const local = { apiVersion: "local.capstan.dev/v1alpha1" };
  const host = { ...local, kind: "LocalMachineProviderSpec" };
  const labels = { "cluster.k8s.io/cluster-name": name };
  return [
    {
      ...api,
      kind: "Machine",
      metadata: { name: `${name}-cp`, namespace: tenant, labels },
      spec: {
        versions: { kubelet: "1.34.2", controlPlane: "1.34.2" },
        providerSpec: { value: host },
      },
    },
    {
      ...api,
      kind: "Cluster",
      metadata: { name, namespace: tenant, annotations },
      spec: {
        clusterNetwork: {
          services: { cidrBlocks: ["10.96.0.0/12"] },
          pods: { cidrBlocks: ["192.168.0.0/16"] },
          serviceDomain: "cluster.local",
        },
        providerSpec: {
          value: { ...local, kind: "LocalClusterProviderSpec", bootMs: 0, ...fields },
        },
      },
    },
  ];
}
