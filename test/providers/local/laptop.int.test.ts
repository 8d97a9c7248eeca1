import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { once } from "node:events";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  AppsV1Api,
  CoreV1Api,
  KubeConfig,
  PatchStrategy,
  PolicyV1Api,
  setHeaderOptions,
} from "@kubernetes/client-node";
import { kubernetesVersion, previousKubernetesVersion } from "#kubernetes";
import { LocalCloud } from "../../../providers/local/cloud.js";
import { HostFolder, portsIn } from "../../../providers/local/nodes/host-folder.js";
import { HttpsClient } from "../../../providers/local/nodes/https-client.js";
import { etcdCredentialsIn } from "../../../providers/local/nodes/member-keys.js";
import { memberPrograms } from "../../../providers/local/nodes/member-programs.js";
import { processesNaming } from "../../../providers/local/nodes/processes-naming.js";
import { systemClock } from "../../../src/provider/clock.js";
import { Sandbox } from "../../scenario/sandbox.js";
import { loseFolder } from "../../support/folders.js";
import { until } from "../../scenario/until.js";
import { ObjectChanges } from "../../support/object-changes.js";
import { laptop, type LaptopMachine } from "./laptop-objects.js";
import { isWorker, serves, stateOf, toldBy } from "./worker-courses.js";

interface EtcdMembers {
  readonly members: readonly { readonly name?: string; readonly isLearner?: boolean }[];
}

const stack = "default/laptop";
/** Of kubelets, which may be older than the control plane. */
const older = "1.34.2";
const mergePatch = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
const programs = new Set([...memberPrograms, basename(process.execPath)]);

