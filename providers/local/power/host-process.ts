import { rmSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../src/api/error.js";
import { systemClock } from "../../../src/provider/clock.js";
import { type LocalNodes, nodesOf } from "../file/resource.js";
import { KubeadmHostRunner } from "../kubeadm/kubeadm-host.js";
import { HostFolder } from "../nodes/host-folder.js";
import type { HostRunner } from "../nodes/host-runner.js";
import { NodeHostRunner } from "../nodes/node-host.js";
import { nodeOrderOf } from "../nodes/node-order.js";
import { memberPrograms } from "../nodes/member-programs.js";
import { endProcesses, processesNaming } from "../nodes/processes-naming.js";
import { ProcessRecords } from "../nodes/process-records.js";
import { holdAlone } from "../nodes/sole-process.js";

// A host that is made of processes, or the keeper of one of namespaces: node host-process.js CLOUD-FILE FOLDER. It becomes a node by
// the user data on its disk, and runs until the cloud's file says that it is terminated, or its disk is gone. What it prints is the
// host's console.

const lookMs = 500;
const retryMs = 1_000;

const [cloudPath = "", path = ""] = process.argv.slice(2);
const folder = new HostFolder(path);
const records = new ProcessRecords(cloudPath, basename(path), systemClock);

/** Ends with the resource, and with its disk: whatever the host is doing, and also where whoever terminated it has died since. */
async function watchOver(runner: HostRunner): Promise<void> {
  for (;;) {
    if (!(await mayGoOn().catch(() => true))) {
      await endAll(runner).catch(say);
      process.exit(0);
    }
    await sleep(lookMs);
  }
}

/** The folder goes last: as long as it is there, whoever looks at the cloud ends what is left. */
async function endAll(runner: HostRunner): Promise<void> {
  await runner.end();
  rmSync(folder.path, { recursive: true, force: true });
}

async function mayGoOn(): Promise<boolean> {
  return folder.isWhole() ? (await records.living()) !== undefined : records.boot(folder);
}

async function run(runner: HostRunner): Promise<never> {
  for (let told = ""; ;) {
    try {
      const host = await records.living();
      if (host !== undefined) await runner.step(host);
      told = "";
      await sleep(lookMs);
    } catch (error) {
      const text = messageOf(error);
      if (text !== told) say(error);
      told = text;
      await sleep(retryMs);
    }
  }
}

function say(error: unknown): void {
  process.stdout.write(`${new Date().toISOString()} ${messageOf(error)}\n`);
}

function runnerOf(nodes: LocalNodes): HostRunner {
  if (nodes === "kubeadm") return new KubeadmHostRunner(folder, records);
  // Those of a process before this one that was killed alone: they have the ports, and nobody starts them again.
  endProcesses(processesNaming(folder.path, new Set(memberPrograms)));
  return new NodeHostRunner(folder, nodeOrderOf(folder.userData()), records);
}

if (holdAlone(folder.lock) && (await records.boot(folder))) {
  const host = await records.living();
  if (host !== undefined) {
    const runner = runnerOf(nodesOf(host.spec));
    await Promise.all([watchOver(runner), run(runner)]);
  }
}
process.exit(0);
