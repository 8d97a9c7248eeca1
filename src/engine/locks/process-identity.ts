import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { isJsonObject, type Json, type JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { FolderWriters } from "./folder-writers.js";

/**
 * A process beyond doubt: pids are used again, start times are not, and neither means anything after
 * a reboot. Architecture rule 5.7.
 */
export interface ProcessIdentity {
  /** For people: machines and containers are given the same name by whoever likes. */
  readonly host: string;
  /** Random for each start of a kernel. */
  readonly boot: string;
  readonly pid: number;
  /** In which `pid` counts: a kernel's containers have pids of their own. Absent where there are none. */
  readonly pidNamespace?: string;
  /**
   * The machine's name for itself, the same after each start. Copies of a machine have the same one, so it proves nothing of what
   * several machines can write. Absent of a process in a container, which other machines may have run.
   */
  readonly machine?: string;
  /** Opaque; equal for the same process only. */
  readonly started: string;
}

/** Where processes are looked at from. */
export type Surroundings = Pick<ProcessIdentity, "boot" | "pidNamespace" | "machine">;

/** The identity of a running process of this machine, or undefined when there is none. */
export function identify(pid: number): ProcessIdentity | undefined {
  const started = startOf(pid);
  if (started === undefined) return undefined;
  return { host: hostname(), pid, started, ...ownSurroundings() };
}

/** Whether JSON tells a process. */
export function isIdentity(value: Json | undefined): value is JsonObject & ProcessIdentity {
  return (
    isJsonObject(value) &&
    typeof value["pid"] === "number" &&
    ["host", "boot", "started"].every((field) => typeof value[field] === "string")
  );
}

/** Whether both tell of one process. Pure. */
export function sameProcess(one: ProcessIdentity, other: ProcessIdentity | undefined): boolean {
  const about = ({ boot, pidNamespace = "", pid, started }: ProcessIdentity) =>
    [boot, pidNamespace, pid, started].join(" ");
  return other !== undefined && about(one) === about(other);
}

/** Whether its pid means here what it meant there. */
export function isOfHere({ boot, pidNamespace }: ProcessIdentity): boolean {
  const here = ownSurroundings();
  return boot === here.boot && pidNamespace === here.pidNamespace;
}

export type Liveness = "alive" | "dead" | "unknown";

/** Whether that very process lives. `writers`: who can write the folder in which its identity was found. */
export function livenessOf(identity: ProcessIdentity, writers: FolderWriters = "others"): Liveness {
  return livenessFrom(ownSurroundings(), identity, { writers, startedAt: startOf });
}

/** What there is to judge an identity by, beside the surroundings from which it is looked at. */
interface Sight {
  readonly writers: FolderWriters;
  /** When the process of a pid began; undefined where there is none. */
  readonly startedAt: (pid: number) => string | undefined;
}

/**
 * The same as seen from somewhere. What another kernel or another container runs cannot be seen, whatever it is called:
 * dead is what this kernel does not run, and what this machine ran before it was last started, where no other machine can have
 * written its identity. Of two copies of a machine on one shared backend neither knows anything of the other. Pure.
 */
export function livenessFrom(
  here: Surroundings,
  { boot, machine, pid, pidNamespace, started }: ProcessIdentity,
  { writers, startedAt }: Sight,
): Liveness {
  if (boot === "" || here.boot === "") return "unknown";
  if (boot !== here.boot) {
    const isOfHere = machine !== undefined && machine === here.machine;
    return isOfHere && writers === "thisMachine" ? "dead" : "unknown";
  }
  if (pidNamespace !== here.pidNamespace) return "unknown";
  return startedAt(pid) === started ? "alive" : "dead";
}

/**
 * The nearest ancestor of a process whose program has the given name; the parent when none has.
 * Undefined when there is no parent to know of.
 */
export function ancestorNamed(pid: number, name: string): ProcessIdentity | undefined {
  const parent = parentOf(pid);
  for (
    let ancestor = parent;
    ancestor !== undefined && ancestor > 1;
    ancestor = parentOf(ancestor)
  ) {
    if (programOf(ancestor) === name) return identify(ancestor);
  }
  return parent === undefined ? undefined : identify(parent);
}

function parentOf(pid: number): number | undefined {
  const parent = statOf(pid)?.[1] ?? askPs(pid, "ppid=");
  return parent === undefined ? undefined : Number(parent);
}

function programOf(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch {
    return askPs(pid, "comm=")?.split("/").at(-1);
  }
}

/** Signals all of a process group, whose leader has this pid; nothing happens to one that has ended. */
export function signalGroup(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-pid, signal);
  } catch {
    // It ended by itself in between.
  }
}

