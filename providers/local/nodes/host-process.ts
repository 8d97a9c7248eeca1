import { rmSync } from "node:fs";
import { basename } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { messageOf } from "../../../src/api/error.js";
import { systemClock } from "../../../src/provider/clock.js";
import { HostFolder } from "./host-folder.js";
import { NodeHostRunner } from "./node-host.js";
import { nodeOrderOf } from "./node-order.js";
import { memberPrograms } from "./member-programs.js";
import { endProcesses, processesNaming } from "./processes-naming.js";
import { ProcessRecords } from "./process-records.js";
import { holdAlone } from "./sole-process.js";

// A host that is made of processes: node host-process.js CLOUD-FILE FOLDER. It becomes a node by the user data on its disk, and runs
// until the cloud's file says that it is terminated, or its disk is gone. What it prints is the host's console.

const lookMs = 500;
const retryMs = 1_000;

const [cloudPath = "", path = ""] = process.argv.slice(2);
const folder = new HostFolder(path);
const records = new ProcessRecords(cloudPath, basename(path), systemClock);

/** Ends with the resource, and with its disk: whatever the host is doing, and also where whoever terminated it has died since. */
async function watchOver(runner: NodeHostRunner): Promise<void> {
  for (;;) {
    if (!(await mayGoOn().catch(() => true))) {
      runner.kill();
      rmSync(folder.path, { recursive: true, force: true });
      process.exit(0);
    }
    await sleep(lookMs);
  }
}

async function mayGoOn(): Promise<boolean> {
  return folder.isWhole() ? (await records.living()) !== undefined : records.boot(folder);
}

async function run(runner: NodeHostRunner): Promise<never> {
  for (let told = ""; ;) {
    try {
      const host = await records.living();
      if (host !== undefined) await runner.step(host);
      told = "";
      await sleep(lookMs);
    } catch (error) {
      const text = messageOf(error);
      if (text !== told) process.stdout.write(`${new Date().toISOString()} ${text}\n`);
      told = text;
      await sleep(retryMs);
    }
  }
}

/** Those of a process before this one that was killed alone: they have the ports, and nobody starts them again. */
function endLeftPrograms(): void {
  endProcesses(processesNaming(folder.path, new Set(memberPrograms)));
}

if (holdAlone(folder.at("lock")) && (await records.boot(folder))) {
  endLeftPrograms();
  const order = nodeOrderOf(folder.userData());
  const runner = new NodeHostRunner(folder, order, records);
  await Promise.all([watchOver(runner), run(runner)]);
}
process.exit(0);
