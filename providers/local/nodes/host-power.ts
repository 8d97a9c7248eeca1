import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CapstanError } from "../../../src/api/error.js";
import { systemClock } from "../../../src/provider/clock.js";
import { hasProcesses, type LocalResource } from "../file/resource.js";
import { folderOf, HostFolder } from "./host-folder.js";
import { memberPrograms } from "./member-programs.js";
import { ProcessRecords } from "./process-records.js";
import {
  endProcesses,
  naming,
  processesNaming,
  running,
  type RunningProgram,
  runsBy,
} from "./processes-naming.js";

const cutWithinMs = 20_000;
const pollMs = 50;
const consoleLines = 40;

/**
 * Starts the processes of resources that have some, and ends them. What shall run is what the cloud's file says, so whoever asks
 * next finds what a dead command has left undone; the processes themselves follow the file as well.
 */
export class HostPower {
  constructor(private readonly cloudPath: string) {}

  /** Brings what runs in line with what there is, which it gives back: hosts whose disks are gone have ended. */
  async follow(resources: readonly LocalResource[]): Promise<LocalResource[]> {
    if (!resources.some(({ spec }) => hasProcesses(spec))) return [...resources];
    // One look at all processes of the machine is enough.
    const programs = running(hostPrograms);
    const followed: LocalResource[] = [];
    for (const resource of resources) {
      followed.push(hasProcesses(resource.spec) ? await this.power(resource, programs) : resource);
    }
    return followed;
  }

  private async power(
    resource: LocalResource,
    programs: readonly RunningProgram[],
  ): Promise<LocalResource> {
    const { id, state } = resource;
    const folder = new HostFolder(folderOf(this.cloudPath, id));
    const found = naming(folder.path, programs);
    if (state !== "terminated" && (await this.mayRun(id, folder))) {
      // Programs without a process of the host's own are nobody's: a new one ends them before it begins.
      if (!found.some(runsBy(ownPrograms))) this.start(resource, folder);
      return resource;
    }
    if (found.length > 0 || existsSync(folder.path)) await this.cut(id);
    return { ...resource, state: "terminated" };
  }

  private async mayRun(id: string, folder: HostFolder): Promise<boolean> {
    if (folder.isWhole()) return true;
    const records = new ProcessRecords(this.cloudPath, id, systemClock);
    try {
      return await records.boot(folder);
    } finally {
      records.close();
    }
  }

  /** At once, with all that the host has kept. Throws CLOUD_FAILED where something does not end. */
  async cut(id: string): Promise<void> {
    const folder = folderOf(this.cloudPath, id);
    for (const untilMs = Date.now() + cutWithinMs; ; await sleep(pollMs)) {
      const living = this.processesOf(id);
      if (living.length === 0) break;
      if (Date.now() > untilMs) throw doesNotEnd(id, living);
      endProcesses(living);
    }
    rmSync(folder, { recursive: true, force: true });
  }

  /** The last lines that a host has printed, those of its programs that end again and again among them. */
  console(id: string): string {
    const logs = join(folderOf(this.cloudPath, id), "log");
    if (!existsSync(logs)) return "";
    const tails = readdirSync(logs)
      .toSorted()
      .map((name) => {
        const lines = readFileSync(join(logs, name), "utf8").trimEnd().split("\n");
        return lines.slice(name === hostLog ? -consoleLines : -5).join("\n");
      });
    return tails.filter((text) => text !== "").join("\n");
  }

  private start({ kind }: LocalResource, folder: HostFolder): void {
    const name = kind === "LocalLoadBalancer" ? "#local-balancer" : "#local-host";
    const program = fileURLToPath(import.meta.resolve(name));
    const log = openedIn(folder);
    // Ended since.
    if (log === undefined) return;
    try {
      // In a group of its own: a signal to the command is not for it, and it outlives the command.
      const child = spawn(process.execPath, [program, this.cloudPath, folder.path], {
        detached: true,
        stdio: ["ignore", log, log],
        env: environment(),
      });
      child.unref();
    } finally {
      closeSync(log);
    }
  }

  /** All of them are told the folder. */
  private processesOf(id: string): number[] {
    return processesNaming(folderOf(this.cloudPath, id), hostPrograms);
  }
}

const hostLog = "host.log";

function openedIn(folder: HostFolder): number | undefined {
  try {
    return openSync(folder.at("log", hostLog), "a", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return undefined;
  }
}

/** What a host's own process runs by, and a load balancer's. */
const ownPrograms = new Set([basename(process.execPath)]);
const hostPrograms = new Set([...memberPrograms, ...ownPrograms]);

/** Programs of a host are found in the user's cache folder; it needs nothing else that the command was told. */
function environment(): NodeJS.ProcessEnv {
  const names = ["PATH", "HOME", "TMPDIR", "XDG_CACHE_HOME", "CAPSTAN_CACHE"];
  return Object.fromEntries(names.map((name) => [name, process.env[name]]));
}

function doesNotEnd(id: string, pids: readonly number[]): CapstanError {
  return new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    subject: id,
    message: `local cloud: processes of ${id} do not end: ${pids.join(", ")}`,
    retryable: true,
  });
}
