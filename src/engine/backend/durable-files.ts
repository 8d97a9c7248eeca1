import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { open } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { storageFailureOf } from "../../api/storage-failure.js";

// Whatever has to be there after a power failure is written by these and nothing else: data lasts once the file is
// synced, and a name once its folder is (POSIX.1-2024, fsync). All throw what the system does.

interface FileShape {
  /** 0600 unless given. */
  readonly mode?: number;
  /** What the name of the new file ends with until it has its own. */
  readonly unfinished?: string;
}

/** Makes a folder, and those above it that are missing. */
export function makeFolder(folder: string, mode = 0o700): void {
  const path = resolve(folder);
  const first = mkdirSync(path, { recursive: true, mode });
  if (first === undefined) return;
  for (let made = path; made.length >= first.length; made = dirname(made)) syncPath(dirname(made));
}

/** Puts a file there, whole or not at all, in the place of one that is there. */
export function replaceFile(file: string, text: string, shape: FileShape = {}): void {
  const fresh = freshFile(file, text, shape);
  try {
    moveFile(fresh, file);
  } catch (error) {
    rmSync(fresh, { force: true });
    throw error;
  }
}

/** Puts a file there unless there is one; whether it did. Whoever comes second finds the first one's, complete. */
export function addFile(file: string, text: string): boolean {
  const fresh = freshFile(file, text, {});
  try {
    // A link never replaces a name.
    linkSync(fresh, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(fresh);
    // Also for whoever came second: the first one may not have come this far.
    syncPath(dirname(file));
  }
}

/** Makes a file that is not there yet, where others may see it unfinished. Throws EEXIST. */
export function makeFile(file: string, text: string, mode?: number): void {
  writeFileSync(file, text, { mode, flag: "wx", flush: true });
  syncPath(dirname(file));
}

/** Gives a file another name in its folder, in the place of one that is there. */
export function moveFile(file: string, name: string): void {
  renameSync(file, name);
  syncPath(dirname(name));
}

/** Removes a file, if it is there. */
export function removeFile(file: string): void {
  if (!existsSync(file)) return;
  rmSync(file, { force: true });
  syncPath(dirname(file));
}

/**
 * A second name of a file; a copy where the file system has no such thing, or protects files of others from it. Its data
 * lasts, whoever wrote it, and the name with the next change of its folder.
 */
export function nameTwice(file: string, name: string): void {
  try {
    linkSync(file, name);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (storageFailureOf(error) === "full" || code === "EEXIST") throw error;
    copyFileSync(file, name);
  }
  syncPath(name);
}

/** Makes last what others have written and not synced: a file, if it is there, and its names up to a folder above it. */
export async function settleFile(file: string, above: string): Promise<void> {
  for (let path = file; ; path = dirname(path)) {
    await settle(path);
    if (path === resolve(above) || path === dirname(path)) return;
  }
}

async function settle(path: string): Promise<void> {
  const handle = await open(path, "r").catch(unlessMissing);
  try {
    await handle?.sync().catch(unlessUnable);
  } finally {
    await handle?.close();
  }
}

function freshFile(file: string, text: string, { mode = 0o600, unfinished }: FileShape): string {
  const fresh = `${file}.${unfinished ?? `${process.pid}.tmp`}`;
  try {
    writeFileSync(fresh, text, { mode, flush: true });
    return fresh;
  } catch (error) {
    // What there was room for takes room that others need.
    rmSync(fresh, { force: true });
    throw error;
  }
}

function syncPath(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } catch (error) {
    unlessUnable(error);
  } finally {
    closeSync(handle);
  }
}

function unlessMissing(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
}

/** Some file systems sync no folders: what they do with names is theirs to answer for. */
function unlessUnable(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "EINVAL") throw error;
}
