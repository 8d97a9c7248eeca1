import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/** A process and its command line. */
export type RunningProgram = readonly [pid: number, words: readonly string[]];

/** Other processes of this machine that run one of these programs, named without their folders. */
export function running(programs: ReadonlySet<string>): RunningProgram[] {
  const isOne = runsBy(programs);
  return [...commandLines()].filter((one) => one[0] !== process.pid && isOne(one));
}

/** Pure. */
export function runsBy(programs: ReadonlySet<string>): (one: RunningProgram) => boolean {
  return ([, [program = ""]]) => programs.has(basename(program));
}

/** Those among some that name a path. */
export function naming(path: string, processes: readonly RunningProgram[]): RunningProgram[] {
  return processes.filter(([, words]) => words.some((word) => word.includes(path)));
}

/**
 * Processes of this machine that run one of these programs and name a path. A folder with a random name is told to nobody else's;
 * a person's editor or `tail` is no such program.
 */
export function processesNaming(path: string, programs: ReadonlySet<string>): number[] {
  return naming(path, running(programs)).map(([pid]) => pid);
}

/** At once. */
export function endProcesses(pids: readonly number[]): void {
  signalProcesses(pids, "SIGKILL");
}

/** Answers how many were there to get it. */
export function signalProcesses(pids: readonly number[], signal: NodeJS.Signals): number {
  return pids.filter((pid) => {
    try {
      return process.kill(pid, signal);
    } catch {
      return false; // It has ended by itself in between.
    }
  }).length;
}

function* commandLines(): Iterable<RunningProgram> {
  if (process.platform === "linux") {
    for (const name of readdirSync("/proc").filter((one) => /^\d+$/.test(one))) {
      yield [Number(name), fileOf(`/proc/${name}/cmdline`).split("\0")];
    }
    return;
  }
  const listed = execFileSync("ps", ["-axww", "-o", "pid=,command="], { encoding: "utf8" });
  for (const line of listed.split("\n")) {
    const [pid, ...words] = line.trim().split(" ");
    yield [Number(pid), words];
  }
}

/** Empty once the process has ended. */
function fileOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
