import { DatabaseSync } from "node:sqlite";

/**
 * Holds a folder for this process alone, until it ends however it ends: the lock is the kernel's. False where another one
 * holds it.
 */
export function holdAlone(lockPath: string): boolean {
  const database = new DatabaseSync(lockPath, { timeout: 0 });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT;");
    held.push(database);
    return true;
  } catch {
    database.close();
    return false;
  }
}

/** Whether a process, of whatever user or container of this machine, holds a folder by `holdAlone`. */
export function isHeldAlone(lockPath: string): boolean {
  const database = new DatabaseSync(lockPath, { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE; COMMIT;");
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}

/** Never closed: a lock goes with what holds it. */
const held: DatabaseSync[] = [];
