import assert from "node:assert/strict";
import { join } from "node:path";
import {
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  PolicyV1Api,
  type V1Node,
  type V1Pod,
} from "@kubernetes/client-node";
import { kubernetesVersion } from "#kubernetes";
import { Sandbox } from "../../scenario/sandbox.js";
import { until } from "../../scenario/until.js";
import {
  cluster,
  machine,
  machineDeployment,
  type Manifest,
  testCluster,
} from "../../support/manifests.js";
import { type ObjectChange, ObjectChanges } from "../../support/object-changes.js";

const stack = `default/${testCluster}`;
const namespace = "default";
const labels = { app: "budgeted" };
const [old, newer] = ["1.34.2", kubernetesVersion];

/** One member, and two workers that are changed one after the other. */
function objects(kubelet: string, deletion: object = {}): Manifest[] {
  const made = cluster();
  const { providerSpec, ...rest } = made["spec"] as { providerSpec: { value: object } };
  const value = { ...providerSpec.value, nodes: "processes" };
  const workers = machineDeployment("pool", 2, { kubelet }, { maxSurge: 0, maxUnavailable: 1 });
  const { template, ...spec } = workers["spec"] as { template: { spec: object } };
  return [
    { ...made, spec: { ...rest, providerSpec: { value } } },
    machine("cp-0", { kubelet: newer, controlPlane: newer }),
    {
      ...workers,
      spec: { ...spec, template: { ...template, spec: { ...template.spec, deletion } } },
    },
  ];
}

/** "free 1.34.2", as a Node says. */
function stateOf({ spec, status }: V1Node): string {
  const version = status?.nodeInfo?.kubeletVersion.replace(/^v/, "") ?? "";
  return `${spec?.unschedulable === true ? "cordoned" : "free"} ${version}`;
}

function serves({ metadata, status }: V1Pod): boolean {
  return metadata?.deletionTimestamp === undefined && status?.phase === "Running";
}

const nodesPath = "/api/v1/nodes";
const podsPath = `/api/v1/namespaces/${namespace}/pods`;

/** What happened to the workers: the states of each, how many pods there were as one came to a state, and the fewest that served. */
function toldBy(changes: readonly ObjectChange[], disturbing: string) {
  const courses = new Map<string, string[]>();
  const disturbed: number[] = [];
  const there = new Map<string, V1Pod>();
  const served: number[] = [];
  for (const { path, isGone, object } of changes) {
    const name = object.metadata?.name ?? "";
    if (path === podsPath) {
      if (isGone) there.delete(name);
      else there.set(name, object);
      served.push([...there.values()].filter(serves).length);
    } else if (isWorker(object)) {
      const course = courses.get(name) ?? [];
      courses.set(name, course);
      const state = stateOf(object);
      if (course.at(-1) === state) continue;
      course.push(state);
      const left = [...there.values()].filter(({ spec }) => spec?.nodeName === name);
      if (state === disturbing) disturbed.push(left.length);
    }
  }
  // First it is told of the pods that there were, one after the other.
  const fewest = Math.min(...served.slice(served.indexOf(2)));
  return { courses, disturbed, fewest };
}

function isWorker({ metadata }: V1Node): boolean {
  return metadata?.name?.startsWith("pool-") === true;
}

