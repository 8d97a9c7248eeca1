import { execFileSync } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { omitUndefined } from "../../api/omit-undefined.js";

/**
 * A process beyond doubt: pids are used again, start times are not, and neither means anything after
 * a reboot. Architecture rule 5.7.
 */
export interface ProcessIdentity {
  readonly host: string;
  readonly boot: string;
  readonly pid: number;
  /**
   * In which `pid` counts. Two containers may share host name and boot, and then their pids mean
   * different processes. Not in identities of older releases, nor where there are none.
   */
  readonly pidNamespace?: string;
  /** Opaque; equal for the same process only. */
  readonly started: string;
}

/** The identity of a running process of this machine, or undefined when there is none. */
export function identify(pid: number): ProcessIdentity | undefined {
  const started = startOf(pid);
  if (started === undefined) return undefined;
  const pidNamespace = ownPidNamespace();
  return omitUndefined({ host: hostname(), boot: bootId(), pid, started, pidNamespace });
}

export type Liveness = "alive" | "dead" | "unknown";

/** Whether that very process lives. Of another machine or container nothing is known. */
export function livenessOf(identity: ProcessIdentity): Liveness {
  if (identity.host !== hostname()) return "unknown";
  if (identity.boot !== bootId()) return "dead";
  const { pidNamespace } = identity;
  if (pidNamespace !== undefined && pidNamespace !== ownPidNamespace()) return "unknown";
  return startOf(identity.pid) === identity.started ? "alive" : "dead";
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

/** How soon after an engine's death the processes that it started have noticed it, milliseconds. */
export const deathNoticeMs = 200;

/** Linux counts process times in hundredths of a second (USER_HZ), whatever the kernel's own tick. */
const ticksPerSecond = 100;

/** What can be seen of a running process without knowing its identity. */
export interface SeenProcess {
  /** The name of its program; undefined if unknown. */
  readonly program?: string;
  /** Milliseconds since the epoch, to about a second, by the clock as it is set now; undefined if unknown. */
  readonly startedAtMs?: number;
}

/** The process of this machine that has the pid, or undefined when none has. */
export function processAt(pid: number): SeenProcess | undefined {
  if (startOf(pid) === undefined) return undefined;
  const [program, startedAtMs] = [programOf(pid), startTimeMs(pid)];
  return omitUndefined({ program, startedAtMs });
}

function startTimeMs(pid: number): number | undefined {
  try {
    const boot = /^btime (\d+)$/m.exec(readFileSync("/proc/stat", "utf8"))?.[1];
    const ticks = statOf(pid)?.[19];
    if (boot === undefined || ticks === undefined) return undefined;
    return (Number(boot) + Number(ticks) / ticksPerSecond) * 1_000;
  } catch {
    return undefined;
  }
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

function ownPidNamespace(): string | undefined {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return undefined;
  }
}

function bootId(): string {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
  } catch {
    return "";
  }
}
