import { lstatSync, readdirSync, readFileSync, rmdirSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
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

type LockedWorkspace = Pick<
  Workspace,
  "backendUrl" | "isShared" | "objects" | "projectName" | "stackName"
>;

/** An object in which Pulumi keeps a lock. */
interface LockObject {
  /** For people: a file, or a key in the backend. */
  readonly name: string;
  /** Undefined when it cannot be told who holds it. */
  readonly lock: PulumiLock | undefined;
  /** Why not. */
  readonly fault?: string;
  /** Removes this one, whoever took others since. */
  readonly remove: () => Promise<void>;
}

/** A lock, and what removes it alone; absent where only Pulumi can. */
export interface HeldLock {
  readonly lock: PulumiLock;
  readonly remove?: () => Promise<void>;
}

/** What `heldLocks` finds, without the means to remove it. Throws what that does. */
export async function readPulumiLocks(
  workspace: LockedWorkspace,
  stack: string,
): Promise<PulumiLock[] | undefined> {
  return (await heldLocks(workspace, stack))?.map(({ lock }) => lock);
}

/**
 * The locks on a stack. Undefined for backends that only Pulumi can read: there an engine has to be asked. Throws BAD_STATE
 * for a lock that cannot be read: somebody may hold it. One that was cut off in
 * writing nobody holds, since Pulumi works only once its lock is written as a whole
 * (docs/state.md#a-lock-that-cannot-be-read). On a backend of one machine that is proof enough; on a shared
 * one the disk that has lost the rest may be another machine's.
 */
export async function heldLocks(
  workspace: LockedWorkspace,
  stack: string,
): Promise<HeldLock[] | undefined> {
  const objects = await lockObjects(workspace, stack);
  return objects?.map(({ name, lock, fault = "", remove }) => {
    if (lock === undefined) throw unreadable(stack, name, fault);
    return { lock, remove };
  });
}

/** Whether Pulumi's locks can be read past Pulumi: where they cannot, `pulumi cancel` alone removes them. */
export function locksAreReadable({
  backendUrl,
  objects,
}: Pick<Workspace, "backendUrl" | "objects">): boolean {
  return fileBackendRoot(backendUrl) !== undefined || objects !== undefined;
}

/** The objects of the locks on a stack, whether or not they can be read; undefined where `heldLocks` answers that. */
export async function lockObjects(
  workspace: LockedWorkspace,
  stack: string,
): Promise<LockObject[] | undefined> {
  const { backendUrl, isShared, objects } = workspace;
  const folder = lockFolder(workspace, stack);
  if (fileBackendRoot(backendUrl) !== undefined) return lockFiles(folder, stack, isShared);
  if (objects === undefined) return undefined;
  const names = (await objects.list(folder)).filter((name) => name.endsWith(".json"));
  const found = names.map(async (name): Promise<LockObject[]> => {
    const text = await objects.read(name);
    if (text === undefined) return [];
    return [
      { name: basename(name), ...lockOrFault(text, isShared), remove: () => objects.remove(name) },
    ];
  });
  return (await Promise.all(found)).flat();
}

function lockFiles(folder: string, stack: string, isShared: boolean): LockObject[] {
  const names = namesIn(folder, stack).filter((name) => name.endsWith(".json"));
  return names.flatMap((base): LockObject[] => {
    const name = join(folder, base);
    const remove = () => Promise.resolve(removeEntry(name));
    try {
      return [{ name, ...lockOrFault(readFileSync(name, "utf8"), isShared), remove }];
    } catch (error) {
      if (isGone(error)) return [];
      return [{ name, lock: undefined, fault: messageOf(error), remove }];
    }
  });
}

/** A folder in the place of a lock goes only when it is empty: whatever is in it is not Pulumi's. */
function removeEntry(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true) rmdirSync(path);
  else rmSync(path, { force: true });
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
  if (fileBackendRoot(workspace.backendUrl) === undefined) return;
  const folder = lockFolder(workspace, stack);
  for (const name of namesIn(folder, stack).filter((one) => one.endsWith(".tmp"))) {
    const file = join(folder, name);
    const writtenMs = ifThere(stack, file, () => statSync(file).mtimeMs);
    if (writtenMs !== undefined && nowMs - writtenMs > writingMs) rmSync(file, { force: true });
  }
}

/** A folder where there are folders, otherwise what keys begin with. */
function lockFolder(workspace: LockedWorkspace, stack: string): string {
  const place = [workspace.projectName, workspace.stackName(stack)];
  const root = fileBackendRoot(workspace.backendUrl) ?? "";
  return join(root, ".pulumi", "locks", "organization", ...place);
}

function namesIn(folder: string, stack: string): string[] {
  return ifThere(stack, folder, () => readdirSync(folder)) ?? [];
}

function lockOrFault(text: string, isShared: boolean): Pick<LockObject, "lock" | "fault"> {
  try {
    return { lock: !isShared && isCutOff(text) ? neverHeld : holderIn(text) };
  } catch (error) {
    return { lock: undefined, fault: messageOf(error) };
  }
}

const neverHeld: PulumiLock = { pid: 0, user: "", host: "", since: "", wasNeverHeld: true };

/**
 * The locks that an engine said it was refused by; none when it said nothing of them. The one place
 * where Pulumi's words are read, since for buckets it offers nothing else.
 * Source: https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/lock.go, checkForLock.
 */
export function locksToldOf(text: string): PulumiLock[] {
  const told = /: created by (\S+)@([^\s@]+) \(pid (\d+)\) at (\S+)/g;
  return [...text.matchAll(told)].map(([, user = "", host = "", pid = "0", since = ""]) => ({
    pid: Number(pid),
    user,
    host,
    since,
  }));
}

/** What an engine prints of a lock that it found half written, or gone between listing and reading. */
const passingLocks = [
  /^error: unexpected end of JSON input$/m,
  // What reading one has thrown is taken apart: the cause, and the kind of error that it is.
  /^error: 2 errors occurred:\n\s*1\) .*\n\s*2\) NotFound$/m,
  // PostgreSQL's listing asks for each key by itself.
  /^error: could not list bucket: .*\(code=NotFound\)/m,
];

/**
 * Whether that is what an engine has failed of. It has done nothing then, if it has not asked for anything before.
 * Source: https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/backend/diy/lock.go, checkForLock; it passes on what its reading of a lock has thrown.
 */
export function metUnfinishedLock(text: string): boolean {
  return passingLocks.some((pattern) => pattern.test(text));
}

/** Undefined for what is not there any more: a lock goes when it is released. */
function ifThere<T>(stack: string, path: string, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isGone(error)) return undefined;
    throw unreadable(stack, path, messageOf(error));
  }
}

function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === "ENOENT";
}

function unreadable(stack: string, name: string, fault: string): CapstanError {
  return new CapstanError({
    code: "BAD_STATE",
    source: "engine",
    subject: stack,
    message: `cannot tell who has locked ${stack}: ${name}: ${fault}`,
    hint: `if no Pulumi works on that stack, on any machine, run capstan unlock ${stack}`,
  });
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

/** "ann@laptop (pid 7, a Pulumi engine, since ...)". */
export function holderText({ user, host, pid, since }: PulumiLock): string {
  return `${user}@${host} (pid ${pid}, a Pulumi engine, since ${since})`;
}
