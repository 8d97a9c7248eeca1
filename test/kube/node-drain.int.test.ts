import assert from "node:assert/strict";
import {
  AppsV1Api,
  CoreV1Api,
  PatchStrategy,
  StorageV1Api,
  type V1Node,
} from "@kubernetes/client-node";
import { drainRound, uncordonOurs } from "../../src/kube/node-drain.js";
import { attachedVolumes } from "../../src/kube/node-volumes.js";
import { within } from "../../src/kube/requests.js";
import { until } from "../scenario/until.js";
import { ApiServer } from "../support/api-server.js";

const node = "web-0";

function pod(
  name: string,
  { labels = {}, ...more }: { labels?: object; [field: string]: unknown },
) {
  const spec = { nodeName: node, containers: [{ name: "main", image: "none" }] };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, labels, ...more }, spec };
}

/** Evictions as an API server has written them down: "pod-a 201". */
function evictions(server: ApiServer): string[] {
  return server
    .auditEvents()
    .filter(
      ({ objectRef, stage }) =>
        objectRef?.subresource === "eviction" && stage === "ResponseComplete",
    )
    .map(({ objectRef, responseStatus }) => `${objectRef?.name} ${responseStatus?.code}`);
}

describe("a drain, on a real API server with budgets of disruption", () => {
  let server: ApiServer;
  let core: CoreV1Api;
  let round: () => Promise<readonly string[]>;

  const read = (): Promise<V1Node> => core.readNode({ name: node });

  before(async () => {
    server = await ApiServer.start({ controllers: true, auditLog: true });
    core = server.config.makeApiClient(CoreV1Api);
    const apps = server.config.makeApiClient(AppsV1Api);
    round = async () => {
      const { blockers } = await drainRound(await read(), {
        core,
        apps,
        nowMs: Date.now(),
        rules: [],
      });
      return blockers.map(({ pod: name, why }) => `${name}: ${why}`);
    };
    const objects = [
      { apiVersion: "v1", kind: "Node", metadata: { name: node } },
      pod("budgeted", { labels: { app: "budgeted" } }),
      pod("free", {}),
      pod("stays", { labels: { "cluster.x-k8s.io/drain": "skip" } }),
      pod("mirror", { annotations: { "kubernetes.io/config.mirror": "x" } }),
      pod("completes", { labels: { "cluster.x-k8s.io/drain": "wait-completed" } }),
      {
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: "budget" },
        spec: { minAvailable: 1, selector: { matchLabels: { app: "budgeted" } } },
      },
    ];
    await server.apply(objects.map((one) => JSON.stringify(one)).join("\n---\n"));
    // One that does not run yet is evicted whatever its budget says.
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
    await core.patchNamespacedPodStatus(
      { name: "budgeted", namespace: "default", body: { status } },
      within(PatchStrategy.MergePatch),
    );
  });
  after(() => server.stop());

  it("cordons, evicts what its budget lets go, tells what is in the way, and comes to an end", async () => {
    const blockers = await until("the budget counts", async () => {
      const told = await round();
      return told.some((one) => one.includes("disruption budget")) ? told : undefined;
    });
    assert.deepEqual(
      blockers.map((one) => one.replace(/: Cannot evict.*/, ": refused")),
      [
        "default/budgeted: refused",
        "default/completes: has to complete",
        "default/free: is ending",
      ],
    );
    assert.equal((await read()).spec?.unschedulable, true);

    for (const one of ["free 201", "budgeted 429"]) {
      await until(`${one} is noted`, () => evictions(server).includes(one));
    }
    const done = evictions(server);
    assert.ok(!done.some((one) => /^(budgeted 201|stays|mirror|completes)/.test(one)), done.join());

    for (const name of ["completes", "budgeted", "free"]) {
      await core.deleteNamespacedPod({ name, namespace: "default", gracePeriodSeconds: 0 });
    }
    assert.deepEqual(
      await until("the drain ends", async () =>
        (await round()).length === 0 ? "drained" : undefined,
      ),
      "drained",
    );
  });

  it("tells of volumes that are attached, but for those of pods that stay", async () => {
    const storage = server.config.makeApiClient(StorageV1Api);
    const apps = server.config.makeApiClient(AppsV1Api);
    const attached = async () =>
      attachedVolumes(await read(), { core, apps, storage, nowMs: Date.now(), rules: [] });
    assert.deepEqual(await attached(), []);
    const claims = ["data", "logs"].map((name) => ({
      apiVersion: "v1",
      kind: "PersistentVolume",
      metadata: { name: `pv-${name}` },
      spec: {
        capacity: { storage: "1Gi" },
        accessModes: ["ReadWriteOnce"],
        csi: { driver: "csi.example.com", volumeHandle: name },
        claimRef: { kind: "PersistentVolumeClaim", namespace: "default", name },
      },
    }));
    const attachments = ["data", "logs"].map((name) => ({
      apiVersion: "storage.k8s.io/v1",
      kind: "VolumeAttachment",
      metadata: { name },
      spec: {
        attacher: "csi.example.com",
        nodeName: node,
        source: { persistentVolumeName: `pv-${name}` },
      },
    }));
    const keeper = pod("keeper", { labels: { "cluster.x-k8s.io/drain": "skip" } });
    const volumes = [{ name: "logs", persistentVolumeClaim: { claimName: "logs" } }];
    const kept = { ...keeper, spec: { ...keeper.spec, volumes } };
    const objects = [...claims, ...attachments, kept];
    await server.apply(objects.map((one) => JSON.stringify(one)).join("\n---\n"));
    assert.deepEqual(await attached(), [], "no attacher has attached them yet");
    for (const name of ["data", "logs"]) {
      const body = { status: { attached: true } };
      await storage.patchVolumeAttachmentStatus({ name, body }, within(PatchStrategy.MergePatch));
    }
    assert.deepEqual(await attached(), ["default/data"]);
    await storage.deleteVolumeAttachment({ name: "data" });
    assert.deepEqual(await attached(), []);
  });

  it("remembers since when a Node takes no more pods", async () => {
    const apps = server.config.makeApiClient(AppsV1Api);
    const nowMs = Date.parse("2026-05-04T10:11:12Z");
    const name = "since";
    await server.apply(JSON.stringify({ apiVersion: "v1", kind: "Node", metadata: { name } }));
    for (const laterMs of [0, 60_000]) {
      const look = { core, apps, nowMs: nowMs + laterMs, rules: [] };
      const { sinceMs } = await drainRound(await core.readNode({ name }), look);
      assert.equal(sinceMs, nowMs);
    }
  });

  it("takes back its own cordons alone", async () => {
    await round();
    const others = "kept-free";
    await server.apply(
      JSON.stringify({
        apiVersion: "v1",
        kind: "Node",
        metadata: { name: others },
        spec: { unschedulable: true },
      }),
    );
    await uncordonOurs([await read(), await core.readNode({ name: others })], core);
    assert.equal((await read()).spec?.unschedulable, undefined);
    assert.equal((await core.readNode({ name: others })).spec?.unschedulable, true);
  });

  it("goes on where somebody has deleted a Node in between", async () => {
    const passing = "passing";
    const manifest = { apiVersion: "v1", kind: "Node", metadata: { name: passing } };
    await server.apply(JSON.stringify(manifest));
    const gone = await core.readNode({ name: passing });
    await core.deleteNode({ name: passing });
    const apps = server.config.makeApiClient(AppsV1Api);
    const { blockers } = await drainRound(gone, { core, apps, nowMs: Date.now(), rules: [] });
    assert.deepEqual(blockers, []);
    await round();
    const cordoned = { "capstan.dev/cordoned": new Date().toISOString() };
    gone.metadata = { name: passing, annotations: cordoned };
    await uncordonOurs([gone, await read()], core);
    assert.equal((await read()).spec?.unschedulable, undefined);
  });
});