describe("a cluster of processes of this machine", function () {
  this.timeout(10 * 60_000);
  let sandbox: Sandbox;
  let folders: string;
  let config: KubeConfig;
  let core: CoreV1Api;

  const nodes = async () => {
    const { items } = await core.listNode();
    const ready = items.filter((node) =>
      node.status?.conditions?.some(({ type, status }) => type === "Ready" && status === "True"),
    );
    return ready.map(({ metadata, status }) => ({
      name: metadata?.name ?? "",
      version: status?.nodeInfo?.kubeletVersion,
      isMember: "node-role.kubernetes.io/control-plane" in (metadata?.labels ?? {}),
    }));
  };
  /** As the cloud's file has it. */
  const readyMembers = async () => {
    const cloud = new LocalCloud(sandbox.cloudFile, systemClock);
    const found = await cloud.everything();
    cloud.close();
    return found.filter(
      ({ spec, readySinceMs, state }) =>
        spec["role"] === "controlPlane" && state === "running" && readySinceMs !== undefined,
    ).length;
  };
  const hostFolders = () =>
    readdirSync(folders).filter((name) => portsIn(join(folders, name)) !== undefined);
  /** Of etcd, by any member: names, learners left out. */
  const voters = async () => {
    const path = hostFolders()
      .map((name) => join(folders, name))
      .find((one) => existsSync(join(one, "etcd")))!;
    const server = `127.0.0.1:${portsIn(path)!.etcd}`;
    const etcd = new HttpsClient(server, etcdCredentialsIn(new HostFolder(path)));
    const { members } = await etcd.post<EtcdMembers>("/v3/cluster/member/list", {});
    etcd.close();
    return members.filter(({ isLearner }) => isLearner !== true).map(({ name }) => name);
  };

  /** What the manifests say. */
  let version = previousKubernetesVersion;

  before(async () => {
    sandbox = await Sandbox.make({ objects: laptop(version) });
    folders = `${sandbox.cloudFile}.hosts`;
    await sandbox.up();
    const file = join(sandbox.folder, "admin.conf");
    await sandbox.capstan(0, "kubeconfig", stack, "--out", file);
    config = new KubeConfig();
    config.loadFromFile(file);
    core = config.makeApiClient(CoreV1Api);
  });
  after("it leaves no process, port or file when it is destroyed", async () => {
    try {
      const ports = hostFolders().flatMap((name) =>
        Object.values<number>({ ...portsIn(join(folders, name)) }),
      );
      assert.equal(ports.length, 5 * 6);
      await sandbox.capstan(0, "destroy", stack, "--yes");
      assert.deepEqual(processesNaming(folders, programs), []);
      assert.deepEqual(readdirSync(folders), []);
      for (const port of ports) assert.equal(await answerOf(port), "ECONNREFUSED");
    } finally {
      await sandbox.close();
    }
  });

  it("has three members, which are one etcd, and two workers that are Ready", async () => {
    const found = await nodes();
    assert.deepEqual(
      found.map(({ isMember }) => isMember),
      [true, true, true, false, false],
    );
    assert.ok(found.every((node) => node.version === `v${version}`));
    assert.deepEqual(
      (await voters()).toSorted(),
      found.slice(0, 3).map(({ name }) => name),
    );
    await sandbox.plan(0);
  });

  it("loses no acknowledged write while it gets another minor version", async () => {
    const written: string[] = [];
    let isDone = false;
    const writing = (async () => {
      for (let number = 0; !isDone; number += 1) {
        const name = `write-${number}`;
        const body = { metadata: { name } };
        await core.createNamespacedConfigMap({ namespace: "default", body }).then(
          () => written.push(name),
          () => undefined,
        );
        await pause(100);
      }
    })();
    version = kubernetesVersion;
    sandbox.writeObjects(laptop(version));
    await sandbox.up();
    isDone = true;
    await writing;
    const { items } = await core.listNamespacedConfigMap({ namespace: "default" });
    const kept = new Set(items.map(({ metadata }) => metadata?.name));
    assert.deepEqual(
      written.filter((name) => !kept.has(name)),
      [],
    );
    assert.ok(written.length > 50, `${written.length} writes`);
    assert.ok((await nodes()).every((node) => node.version === `v${version}`));
  });

  it("touches no member while the etcd of another one stands still or finds its disk full, and goes on once it has room", async () => {
    // Only the first member is to change, and another one is ill.
    const objects = laptop(version) as { metadata: { name: string }; spec: LaptopMachine }[];
    const changed = objects.find(({ metadata }) => metadata.name === "cp-0")!;
    changed.spec.providerSpec.value.tags = { care: "taken" };
    const hostOf = async (machine: string) => {
      const cloud = new LocalCloud(sandbox.cloudFile, systemClock);
      const all = await cloud.everything();
      cloud.close();
      return all.find(
        ({ who, state }) => who.name.startsWith(`${machine}-`) && state === "running",
      )!;
    };
    const isTagged = async () => JSON.stringify((await hostOf("cp-0")).spec).includes("taken");
    const { id, who } = await hostOf("cp-1");
    const pids = () => processesNaming(join(folders, id), new Set(["etcd"]));
    const etcd = (fault: string) =>
      sandbox.capstan(0, "local", "fault", "etcd", fault, "--name", "cp-1");
    sandbox.writeObjects(objects);
    await etcd("hang");
    const command = sandbox.startUp();
    try {
      const line = `LocalHost/${who.name}: its etcd does not answer (no `;
      await until("it says what it waits for", () => command.said.includes(line), undefined, 200);
      await etcd("fillDisk");
      const seen = new Set(pids());
      await etcd("goOn");
      // Each time it ends at its first write, and nobody listens there until it is started again.
      const hasBegunTwice = () => {
        for (const pid of pids()) seen.add(pid);
        return seen.size > 2;
      };
      await until("its host has started it twice", hasBegunTwice);
      assert.equal(command.hasEnded, false, command.said);
      assert.equal(await isTagged(), false);
    } finally {
      await etcd("freeDisk");
      await etcd("goOn").catch(() => undefined); // It may not run just now.
      await command.finished; // What comes next finds no lock of it.
    }
    const { code, stderr } = await command.finished;
    assert.equal(code, 0, stderr);
    assert.ok(await isTagged());
    sandbox.writeObjects(laptop(version));
    await sandbox.up();
  });

  it("gets another member in the place of one that was killed, also in etcd", async () => {
    const before = await nodes();
    await sandbox.capstan(0, "local", "kill", "cp-1");
    await sandbox.up();
    const members = (await nodes()).filter(({ isMember }) => isMember).map(({ name }) => name);
    assert.equal(members.length, 3);
    assert.notDeepEqual(
      members,
      before.slice(0, 3).map(({ name }) => name),
    );
    assert.deepEqual((await voters()).toSorted(), members.toSorted());
  });

  it("starts the programs of a member again, and a host that has lost all its processes", async () => {
    const folder = hostFolders()
      .map((name) => join(folders, name))
      .find((one) => existsSync(join(one, "etcd")))!;
    const own = () => processesNaming(folder, new Set([basename(process.execPath)]));
    // All of them, then the host's own process alone, whose programs go on without it.
    for (const victims of [() => processesNaming(folder, programs), own]) {
      const running = processesNaming(folder, programs);
      assert.equal(running.length, 1 + memberPrograms.length);
      for (const pid of victims()) process.kill(pid, "SIGKILL");
      // Whoever looks at the cloud next finds a host without power.
      await sandbox.up();
      const again = () => processesNaming(folder, programs);
      await until("all of them run", () => again().length === running.length, undefined, 500);
      await until(
        "none is left",
        () => again().every((pid) => !running.includes(pid)),
        undefined,
        500,
      );
    }
    // It listens a moment after it runs.
    const isWhole = async () => (await voters().catch(() => [])).length === 3;
    await until("etcd is whole", isWhole, undefined, 500);
    await until("it is ready", async () => (await readyMembers()) === 3, undefined, 500);
  });

  it("never begins a second time: a member whose disk is gone has ended, and gets another one in its place", async () => {
    const disks = () =>
      hostFolders()
        .map((name) => join(folders, name))
        .filter((one) => existsSync(join(one, "etcd")));
    const acknowledged: string[] = [];
    const write = async () => {
      const name = `before-${acknowledged.length}`;
      await core.createNamespacedConfigMap({ namespace: "default", body: { metadata: { name } } });
      acknowledged.push(name);
    };
    await write();
    // The first one of the list of members that a new one asks, and another.
    const cloud = new LocalCloud(sandbox.cloudFile, systemClock);
    const all = await cloud.everything();
    cloud.close();
    const members = all.filter(({ id }) => disks().includes(join(folders, id)));
    const [first = "", second = ""] = members
      .toSorted((one, other) => (one.who.name < other.who.name ? -1 : 1))
      .map(({ id }) => join(folders, id));
    // Without processes, as after a restart of the machine, and under programs that run.
    for (const [disk, isOff] of [
      [first, true],
      [second, false],
    ] as const) {
      if (isOff) for (const pid of processesNaming(disk, programs)) process.kill(pid, "SIGKILL");
      loseFolder(disk);
      await sandbox.capstan(2, "drift", stack);
      assert.equal(existsSync(disk), false);
      assert.deepEqual(processesNaming(disk, programs), []);
      await sandbox.up();
      await write();
      assert.equal((await voters()).length, 3);
    }
    const { items } = await core.listNamespacedConfigMap({ namespace: "default" });
    const kept = new Set(items.map(({ metadata }) => metadata?.name));
    assert.deepEqual(
      acknowledged.filter((name) => !kept.has(name)),
      [],
    );
    await sandbox.plan(0);
  });

  it("has Nodes that bear what their Machines want, also what no kubelet may give itself, beside what others put there", async () => {
    const role = "node-role.kubernetes.io/web";
    const workers = async () => {
      const { items } = await core.listNode();
      return items.filter(({ metadata }) => metadata?.name?.startsWith("workers"));
    };
    const of = (mark: { labels?: Record<string, string>; taints?: object[] }) => {
      const objects = laptop(version) as { kind: string; spec: LaptopMachine }[];
      for (const { kind, spec } of objects) {
        if (kind !== "MachineDeployment") continue;
        Object.assign(spec.template!.spec, {
          metadata: { labels: mark.labels },
          taints: mark.taints,
        });
      }
      return objects;
    };
    const taint = { key: "dedicated", value: "web", effect: "NoSchedule" };
    sandbox.writeObjects(of({ labels: { [role]: "" }, taints: [taint] }));
    await sandbox.up();
    const marked = await workers();
    assert.ok(marked.length > 0);
    for (const { metadata, spec } of marked) {
      assert.equal(metadata?.labels?.[role], "");
      assert.ok(spec?.taints?.some(({ key, value }) => key === "dedicated" && value === "web"));
    }
    const [{ metadata } = {}] = marked;
    // As a command that was killed before its end leaves it, or a user who takes it off: `up` does nothing else.
    const bare = { metadata: { labels: { [role]: null } } };
    await core.patchNode({ name: metadata?.name ?? "", body: bare }, mergePatch);
    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, /~ in place +nodeLabels \{\} -> \{"node-role\.kubernetes\.io\/web":""\}/);
    assert.match(stdout, /Plan: 1 to update in place/);
    assert.ok((await workers()).some((node) => node.metadata?.labels?.[role] === undefined));
    await sandbox.up();
    assert.ok((await workers()).every((node) => node.metadata?.labels?.[role] === ""));
    const body = { metadata: { labels: { "example.org/theirs": "1" } } };
    await core.patchNode({ name: metadata?.name ?? "", body }, mergePatch);
    sandbox.writeObjects(of({}));
    await sandbox.up();
    const after = await workers();
    assert.ok(after.every((node) => node.metadata?.labels?.[role] === undefined));
    assert.ok(
      after.every(({ spec }) => spec?.taints?.some(({ key }) => key === "dedicated") !== true),
    );
    const [first] = after.filter((node) => node.metadata?.uid === metadata?.uid);
    assert.equal(first?.metadata?.labels?.["example.org/theirs"], "1");
    sandbox.writeObjects(laptop(version));
    await sandbox.up();
  });

  it("runs pods until they are deleted, and moves those of a host that goes", async () => {
    const pods = async () => {
      const { items } = await core.listNamespacedPod({ namespace: "default" });
      return items.map(({ metadata, spec, status }) => ({
        name: metadata?.name ?? "",
        node: spec?.nodeName ?? "",
        phase: status?.phase,
      }));
    };
    const labels = { app: "web" };
    const containers = [{ name: "web", image: "example.org/web:1" }];
    const template = { metadata: { labels }, spec: { containers } };
    const apps = config.makeApiClient(AppsV1Api);
    const named = { namespace: "default", name: "web" };
    const spec = { replicas: 4, selector: { matchLabels: labels }, template };
    await apps.createNamespacedDeployment({ ...named, body: { metadata: { name: "web" }, spec } });
    const running = async (count: number) => {
      const all = await pods();
      return all.length === count && all.every(({ phase }) => phase === "Running");
    };
    await until("4 pods run", () => running(4), undefined, 500);
    await apps.patchNamespacedDeployment({ ...named, body: { spec: { replicas: 2 } } }, mergePatch);
    await until("2 pods have ended", () => running(2), undefined, 500);
    const before = new Set((await nodes()).map(({ name }) => name));
    sandbox.writeObjects(laptop(version, { value: { size: "medium" } }));
    await sandbox.up();
    // Those that were evicted last come up on another host a moment later.
    await until("2 pods run again", () => running(2), undefined, 500);
    for (const { node } of await pods()) assert.ok(!before.has(node), node);
    await apps.deleteNamespacedDeployment(named);
    await until("none is left", () => running(0), undefined, 500);
    sandbox.writeObjects(laptop(version));
    await sandbox.up();
  });

  describe("whose workers are changed where they are", () => {
    const labels = { app: "budgeted" };
    const namespace = "default";
    const nodesPath = "/api/v1/nodes";
    const podsPath = `/api/v1/namespaces/${namespace}/pods`;

    /** What the workers run: the tests come in any order. */
    let kubelet = kubernetesVersion;
    const otherKubelet = () => (kubelet === older ? kubernetesVersion : older);
    const workersOf = (theirs: string, deletion: object = {}) =>
      laptop(kubernetesVersion, { kubelet: theirs, deletion, inPlace: true });

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
      until(
        "both pods run",
        async () => (await pods()).filter(serves).length === 2,
        undefined,
        100,
      );
    let policy: PolicyV1Api;
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
      sandbox.writeObjects(workersOf(kubelet));
      await sandbox.up();
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

    it("are drained first within the budget of their pods, and take pods again", async () => {
      const [before, after] = [kubelet, otherKubelet()];
      await budgetOf(1);
      sandbox.writeObjects(workersOf(after));
      assert.match(
        (await sandbox.plan(2)).stdout,
        /\(disruptive: the kubelet restarts\) \(drains first\)/,
      );
      const changes = await ObjectChanges.begin(config, [
        { path: nodesPath, list: async () => (await core.listNode()).items },
        { path: podsPath, list: async () => (await core.listNamespacedPod({ namespace })).items },
      ]);
      await sandbox.up();
      kubelet = after;
      const { courses, disturbed, fewest } = toldBy(await changes.end(), {
        podsPath,
        disturbing: `cordoned ${after}`,
      });
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
      sandbox.writeObjects(workersOf(otherKubelet(), { nodeDrainTimeoutSeconds: 5 }));
      const { stdout, stderr } = await sandbox.up();
      kubelet = otherKubelet();
      assert.match(
        stdout + stderr,
        /pods? ha(s|ve) to go first since \S+: default\/budgeted-\S+ \(Cannot evict pod/,
      );
      assert.deepEqual(await states(), [`free ${kubelet}`, `free ${kubelet}`]);
    });

    it("take pods again where the command that drains them is killed and its change taken back", async () => {
      // So that it does not come to its end before it is killed.
      await budgetOf(2);
      sandbox.writeObjects(workersOf(otherKubelet()));
      const command = sandbox.startUp();
      const isCordoned = async () => (await states()).some((state) => state.startsWith("cordoned"));
      await until("one of them is drained", isCordoned, undefined, 50);
      await command.killTree();
      assert.ok(await isCordoned());
      await sandbox.capstan(0, "rollback", stack, "--yes");
      assert.deepEqual(await states(), [`free ${kubelet}`, `free ${kubelet}`]);
      await allServe();
    });
  });
});

/** Whether anybody listens there: the code of the error where nobody does. */
async function answerOf(port: number): Promise<string | undefined> {
  const socket = connect(port, "127.0.0.1");
  try {
    await once(socket, "connect");
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  } finally {
    socket.destroy();
  }
}
