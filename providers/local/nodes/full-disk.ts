import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { CapstanError, messageOf } from "../../../src/api/error.js";

// A program that finds its disk full, on a host that has no disk of its own: the kernel's limit of the size of files, which a user
// may lower and lift for own processes. A write fails then, with EFBIG; programs in Go go on and see that, as they would ENOSPC. Only
// the soft limit is lowered: nobody without root could lift the hard one again.

const lowered = "--fsize=0:";

/** What a command line begins with whose program finds its disk full from its start on. */
export const startsFull = ["prlimit", lowered] as const;

/** Throws TOOLCHAIN where this machine cannot let a program find its disk full. */
export function requireLimits(): void {
  try {
    execFileSync(startsFull[0], ["--version"], { stdio: "ignore" });
  } catch (cause) {
    throw new CapstanError({
      code: "TOOLCHAIN",
      source: "user",
      message: `cannot let a program find its disk full: there is no ${startsFull[0]} on PATH`,
      hint: "it is in util-linux, for Linux only; other faults of programs need nothing",
      cause,
    });
  }
}

/** From now on their writes fail. Answers how many were there. */
export function takeRoom(pids: readonly number[]): number {
  return pids.filter((pid) => limit(pid, ({ soft }) => (soft === "0" ? undefined : lowered)))
    .length;
}

/** From now on they may write again, as much as they ever might. Answers how many were there. */
export function giveRoom(pids: readonly number[]): number {
  return pids.filter((pid) =>
    limit(pid, ({ soft, hard }) => (soft === "0" ? `--fsize=${hard}:` : undefined)),
  ).length;
}

interface SizeLimit {
  readonly soft: string;
  readonly hard: string;
}

/** Sets what is to be set where it is there: whether it is. Throws CLOUD_FAILED for one that is not this user's. */
function limit(pid: number, option: (now: SizeLimit) => string | undefined): boolean {
  const now = limitOf(pid);
  if (now === undefined) return false;
  const set = option(now);
  if (set === undefined) return true;
  try {
    execFileSync(startsFull[0], ["--pid", String(pid), set], { stdio: "pipe", encoding: "utf8" });
    return true;
  } catch (cause) {
    if (!existsSync(`/proc/${pid}`)) return false; // It has ended in between.
    throw new CapstanError({
      code: "CLOUD_FAILED",
      source: "cloud",
      message: `cannot limit the files of process ${pid}: ${messageOf(cause).trim()}`,
      cause,
    });
  }
}

/** "0" or "unlimited", or bytes; undefined once the process has ended. */
function limitOf(pid: number): SizeLimit | undefined {
  try {
    const limits = readFileSync(`/proc/${pid}/limits`, "utf8");
    const [, soft, hard] = /^Max file size +(\S+) +(\S+)/m.exec(limits) ?? [];
    return soft === undefined || hard === undefined ? undefined : { soft, hard };
  } catch {
    return undefined;
  }
}
