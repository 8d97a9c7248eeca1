import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CapstanError } from "../../../src/api/error.js";
import { hasProcesses, type LocalResource } from "../file/resource.js";
import { folderOf, HostFolder } from "./host-folder.js";
import { memberPrograms } from "./member-programs.js";
import { endProcesses, naming, processesNaming, running } from "./processes-naming.js";

const cutWithinMs = 20_000;
const pollMs = 50;
const consoleLines = 40;

/**
 * Starts the processes of resources that have some, and ends them. What shall run is what the cloud's file says, so whoever asks
 * next finds what a dead command has left undone; the processes themselves follow the file as well.
 */
export class HostPower {
  constructor(private readonly cloudPath: string) {}

  /** Brings what runs in line with what there is. */
  async follow(resources: readonly LocalResource[]): Promise<void> {
    const some = resources.filter(({ spec }) => hasProcesses(spec));
    for (const { id, state } of some) if (state === "terminated") await this.cut(id);
    const living = some.filter(({ state }) => state !== "terminated");
    if (living.length === 0) return;
    // One look at all processes of the machine is enough.
    const own = running(ownPrograms);
    for (const resource of living) {
      const folder = new HostFolder(folderOf(this.cloudPath, resource.id));
      // Programs without it are nobody's: a new one ends them before it begins.
      if (naming(folder.path, own).length === 0) this.start(resource, folder);
    }
  }

  /** At once, with all that the host has kept. Throws CLOUD_FAILED where something does not end. */
  async cut(id: string): Promise<void> {
    const folder = folderOf(this.cloudPath, id);
    if (!existsSync(folder)) return;
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
    const log = openSync(join(folder.path, "log", hostLog), "a", 0o600);
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
