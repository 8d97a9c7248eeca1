import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { CapstanError, messageOf } from "../../api/error.js";
import { isJsonObject, type Json } from "../../api/json.js";
import { isCutOff } from "../backend/checkpoint-repair.js";
import { fileBackendRoot } from "../backend/project.js";
import type { Workspace } from "../backend/workspace.js";

/** What Pulumi writes about who took one of its locks. */
interface Holder {
  readonly pid: number;
  readonly user: string;
  readonly host: string;
  readonly since: string;
}

/** A lock of Pulumi's own, as a file backend keeps it. Source: https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/lock.go */
export interface PulumiLock extends Holder {
  /** It was cut off in writing, and its writer did not begin. */
  readonly wasNeverHeld?: true;
}

type LockedWorkspace = Pick<Workspace, "backendUrl" | "isShared" | "projectName" | "stackName">;

/**
 * The locks on a stack in a file backend. Other backends answer none here: there an engine has to be
 * asked. Throws BAD_STATE for a lock that cannot be read: somebody may hold it. One that was cut off in
 * writing nobody holds, since Pulumi works only once its lock is written as a whole
 * (docs/state.md#a-lock-that-cannot-be-read). On a backend of one machine that is proof enough; on a shared
 * one the disk that has lost the rest may be another machine's.
 */
export function readPulumiLocks(workspace: LockedWorkspace, stack: string): PulumiLock[] {
  const { isShared } = workspace;
  const { folder, names } = lockFiles(workspace, stack);
  return names
    .filter((name) => name.endsWith(".json"))
    .flatMap((name) => {
      const file = join(folder, name);
      const found = ifThere(stack, file, () => lockIn(readFileSync(file, "utf8"), isShared));
      return found === undefined ? [] : [found];
    });
}

/** How long writing a lock may take. */
const writingMs = 1_000;

/**
 * Removes what became no lock: Pulumi writes a lock under another name and renames it once it is whole, and
 * refuses every run, for ever, while such a file of a killed engine lies there. Its writer, should it
 * live after all, has not begun yet and ends with an error, so nothing of anybody's work is lost.
 * Source: https://github.com/google/go-cloud/blob/master/blob/fileblob/fileblob.go, createTemp.
 */
export function removeUnfinishedLocks(
  workspace: LockedWorkspace,
  stack: string,
  nowMs: number,
): void {
  const { folder, names } = lockFiles(workspace, stack);
  for (const name of names.filter((one) => one.endsWith(".tmp"))) {
    const file = join(folder, name);
    const writtenMs = ifThere(stack, file, () => statSync(file).mtimeMs);
    if (writtenMs !== undefined && nowMs - writtenMs > writingMs) rmSync(file, { force: true });
  }
}

function lockFiles(workspace: LockedWorkspace, stack: string): { folder: string; names: string[] } {
  const root = fileBackendRoot(workspace.backendUrl);
  if (root === undefined) return { folder: "", names: [] };
  const place = [workspace.projectName, workspace.stackName(stack)];
  const folder = join(root, ".pulumi", "locks", "organization", ...place);
  return { folder, names: ifThere(stack, folder, () => readdirSync(folder)) ?? [] };
}

function lockIn(text: string, isShared: boolean): PulumiLock {
  return !isShared && isCutOff(text) ? neverHeld : holderIn(text);
}

const neverHeld: PulumiLock = { pid: 0, user: "", host: "", since: "", wasNeverHeld: true };

/**
 * The locks that an engine said it was refused by; none when it said nothing of them. The one place
 * where Pulumi's words are read, since for buckets it offers nothing else.
 * Source: https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/lock.go, checkForLock.
 */
export function locksToldOf(text: string): PulumiLock[] {
  const told = /: created by (\S+)@(\S+) \(pid (\d+)\) at (\S+)/g;
  return [...text.matchAll(told)].map(([, user = "", host = "", pid = "0", since = ""]) => ({
    pid: Number(pid),
    user,
    host,
    since,
  }));
}

/**
 * Whether an engine was refused since it found a lock half written, or gone between listing and reading.
 * It has done nothing then. Source: as above; it passes on what its reading of a lock file has thrown.
 */
export function metUnfinishedLock(text: string): boolean {
  return /^error: unexpected end of JSON input$|\.pulumi\/locks\/.*\(code=NotFound\)/m.test(text);
}

/** Undefined for what is not there any more: a lock goes when it is released. */
function ifThere<T>(stack: string, path: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new CapstanError({
      code: "BAD_STATE",
      source: "engine",
      subject: stack,
      message: `cannot tell who has locked ${stack}: ${path}: ${messageOf(error)}`,
      hint: `if no Pulumi works on that stack, on any machine, remove it: rm -r '${path}'`,
      cause: error,
    });
  }
}

function holderIn(text: string): Holder {
  const lock = JSON.parse(text) as Json;
  const { pid, username: user, hostname: host, timestamp: since } = isJsonObject(lock) ? lock : {};
  if (typeof pid === "number" && isText(user) && isText(host) && isText(since)) {
    return { pid, user, host, since };
  }
  throw new Error("it names no holder");
}

function isText(value: Json | undefined): value is string {
  return typeof value === "string";
}
