import { existsSync, readdirSync, readFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { identify, type ProcessIdentity, startTimeMs } from "./process-identity.js";
import { fileBackendRoot, projectName } from "./project.js";

/** A lock of Pulumi's own, as a file backend keeps it. Source: reference/pulumi.md 2.2. */
export interface PulumiLock {
  readonly pid: number;
  readonly user: string;
  readonly host: string;
  readonly since: string;
  /** The process that took it, if it still runs on this machine. */
  readonly identity?: ProcessIdentity;
}

/**
 * The locks on a stack in a file backend. Pulumi writes no start time, so a process that started
 * after its lock was taken is another one with the same pid. Other backends answer none here: there
 * an engine has to be asked.
 */
export function readPulumiLocks(backendUrl: string, stack: string): PulumiLock[] {
  const root = fileBackendRoot(backendUrl);
  if (root === undefined) return [];
  const folder = join(root, ".pulumi", "locks", "organization", projectName, stack);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => readLock(join(folder, name)));
}

/**
 * The locks that an engine said it was refused by; none when it said nothing of them. The one place
 * where Pulumi's words are read, since for buckets it offers nothing else.
 * Source: pkg/backend/diy/lock.go, checkForLock.
 */
export function locksToldOf(text: string): PulumiLock[] {
  const told = /: created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)/g;
  return [...text.matchAll(told)].map(([, user = "", host = "", pid = "0", since = ""]) =>
    withIdentity({ pid: Number(pid), user, host, since }),
  );
}

function withIdentity(lock: PulumiLock): PulumiLock {
  const identity = lock.host === hostname() ? identify(lock.pid) : undefined;
  const sameProcess = identity !== undefined && startedBefore(lock.pid, lock.since);
  return sameProcess ? { ...lock, identity } : lock;
}

function readLock(file: string): PulumiLock[] {
  try {
    const lock = JSON.parse(readFileSync(file, "utf8")) as {
      pid: number;
      username: string;
      hostname: string;
      timestamp: string;
    };
    const { pid, username: user, hostname: host, timestamp: since } = lock;
    return [withIdentity({ pid, user, host, since })];
  } catch {
    return []; // It was released in between.
  }
}

/** A process that began after the lock was taken cannot be its holder. */
function startedBefore(pid: number, timestamp: string): boolean {
  const startedMs = startTimeMs(pid);
  return startedMs === undefined || startedMs <= Date.parse(timestamp) + 1_000;
}