describe("hosts of processes that are changed where they are", function () {
  this.timeout(10 * 60_000);
  let sandbox: Sandbox;
  let config: KubeConfig;
  let core: CoreV1Api;
  let policy: PolicyV1Api;

  /** What the workers run: the tests come in any order. */
  let version = old;
  const otherVersion = () => (version === old ? newer : old);

  const workers = async () => {
    const { items } = await core.listNode();
    return items.filter(isWorker);
  };
  const pods = async () => {
    const { items } = await core.listNamespacedPod({ namespace, labelSelector: "app=budgeted" });
    return items;
  };
  const states = async () => (await workers()).map(stateOf);
  const allServe = () =>
    until("both pods run", async () => (await pods()).filter(serves).length === 2, undefined, 100);
  const budgetOf = async (minAvailable: number) => {
    const name = "budgeted";
    await policy.deleteNamespacedPodDisruptionBudget({ name, namespace }).catch(() => undefined);
    const spec = { minAvailable, selector: { matchLabels: labels } };
    const body = { metadata: { name }, spec };
    await policy.createNamespacedPodDisruptionBudget({ namespace, body });
    const counted = async () => {
      const budget = await policy.readNamespacedPodDisruptionBudget({ name, namespace });
      return budget.status?.disruptionsAllowed === 2 - minAvailable;
    };
    await until("the budget counts", counted, undefined, 100);
  };

  before(async () => {
    sandbox = await Sandbox.make({ objects: objects(old) });
    await sandbox.up();
    const file = join(sandbox.folder, "admin.conf");
    await sandbox.capstan(0, "kubeconfig", stack, "--out", file);
    config = new KubeConfig();
    config.loadFromFile(file);
    core = config.makeApiClient(CoreV1Api);
    policy = config.makeApiClient(PolicyV1Api);
    const containers = [{ name: "main", image: "none" }];
    await config.makeApiClient(AppsV1Api).createNamespacedDeployment({
      namespace,
      body: {
        metadata: { name: "budgeted" },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers } },
        },
      },
    });
    await allServe();
    await budgetOf(1);
  });
  after(async () => {
    try {
      await sandbox.capstan(0, "destroy", stack, "--yes");
    } finally {
      await sandbox.close();
    }
  });

  it("are drained first within the budget of their pods, and take pods again", async () => {
    const [before, after] = [version, otherVersion()];
    await budgetOf(1);
    sandbox.writeObjects(objects(after));
    assert.match(
      (await sandbox.plan(2)).stdout,
      /\(disruptive: the kubelet restarts\) \(drains first\)/,
    );
    const changes = await ObjectChanges.begin(config, [
      { path: nodesPath, list: async () => (await core.listNode()).items },
      { path: podsPath, list: async () => (await core.listNamespacedPod({ namespace })).items },
    ]);
    await sandbox.up();
    version = after;
    const { courses, disturbed, fewest } = toldBy(await changes.end(), `cordoned ${after}`);
    assert.deepEqual(
      [...courses.values()],
      Array.from({ length: 2 }, () => [
        `free ${before}`,
        `cordoned ${before}`,
        `cordoned ${after}`,
        `free ${after}`,
      ]),
    );
    assert.deepEqual(disturbed, [0, 0]);
    assert.ok(fewest >= 1, `${fewest} pods served`);
    await allServe();
    await sandbox.plan(0);
  });

  it("tell who keeps them, and are changed all the same once their time is over", async () => {
    await budgetOf(2);
    sandbox.writeObjects(objects(otherVersion(), { nodeDrainTimeoutSeconds: 5 }));
    const { stdout, stderr } = await sandbox.up();
    version = otherVersion();
    assert.match(
      stdout + stderr,
      /pods? ha(s|ve) to go first since \S+: default\/budgeted-\S+ \(Cannot evict pod/,
    );
    assert.deepEqual(await states(), [`free ${version}`, `free ${version}`]);
  });

  it("take pods again where the command that drains them is killed and its change taken back", async () => {
    // So that it does not come to its end before it is killed.
    await budgetOf(2);
    sandbox.writeObjects(objects(otherVersion()));
    const command = sandbox.startUp();
    const isCordoned = async () => (await states()).some((state) => state.startsWith("cordoned"));
    await until("one of them is drained", isCordoned, undefined, 50);
    await command.killTree();
    assert.ok(await isCordoned());
    await sandbox.capstan(0, "rollback", stack, "--yes");
    assert.deepEqual(await states(), [`free ${version}`, `free ${version}`]);
    await allServe();
  });
});
