import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/**
 * Processes of this machine that run one of these programs, named without their folders, and name a path. A folder with a random
 * name is told to nobody else's; a person's editor or `tail` is no such program.
 */
export function processesNaming(path: string, programs: ReadonlySet<string>): number[] {
  return [...commandLines()]
    .filter(([, words]) => programs.has(basename(words[0] ?? "")))
    .filter(([pid, words]) => pid !== process.pid && words.some((word) => word.includes(path)))
    .map(([pid]) => pid);
}

/** At once. */
export function endProcesses(pids: readonly number[]): void {
  for (const pid of pids) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has ended by itself in between.
    }
  }
}

function* commandLines(): Iterable<[pid: number, words: readonly string[]]> {
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
