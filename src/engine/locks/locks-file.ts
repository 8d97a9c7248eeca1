import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CapstanError, messageOf } from "../../api/error.js";
import { storageFailureOf, toldAsStorage } from "../../api/storage-failure.js";
import { keepPrivate } from "../../provider/private-file.js";
import { moveFile } from "../backend/durable-files.js";
import { makeStateFolder } from "../backend/state-folder.js";

// The file in which commands and engines of one state folder are told.

/** The file of a state folder's locks. */
export function lockFile(stateDir: string): string {
  return join(stateDir, "locks.db");
}

/**
 * The locks of a state folder, made where there are none yet. Throws BAD_STATE when they are damaged, and NO_SPACE,
 * LOCKED or NOT_WRITABLE when they cannot be used.
 */
export function openLocks(stateDir: string): DatabaseSync {
  const path = lockFile(stateDir);
  let database: DatabaseSync | undefined;
  try {
    makeStateFolder(stateDir);
    keepPrivate(path);
    database = new DatabaseSync(path, { timeout: 5_000 });
    // An engine that works must not be lost by a power failure that its machine alone survives.
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;");
    database.exec(
      "CREATE TABLE IF NOT EXISTS locks (stack TEXT PRIMARY KEY, holder TEXT NOT NULL);" +
        "CREATE TABLE IF NOT EXISTS engines (number INTEGER PRIMARY KEY, pid INTEGER NOT NULL, host TEXT NOT NULL, since_ms INTEGER NOT NULL, identity TEXT NOT NULL)",
    );
    return database;
  } catch (error) {
    database?.close();
    if (storageFailureOf(error) !== undefined) throw toldAsStorage(error, path);
    const hint =
      "it tells who works on which stack: when nobody does, capstan unlock STACK puts it aside";
    throw damagedLocks(path, `cannot open ${path}: ${messageOf(error)}`, hint, error);
  }
}

/** Writes down who holds a stack's lock, if nobody does; whether it did. */
export function addHolder(database: DatabaseSync, stack: string, text: string): boolean {
  const statement = "INSERT OR IGNORE INTO locks (stack, holder) VALUES (?, ?)";
  return database.prepare(statement).run(stack, text).changes > 0;
}

/** The same in the place of another one, if that still holds it; whether it did. */
export function swapHolder(
  database: DatabaseSync,
  stack: string,
  { from, to }: { readonly from: string; readonly to: string },
): boolean {
  const statement = "UPDATE locks SET holder = ? WHERE stack = ? AND holder = ?";
  return database.prepare(statement).run(to, stack, from).changes > 0;
}

/** BAD_STATE: nobody can tell who works on what. */
export function damagedLocks(
  file: string,
  message: string,
  hint: string,
  cause?: unknown,
): CapstanError {
  return new CapstanError({
    code: "BAD_STATE",
    source: "engine",
    subject: file,
    message,
    hint,
    cause,
  });
}

/** Puts a file that cannot be opened aside, with what SQLite keeps beside it; answers its new name. */
export function putLocksAside(stateDir: string, nowMs: number): string {
  const path = lockFile(stateDir);
  const aside = `${path}.damaged-${nowMs}`;
  for (const ending of ["", "-wal", "-shm"]) {
    if (existsSync(`${path}${ending}`)) moveFile(`${path}${ending}`, `${aside}${ending}`);
  }
  return aside;
}
