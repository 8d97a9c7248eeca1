import type { DatabaseSync } from "node:sqlite";
import type { Json } from "../../api/json.js";
import { toldAsStorage } from "../../api/storage-failure.js";
import { lockFile, openLocks } from "./locks-file.js";
import {
  identify,
  isIdentity,
  type Liveness,
  livenessOf,
  type ProcessIdentity,
  startTimeMs,
} from "./process-identity.js";
import type { PulumiLock } from "./pulumi-locks.js";

// Which engines a state folder's commands have started. Pulumi's locks tell a pid and a name of a machine, which
// others may have, too: of whom nobody wrote down here nothing is known.

/** An engine as it was noted when it began. */
export interface NotedEngine {
  readonly identity: ProcessIdentity;
  /** When it began, milliseconds since the epoch, by the clock of its machine. */
  readonly sinceMs: number;
}

/** How many are told: a lock is looked at by the next command that works on its stack. */
const keptEngines = 1_000;

/**
 * Notes an engine that has begun. Throws NO_SPACE, LOCKED or NOT_WRITABLE when it cannot be written: of one that nobody
 * knows, nobody will ever know that it is dead.
 */
export function noteEngine(stateDir: string, pid: number): void {
  const [identity, sinceMs] = [identify(pid), startTimeMs(pid)];
  if (identity === undefined || sinceMs === undefined) return;
  const database = openLocks(stateDir);
  try {
    const { lastInsertRowid } = database
      .prepare("INSERT INTO engines (pid, host, since_ms, identity) VALUES (?, ?, ?, ?)")
      .run(pid, identity.host, Math.floor(sinceMs), JSON.stringify(identity));
    database
      .prepare("DELETE FROM engines WHERE number <= ?")
      .run(Number(lastInsertRowid) - keptEngines);
  } catch (error) {
    throw toldAsStorage(error, lockFile(stateDir));
  } finally {
    database.close();
  }
}

/** Whether the engine that took a lock lives, as far as this state folder can tell. */
export function lockLiveness(stateDir: string, lock: PulumiLock): Liveness {
  if (lock.wasNeverHeld === true) return "dead";
  const database = openLocks(stateDir);
  try {
    return holderLiveness(lock, enginesOf(database, lock), livenessOf);
  } finally {
    database.close();
  }
}

/** How soon an engine has its lock, and how exact its start is known, milliseconds. */
const lockedWithinMs = 120_000;
const toleranceMs = 1_000;

/**
 * Whether the engine that took a lock lives: one of those that were noted with its pid and name of a machine, and that had just
 * begun. Of any other nothing is known. Pure.
 */
export function holderLiveness(
  { pid, host, since }: PulumiLock,
  engines: readonly NotedEngine[],
  liveness: (identity: ProcessIdentity) => Liveness,
): Liveness {
  const lockedMs = Date.parse(since);
  const mayHold = engines.filter(
    ({ identity, sinceMs }) =>
      identity.pid === pid &&
      identity.host === host &&
      lockedMs >= sinceMs - toleranceMs &&
      lockedMs <= sinceMs + lockedWithinMs,
  );
  const found = mayHold.map(({ identity }) => liveness(identity));
  if (found.includes("alive")) return "alive";
  return found.length > 0 && found.every((one) => one === "dead") ? "dead" : "unknown";
}

function enginesOf(database: DatabaseSync, { pid, host }: PulumiLock): NotedEngine[] {
  return database
    .prepare("SELECT since_ms, identity FROM engines WHERE pid = ? AND host = ?")
    .all(pid, host)
    .flatMap((row): NotedEngine[] => {
      const identity = JSON.parse(String(row["identity"])) as Json;
      if (!isIdentity(identity)) return [];
      return [{ identity, sinceMs: Number(row["since_ms"]) }];
    });
}
