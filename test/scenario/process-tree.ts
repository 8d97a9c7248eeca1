import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";

interface Process {
  readonly pid: number;
  readonly parent: number;
  /** One letter; Z has ended and waits for its parent to notice. */
  readonly state: string;
}

/** The processes under one, itself excluded, parents before children. */
export function descendantsOf(pid: number): number[] {
  const processes = allProcesses();
  const found: number[] = [];
  for (let queue = [pid]; queue.length > 0;) {
    queue = processes.filter(({ parent }) => queue.includes(parent)).map((one) => one.pid);
    found.push(...queue);
  }
  return found;
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
