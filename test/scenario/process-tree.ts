import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import {
  identify,
  type ProcessIdentity,
  sameProcess,
} from "../../src/engine/locks/process-identity.js";
import { until } from "./until.js";

interface Process {
  readonly pid: number;
  readonly parent: number;
  /** One letter; Z has ended and waits for its parent to notice. */
  readonly state: string;
}

/** The processes under one, itself excluded, parents before children. */
export function descendantsOf(pid: number): number[] {
  return descendantsAmong(allProcesses(), pid);
}

function descendantsAmong(processes: readonly Process[], pid: number): number[] {
  const found: number[] = [];
  for (let queue = [pid]; queue.length > 0;) {
    queue = processes.filter(({ parent }) => queue.includes(parent)).map((one) => one.pid);
    found.push(...queue);
  }
  return found;
}

/** Processes beyond doubt: the pid of one that has ended is soon another's, which is none of them. */
export class SeenProcesses {
  private readonly seen = new Map<number, ProcessIdentity>();

  constructor(private readonly identityOf = identify) {}

  note(pids: readonly number[]): void {
    for (const pid of pids) {
      const identity = this.identityOf(pid);
      if (identity !== undefined) this.seen.set(pid, identity);
    }
  }

  /** The pids of those that have not ended. */
  get living(): number[] {
    const living = [...this.seen].filter(([pid, one]) => sameProcess(one, this.identityOf(pid)));
    return living.map(([pid]) => pid);
  }
}

export function isAlive(pid: number): boolean {
  const found = allProcesses().find((one) => one.pid === pid);
  return found !== undefined && found.state !== "Z";
}

/** SIGKILL to each; one that has ended already is no error. */
export function killAll(pids: readonly number[]): void {
  signalAll(pids, "SIGKILL");
}

/** A signal to each; one that has ended already is no error. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/**
 * Stops processes and all under them by SIGSTOP, and returns them: what stands still starts nothing more, so that none is
 * missed by whoever kills them one by one.
 */
export async function stopTrees(roots: readonly number[]): Promise<readonly number[]> {
  let last = "";
  return until("the processes stand still", () => {
    const processes = allProcesses();
    const pids = new Set([...roots, ...roots.flatMap((pid) => descendantsAmong(processes, pid))]);
    const tree = processes.filter(({ pid, state }) => pids.has(pid) && state !== "Z");
    signalAll(
      tree.map(({ pid }) => pid),
      "SIGSTOP",
    );
    // The list takes time: only one that is read after all of them stood still has all of them.
    const before = last;
    last = tree.map(({ pid, state }) => `${pid} ${standing.has(state)}`).join();
    return last === before && tree.every(({ state }) => standing.has(state)) && [...pids];
  });
}

/** T has been stopped; D waits in the kernel, as the parent of a child that was stopped before it became its program. */
const standing: ReadonlySet<string> = new Set(["T", "D"]);

function allProcesses(): Process[] {
  return existsSync("/proc/self/stat") ? fromProc() : fromPs();
}

function fromProc(): Process[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const [state = "", parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
        return [{ pid: Number(name), parent: Number(parent), state }];
      } catch {
        return []; // It ended in between.
      }
    });
}

function fromPs(): Process[] {
  const listed = execFileSync("ps", ["-A", "-o", "pid=,ppid=,stat="], { encoding: "utf8" });
  return listed
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .map(([pid, parent, state = ""]) => ({
      pid: Number(pid),
      parent: Number(parent),
      state: state.slice(0, 1),
    }));
}
