// How the watch loop stands many clusters: a real API server, the local cloud, one controller. Prints
// times and peak memory; asserts nothing.

import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { ApiServer } from "../dist/test/support/api-server.js";

const cli = fileURLToPath(new URL("../dist/cli/main.js", import.meta.url));
const periodSeconds = 10;
const machinesEach = 5;
const bootMs = 300;
const giveUpMs = 40 * 60_000;
/** @typedef {{ phase?: string, machines?: { summary?: string } }} ClusterStatus */

const api = { apiVersion: "cluster.k8s.io/v1alpha1" };
const local = { apiVersion: "local.capstan.dev/v1alpha1" };

/**
 * @param {number} count of clusters, each of one control-plane machine and four workers
 * @returns {Promise<object>} seconds and mebibytes
 */
async function measureWatch(count) {
  const folder = mkdtempSync(join(tmpdir(), "capstan-bench-"));
  const server = await ApiServer.start({ controllers: true });
  const state = join(folder, "state");
  const env = { ...process.env, KUBECONFIG: server.kubeconfig };
  const capstan = (/** @type {string[]} */ ...args) =>
    spawn(process.execPath, [cli, "--state", state, ...args], { env, stdio: "ignore" });
  let controller;
  try {
    await ended(capstan("install"));
    controller = capstan(
      "watch",
      "--providers",
      "local",
      "--period",
      String(periodSeconds),
      "--log-level",
      "error",
    );
    const memory = watchMemory(controller.pid);
    const begunMs = performance.now();
    for (let first = 0; first < count; first += 20) {
      const batch = Array.from({ length: Math.min(20, count - first) }, (_, at) => first + at);
      await server.apply(batch.map(manifestOf).join(""));
    }
    const applied = secondsSince(begunMs);
    const running = await untilRunning(server, count, begunMs);
    const idle = await idleFor(state, 3 * periodSeconds);
    const drift = await driftLatency(server, state);
    return { clusters: count, applied, running, drift, ...memory.stop(), ...idle };
  } finally {
    controller?.kill("SIGTERM");
    if (controller !== undefined) await ended(controller);
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {import("node:child_process").ChildProcess} child */
function ended(child) {
  return new Promise((resolve) => child.once("close", resolve));
}

/** @param {number} ms */
function secondsSince(ms) {
  return Math.round((performance.now() - ms) / 100) / 10;
}

/**
 * @param {ApiServer} server
 * @returns {Promise<ClusterStatus[]>}
 */
async function clustersIn(server) {
  const { stdout } = await server.kubectl("get", "clusters", "-A", "-o", "json");
  return JSON.parse(stdout).items.map(
    (/** @type {{ status?: ClusterStatus }} */ { status = {} }) => status,
  );
}

/**
 * @param {ApiServer} server
 * @param {number} count
 * @param {number} begunMs
 */
async function untilRunning(server, count, begunMs) {
  const whole = `${machinesEach}/${machinesEach}`;
  let half;
  while (performance.now() - begunMs < giveUpMs) {
    const running = (await clustersIn(server)).filter(
      ({ phase, machines }) => phase === "Running" && machines?.summary === whole,
    ).length;
    process.stderr.write(`bench: ${running} of ${count} run after ${secondsSince(begunMs)} s\n`);
    if (running >= count / 2) half ??= secondsSince(begunMs);
    if (running === count) return { half, all: secondsSince(begunMs) };
    await wait(2_000);
  }
  throw new Error(`not all of ${count} clusters run`);
}

/**
 * Calls to the cloud while nothing is to do.
 *
 * @param {string} state
 * @param {number} seconds
 */
async function idleFor(state, seconds) {
  await wait(2 * periodSeconds * 1_000);
  const before = callsIn(state);
  await wait(seconds * 1_000);
  return { idleSeconds: seconds, idleCalls: callsIn(state) - before };
}

/**
 * @template Answer
 * @param {string} state
 * @param {(database: DatabaseSync) => Answer} ask
 * @returns {Answer}
 */
function withCloud(state, ask) {
  const database = new DatabaseSync(join(state, "local-cloud.db"), { timeout: 5_000 });
  try {
    return ask(database);
  } finally {
    database.close();
  }
}

/** @param {string} state */
function callsIn(state) {
  return withCloud(state, (database) =>
    Number(database.prepare("SELECT count(*) AS calls FROM ledger").get()?.["calls"]),
  );
}

/**
 * From a host's death to its replacement's running, and to its being shown.
 *
 * @param {ApiServer} server
 * @param {string} state
 */
async function driftLatency(server, state) {
  const dead = withCloud(state, (database) => {
    const row = database
      .prepare(
        "SELECT id, name FROM resources WHERE kind = 'LocalHost' AND name LIKE 'w0-%' LIMIT 1",
      )
      .get();
    database
      .prepare(
        "UPDATE resources SET state = 'terminated', gone_ms = ?, ready_since_ms = NULL WHERE id = ?",
      )
      .run(Date.now(), row?.["id"] ?? null);
    return String(row?.["name"]);
  });
  const machine = dead.split("-").slice(0, -2).join("-");
  const begunMs = performance.now();
  const living = () =>
    withCloud(state, (database) =>
      Number(
        database
          .prepare(
            "SELECT count(*) AS hosts FROM resources WHERE name LIKE ? AND ready_since_ms IS NOT NULL",
          )
          .get(`${machine}-%`)?.["hosts"],
      ),
    );
  while (living() === 0) await wait(50);
  const replaced = secondsSince(begunMs);
  const isShown = async () => {
    const { stdout } = await server.kubectl("get", "machine", machine, "-o", "json");
    const { phase, providerStatus } = JSON.parse(stdout).status;
    return phase === "Running" && providerStatus.host !== dead;
  };
  while (!(await isShown())) await wait(100);
  return { replaced, shown: secondsSince(begunMs) };
}

/**
 * Peak resident memory of a process, and of all that it has started together, in mebibytes.
 *
 * @param {number | undefined} pid
 */
function watchMemory(pid) {
  let controllerMib = 0;
  let childrenMib = 0;
  const timer = setInterval(() => {
    const all = processes();
    const own = all.get(pid ?? 0)?.mib ?? 0;
    const under = descendants(pid, all).reduce((sum, one) => sum + (all.get(one)?.mib ?? 0), 0);
    controllerMib = Math.max(controllerMib, own);
    childrenMib = Math.max(childrenMib, under);
  }, 250);
  return {
    stop: () => {
      clearInterval(timer);
      return { controllerMib: Math.round(controllerMib), childrenMib: Math.round(childrenMib) };
    },
  };
}

/** @typedef {{ parent: number, mib: number }} Process */

/** @returns {Map<number, Process>} by pid */
function processes() {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return new Map(
    pids.flatMap((pid) => {
      try {
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        const parent = Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]);
        const mib = Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1] ?? 0) / 1024;
        return [[Number(pid), { parent, mib }]];
      } catch {
        return [];
      }
    }),
  );
}

