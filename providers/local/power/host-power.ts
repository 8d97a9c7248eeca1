import { spawn } from "node:child_process";
import { closeSync, existsSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { CapstanError, messageOf } from "../../../src/api/error.js";
import { systemClock } from "../../../src/provider/clock.js";
import { hasPower, type LocalResource, nodesOf } from "../file/resource.js";
import { removeHost } from "../kubeadm/host.js";
import { scriptPath } from "../kubeadm/namespaces.js";
import { HostNetwork, makingArgs, removeNetwork } from "../kubeadm/network.js";
import { addressesOf, groupOf } from "../kubeadm/place.js";
import { folderOf, HostFolder } from "../nodes/host-folder.js";
import { memberPrograms } from "../nodes/member-programs.js";
import { ProcessRecords } from "../nodes/process-records.js";
import {
  endProcesses,
  naming,
  processesNaming,
  running,
  type RunningProgram,
  runsBy,
} from "../nodes/processes-naming.js";
import { isHeldAlone } from "../nodes/sole-process.js";

const cutWithinMs = 20_000;
const pollMs = 50;
const consoleLines = 40;

/** What runs of a resource, and where. */
type PoweredResource = Pick<LocalResource, "id" | "spec">;

/**
 * Starts the processes of resources that have some, and ends them. What shall run is what the cloud's file says, so whoever asks
 * next finds what a dead command has left undone; the processes themselves follow the file as well.
 */
export class HostPower {
  constructor(private readonly cloudPath: string) {}

  /** Brings what runs in line with what there is, which it gives back: hosts whose disks are gone have ended. */
  async follow(resources: readonly LocalResource[]): Promise<LocalResource[]> {
    if (!resources.some(({ spec }) => hasPower(spec))) return [...resources];
    // One look at all processes of the machine is enough.
    const programs = running(hostPrograms);
    const followed: LocalResource[] = [];
    for (const resource of resources) {
      followed.push(hasPower(resource.spec) ? await this.power(resource, programs) : resource);
    }
    return followed;
  }

  private async power(
    resource: LocalResource,
    programs: readonly RunningProgram[],
  ): Promise<LocalResource> {
    const { id, state } = resource;
    const folder = this.folderOf(id);
    const found = naming(folder.path, programs);
    if (state !== "terminated" && (await this.mayRun(resource, folder))) {
      // Programs without a process of the host's own are nobody's: a new one ends them before it begins.
      if (!found.some(runsBy(ownPrograms))) await this.start(resource, folder);
      return resource;
    }
    if (found.length > 0 || existsSync(folder.path)) await this.cut(resource);
    return { ...resource, state: "terminated" };
  }

  private mayRun({ id, spec }: LocalResource, folder: HostFolder): Promise<boolean> {
    return this.withRecords(id, async (records) => {
      // Nothing but its keeper holds a host of namespaces, from before it begins.
      if (nodesOf(spec) === "kubeadm" && folder.hasBegun && !isHeldAlone(folder.lock)) {
        await records.lose("what kept it has ended");
        return false;
      }
      return folder.isWhole() || records.boot(folder);
    });
  }

  /** At once, with all that the host has kept. Throws CLOUD_FAILED where something does not end. */
  async cut({ id, spec }: PoweredResource): Promise<void> {
    const folder = this.folderOf(id);
    for (const untilMs = Date.now() + cutWithinMs; ; await sleep(pollMs)) {
      const living = this.processesOf(id);
      if (living.length === 0) break;
      if (Date.now() > untilMs) throw doesNotEnd(id, `its processes ${living.join(", ")}`);
      endProcesses(living);
    }
    if (nodesOf(spec) === "kubeadm") {
      await removePart(folder).catch((error: unknown) => {
        throw doesNotEnd(id, messageOf(error));
      });
    }
    rmSync(folder.path, { recursive: true, force: true });
  }

  /** The last lines that a host has printed, those of its programs that end again and again among them. */
  console(id: string): string {
    const logs = this.folderOf(id).at("log");
    if (!existsSync(logs)) return "";
    const tails = readdirSync(logs)
      .toSorted()
      .map((name) => {
        const lines = textOf(join(logs, name)).trimEnd().split("\n");
        return lines.slice(consoleLogs.has(name) ? -consoleLines : -5).join("\n");
      });
    return tails.filter((text) => text !== "").join("\n");
  }

  private async start(resource: LocalResource, folder: HostFolder): Promise<void> {
    const command = await this.commandOf(resource, folder);
    const log = openedIn(folder);
    // Ended since.
    if (log === undefined || command === undefined) return;
    try {
      // In a group of its own: a signal to the command is not for it, and it outlives the command.
      const [program, ...args] = command;
      const child = spawn(program, args, {
        detached: true,
        stdio: ["ignore", log, log],
        env: environment(),
      });
      child.unref();
    } finally {
      closeSync(log);
    }
  }

  /** The load balancer of a cluster of namespaces runs in their network; undefined where that is gone. */
  private async commandOf(
    { id, kind, spec }: LocalResource,
    folder: HostFolder,
  ): Promise<readonly [string, ...string[]] | undefined> {
    const name = kind === "LocalLoadBalancer" ? "#local-balancer" : "#local-host";
    const program = fileURLToPath(import.meta.resolve(name));
    const command = [process.execPath, program, this.cloudPath, folder.path] as const;
    if (kind !== "LocalLoadBalancer" || nodesOf(spec) !== "kubeadm") return command;
    const place = await this.withRecords(id, (records) => records.place());
    if (place === undefined) return undefined;
    const network = new HostNetwork(folder.network, addressesOf(place.loadBalancer, place.cidr));
    return [scriptPath("run-in-network.sh"), ...makingArgs(network), ...command];
  }

  private async withRecords<T>(
    id: string,
    ask: (records: ProcessRecords) => Promise<T>,
  ): Promise<T> {
    const records = new ProcessRecords(this.cloudPath, id, systemClock);
    try {
      return await ask(records);
    } finally {
      records.close();
    }
  }

  /** All of them are told the folder. */
  private processesOf(id: string): number[] {
    return processesNaming(this.folderOf(id).path, hostPrograms);
  }

  private folderOf(id: string): HostFolder {
    return new HostFolder(folderOf(this.cloudPath, id));
  }
}

/** What a host of namespaces, or the load balancer in their network, leaves when its process has ended. */
async function removePart(folder: HostFolder): Promise<void> {
  await removeHost(groupOf(folder.id), folder.disk);
  await removeNetwork(folder.network);
}

/** Those that people want to read more of: what a host says of itself. */
const hostLog = "host.log";
const consoleLogs = new Set([hostLog, "console.log"]);

function textOf(path: string): string {
  return existsSync(path) ? readFileSync(path, "utf8") : "";
}

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

function doesNotEnd(id: string, what: string): CapstanError {
  return new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    subject: id,
    message: `local cloud: ${id} does not end: ${what}`,
    retryable: true,
  });
}
