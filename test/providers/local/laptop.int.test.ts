import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { connect } from "node:net";
import { once } from "node:events";
import { basename, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import {
  AppsV1Api,
  type CoreV1Api,
  PatchStrategy,
  setHeaderOptions,
} from "@kubernetes/client-node";
import { kubernetesVersion } from "#kubernetes";
import { portsIn } from "../../../providers/local/nodes/host-folder.js";
import { memberPrograms } from "../../../providers/local/nodes/member-programs.js";
import { processesNaming } from "../../../providers/local/nodes/processes-naming.js";
import type { Sandbox } from "../../scenario/sandbox.js";
import { loseFolder } from "../../support/folders.js";
import { until } from "../../scenario/until.js";
import { LaptopCluster, stack } from "./laptop-cluster.js";
import type { LaptopMachine } from "./laptop-objects.js";
import { testWorkersInPlace } from "./workers-in-place.js";

const mergePatch = setHeaderOptions("Content-Type", PatchStrategy.MergePatch);
const programs = new Set([...memberPrograms, basename(process.execPath)]);

describe("a cluster of processes of this machine", function () {
  this.timeout(10 * 60_000);
  let cluster: LaptopCluster;
  let sandbox: Sandbox;
  let folders: string;
  let core: CoreV1Api;

  const nodes = () => cluster.nodes();
  const voters = () => cluster.voters();

  before(async () => {
    cluster = await LaptopCluster.make();
    ({ sandbox, folders } = cluster);
    await cluster.start();
    ({ core } = cluster);
  });
  after("it leaves no process, port or file when it is destroyed", async () => {
    try {
      const ports = cluster
        .hostFolders()
        .flatMap((path) => Object.values<number>({ ...portsIn(path) }));
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
    assert.ok(found.every((node) => node.version === `v${cluster.version}`));
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
    cluster.version = kubernetesVersion;
    cluster.write();
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
    assert.ok((await nodes()).every((node) => node.version === `v${cluster.version}`));
  });

  it("touches no member while the etcd of another one stands still or finds its disk full, and goes on once it has room", async () => {
    // Only the first member is to change, and another one is ill.
    cluster.tags = { care: "taken" };
    const hostOf = async (machine: string) => {
      const all = await cluster.everything();
      return all.find(
        ({ who, state }) => who.name.startsWith(`${machine}-`) && state === "running",
      )!;
    };
    const isTagged = async () => JSON.stringify((await hostOf("cp-0")).spec).includes("taken");
    const { id, who } = await hostOf("cp-1");
    const pids = () => processesNaming(join(folders, id), new Set(["etcd"]));
    const etcd = (fault: string) =>
      sandbox.capstan(0, "local", "fault", "etcd", fault, "--name", "cp-1");
    cluster.write();
    assert.equal(await isTagged(), false);
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
    const folder = cluster.memberFolders()[0]!;
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
    await until("it is ready", async () => (await cluster.readyMembers()) === 3, undefined, 500);
  });

  it("never begins a second time: a member whose disk is gone has ended, and gets another one in its place", async () => {
    const acknowledged: string[] = [];
    const write = async () => {
      const name = `before-${acknowledged.length}`;
      await core.createNamespacedConfigMap({ namespace: "default", body: { metadata: { name } } });
      acknowledged.push(name);
    };
    await write();
    // The first one of the list of members that a new one asks, and another.
    const disks = cluster.memberFolders();
    const members = (await cluster.everything()).filter(({ id }) =>
      disks.includes(join(folders, id)),
    );
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
      const objects = cluster.objects() as { kind: string; spec: LaptopMachine }[];
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
    cluster.write(of({ labels: { [role]: "" }, taints: [taint] }));
    await cluster.upToTheEnd();
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
    await cluster.upToTheEnd();
    assert.ok((await workers()).every((node) => node.metadata?.labels?.[role] === ""));
    const body = { metadata: { labels: { "example.org/theirs": "1" } } };
    await core.patchNode({ name: metadata?.name ?? "", body }, mergePatch);
    cluster.write();
    await cluster.upToTheEnd();
    const after = await workers();
    assert.ok(after.every((node) => node.metadata?.labels?.[role] === undefined));
    assert.ok(
      after.every(({ spec }) => spec?.taints?.some(({ key }) => key === "dedicated") !== true),
    );
    const [first] = after.filter((node) => node.metadata?.uid === metadata?.uid);
    assert.equal(first?.metadata?.labels?.["example.org/theirs"], "1");
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
    const apps = cluster.config.makeApiClient(AppsV1Api);
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
    cluster.workers = { value: { size: "medium" } };
    cluster.write();
    await sandbox.up();
    // Those that were evicted last come up on another host a moment later.
    await until("2 pods run again", () => running(2), undefined, 500);
    for (const { node } of await pods()) assert.ok(!before.has(node), node);
    await apps.deleteNamespacedDeployment(named);
    await until("none is left", () => running(0), undefined, 500);
  });

  testWorkersInPlace(() => cluster);
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
