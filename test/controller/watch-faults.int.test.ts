import assert from "node:assert/strict";
import { stringify } from "yaml";
import type { ScenarioCluster } from "../scenario/manifests.js";
import { until } from "../scenario/until.js";
import { WatchRig } from "../scenario/watch-rig.js";
import { ApiServer } from "../support/api-server.js";

const five: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true } },
  deployments: { workers: { replicas: 4 } },
};

describe("capstan watch where something is wrong", () => {
  let server: ApiServer;
  let rig: WatchRig;
  before(async () => {
    server = await ApiServer.start();
  });
  after(() => server.stop());
  afterEach(() => rig.stop());

  const statusOf = async (name: string): Promise<Readonly<Record<string, unknown>>> =>
    (await rig.get("cluster", name)).status ?? {};

  it("is not kept from a healthy cluster by more broken ones than it has engines, and does not try those over and over", async () => {
    rig = await WatchRig.start(five, { server });
    // One engine: had a broken cluster kept it, no other one would come about.
    await rig.watchLeading("--engines", "1", "--timeout", "600");
    const broken = ["broken-1", "broken-2"];
    await rig.sandbox.cloud.fault("create", "neverBoots", { name: "broken-", times: 9 });
    for (const name of broken) await rig.server.apply(clusterText(name));
    const phases = async () => {
      const statuses = await Promise.all(broken.map((name) => statusOf(name)));
      return statuses.map(({ transaction }) => (transaction as { phase?: string })?.phase);
    };
    await until("the broken ones wait", async () =>
      (await phases()).every((phase) => phase === "Waiting"),
    );
    await rig.applyManifests();
    await rig.untilRunning("demo", 5);
    const runs = rig.pulumi.runs().length;
    const periods = () => rig.sandbox.ledger().filter(({ call }) => call === "list").length;
    const seen = periods();
    await until("three periods pass", () => periods() >= seen + 3);
    assert.equal(rig.pulumi.runs().length, runs);
    assert.deepEqual(await phases(), ["Waiting", "Waiting"]);
  });

  it("changes one cluster while others never get rid of their hosts", async () => {
    rig = await WatchRig.start(five, { server });
    await rig.watchLeading("--engines", "2", "--timeout", "600");
    const stuck = ["stuck-1", "stuck-2"];
    const many = 1_000_000;
    await rig.sandbox.cloud.fault("terminate", "throttle", { name: "stuck-", times: many });
    for (const name of stuck) await rig.server.apply(clusterText(name));
    await rig.applyManifests();
    await rig.untilRunning("demo", 5);
    for (const name of stuck) await rig.untilRunning(name, 1);
    await rig.kubectl("delete", "cluster", ...stuck, "--wait=false");
    const refusals = () =>
      stuck.map((name) => {
        const asked = rig.sandbox.ledger().filter(({ call }) => call === "terminate");
        return asked.filter((one) => JSON.stringify(one).includes(`${name}-cp`)).length;
      });
    await until("both are refused", () => refusals().every((count) => count > 0));
    await rig.kubectl("scale", "md", "workers", "--replicas=2");
    await rig.untilRunning("demo", 3);
    // They are still at it, and are asked for again.
    const before = refusals();
    await until("they are asked for again", () =>
      refusals().every((count, index) => count > (before[index] ?? 0)),
    );
    for (const name of stuck) {
      assert.equal((await rig.get("cluster", name)).metadata.name, name);
      assert.ok(rig.sandbox.alive().some((one) => one.name.startsWith(`${name}-cp`)));
    }
  });

  it("shows a call that the cloud refuses where it failed, and tells of it there", async () => {
    rig = await WatchRig.start({ example: "quickstart" }, { server });
    await rig.watchLeading();
    await rig.applyManifests();
    await rig.untilRunning("quickstart", 3);
    const isReady = ["wait", "--for=condition=Ready", "cluster/quickstart", "--timeout=30s"];
    await rig.kubectl(...isReady);
    await rig.sandbox.cloud.fault("create", "quota", { times: 9 });
    await rig.kubectl("scale", "md", "workers", "--replicas=3");
    const failed = await until("a Machine has failed", async () =>
      (await rig.all("machines")).find(({ status }) => status?.["phase"] === "Failed"),
    );
    await until("the Cluster says so", async () => {
      const { machines, transaction } = (await rig.get("cluster", "quickstart")).status ?? {};
      const { summary } = machines as { summary: string };
      return transaction === undefined && summary === "3/4";
    });
    assert.equal(failed.status?.["errorReason"], "InsufficientResources");
    const [set] = await rig.all("machinesets");
    assert.equal(set?.status?.["errorReason"], "InsufficientResources");
    await rig.kubectl("wait", "--for=condition=Ready=false", "md/workers", "--timeout=30s");
    await rig.kubectl("wait", "--for=condition=Ready=false", "cluster/quickstart");
    const told = await rig.kubectl(
      "get",
      "events",
      "--field-selector=reason=InsufficientResources",
    );
    assert.match(
      told,
      new RegExp(`Warning +InsufficientResources +machine/${failed.metadata.name}`),
    );
    await rig.sandbox.cloud.clearFaults();
    await rig.kubectl("scale", "md", "workers", "--replicas=4");
    await rig.untilRunning("quickstart", 5);
    await rig.kubectl(...isReady);
    const now = await rig.get("machine", failed.metadata.name);
    assert.equal(now.status?.["errorReason"], undefined);
    assert.match(String((now.status?.["nodeRef"] as { uid?: string }).uid), /^[0-9a-f-]{36}$/);
  });

  it("waits for capstan install, and says so in one line", async () => {
    rig = await WatchRig.start({ example: "quickstart" }, { isEmpty: true });
    const watcher = rig.watch();
    await until("it says so", () => watcher.said.includes("waits for capstan install"));
    await rig.sandbox.capstan(0, "install");
    await rig.applyManifests();
    await rig.untilRunning("quickstart", 3);
    // That a server is slow is not what is asked here: only what our kinds are missed by.
    const warnings = watcher.said
      .split("\n")
      .filter((line) => line.includes('"warn"') && /capstan install|not found/i.test(line));
    assert.equal(warnings.length, 1, watcher.said);
  });
});

/**
 * A cluster of one machine. The machine comes first: the cluster alone would be
 * made as it is, should the server take its time between the two.
 */
function clusterText(name: string, ofCluster: object = {}): string {
  const network = { cidrBlocks: ["10.96.0.0/12"] };
  const versions = { kubelet: "1.34.2", controlPlane: "1.34.2" };
  return [
    machineOf(`${name}-cp`, name, {}, versions),
    {
      ...api,
      kind: "Cluster",
      metadata: { name },
      spec: {
        clusterNetwork: {
          services: network,
          pods: { cidrBlocks: ["192.168.0.0/16"] },
          serviceDomain: "cluster.local",
        },
        providerSpec: {
          value: { ...local, kind: "LocalClusterProviderSpec", bootMs: 0, ...ofCluster },
        },
      },
    },
  ]
    .map((object) => stringify(object))
    .join("---\n");
}

const api = { apiVersion: "cluster.k8s.io/v1alpha1" };
const local = { apiVersion: "local.capstan.dev/v1alpha1" };

function machineOf(
  name: string,
  cluster: string,
  more: object,
  versions: object = { kubelet: "1.34.2" },
): object {
  return {
    ...api,
    kind: "Machine",
    metadata: { name, labels: { "cluster.k8s.io/cluster-name": cluster } },
    spec: {
      versions,
      providerSpec: {
        value: { ...local, kind: "LocalMachineProviderSpec", size: "small", ...more },
      },
    },
  };
}