/**
 * @param {number | undefined} pid
 * @param {Map<number, Process>} all
 * @returns {number[]}
 */
function descendants(pid, all) {
  const under = [...all].filter(([, { parent }]) => parent === pid).map(([child]) => child);
  return under.flatMap((child) => [child, ...descendants(child, all)]);
}

/** @param {number} number */
function manifestOf(number) {
  const name = `c${number}`;
  const label = { "cluster.k8s.io/cluster-name": name };
  const spec = (/** @type {string} */ size, /** @type {object} */ versions) => ({
    versions,
    providerSpec: { value: { ...local, kind: "LocalMachineProviderSpec", size } },
  });
  const kubelet = "1.34.2";
  return [
    {
      ...api,
      kind: "Cluster",
      metadata: { name },
      spec: {
        clusterNetwork: {
          services: { cidrBlocks: ["10.96.0.0/12"] },
          pods: { cidrBlocks: ["192.168.0.0/16"] },
          serviceDomain: "cluster.local",
        },
        providerSpec: {
          value: { ...local, kind: "LocalClusterProviderSpec", networkCidr: "10.0.0.0/16", bootMs },
        },
      },
    },
    {
      ...api,
      kind: "Machine",
      metadata: { name: `cp${number}`, labels: label },
      spec: spec("medium", { kubelet, controlPlane: kubelet }),
    },
    {
      ...api,
      kind: "MachineDeployment",
      metadata: { name: `w${number}`, labels: label },
      spec: {
        replicas: machinesEach - 1,
        selector: { matchLabels: { set: "w" } },
        template: { metadata: { labels: { set: "w" } }, spec: spec("small", { kubelet }) },
      },
    },
  ]
    .map((object) => `---\n${JSON.stringify(object)}\n`)
    .join("");
}

for (const count of process.argv.slice(2).map(Number)) {
  process.stdout.write(`${JSON.stringify(await measureWatch(count))}\n`);
}