/** How soon after an engine's death the processes that it started have noticed it, milliseconds. */
export const deathNoticeMs = 200;

/** Linux counts process times in hundredths of a second (USER_HZ), whatever the kernel's own tick. */
const ticksPerSecond = 100;

/**
 * When a running process began, milliseconds since the epoch, to about a second, by the clock as it is set now; undefined
 * if unknown.
 */
export function startTimeMs(pid: number): number | undefined {
  const stat = unlessMissing(() => readFileSync("/proc/stat", "utf8"));
  const boot = stat === undefined ? undefined : /^btime (\d+)$/m.exec(stat)?.[1];
  const ticks = statOf(pid)?.[19];
  if (boot !== undefined && ticks !== undefined) {
    return (Number(boot) + Number(ticks) / ticksPerSecond) * 1_000;
  }
  const told = Date.parse(askPs(pid, "lstart=") ?? "");
  return Number.isNaN(told) ? undefined : told;
}

function startOf(pid: number): string | undefined {
  const stat = statOf(pid);
  // A zombie has ended: it waits for its parent to notice.
  if (stat !== undefined) return stat[0] === "Z" ? undefined : stat[19];
  return askPs(pid, "lstart=");
}

/** Fields of /proc/<pid>/stat from "state" on (field 3 of proc(5)); undefined without such a file. */
function statOf(pid: number): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command's name may hold spaces and parentheses, so count from its closing one.
    return text.slice(text.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function askPs(pid: number, field: string): string | undefined {
  if (process.platform === "linux" || process.platform === "win32") return undefined;
  try {
    const answer = execFileSync("ps", ["-o", field, "-p", String(pid)], {
      encoding: "utf8",
    }).trim();
    return answer === "" ? undefined : answer;
  } catch {
    return undefined;
  }
}

/** Linux names the first namespace of a kernel so (PROC_PID_INIT_INO of include/linux/proc_ns.h). */
const firstPidNamespace = "pid:[4026531836]";

let surroundings: Surroundings | undefined;

/** They last as long as a process does. */
function ownSurroundings(): Surroundings {
  surroundings ??= process.platform === "darwin" ? surroundingsOfDarwin() : surroundingsOfLinux();
  return surroundings;
}

function surroundingsOfLinux(): Surroundings {
  const pidNamespace = unlessMissing(() => readlinkSync("/proc/self/ns/pid"));
  const text = (path: string) => unlessMissing(() => readFileSync(path, "utf8").trim());
  const machine = pidNamespace === firstPidNamespace ? text("/etc/machine-id") : undefined;
  return omitUndefined({
    boot: text("/proc/sys/kernel/random/boot_id") ?? "",
    pidNamespace,
    machine: machine === "" ? undefined : machine,
  });
}

/** There are no containers that share its kernel. */
function surroundingsOfDarwin(): Surroundings {
  const answer = (program: string, ...args: string[]) =>
    unlessMissing(() => execFileSync(program, args, { encoding: "utf8" }).trim());
  const platform = answer("ioreg", "-rd1", "-c", "IOPlatformExpertDevice") ?? "";
  return omitUndefined({
    boot: answer("sysctl", "-n", "kern.bootsessionuuid") ?? "",
    machine: /"IOPlatformUUID" = "([^"]+)"/.exec(platform)?.[1],
  });
}

function unlessMissing<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
