import type { DatabaseSync } from "node:sqlite";
import type { Json } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { toldAsStorage } from "../../api/storage-failure.js";
import { isLeaseTerm, isOver, type LeaseTerm } from "./lease-term.js";
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
  /** Of whoever led when it began. */
  readonly term?: LeaseTerm;
}

/** What there is to note of a process that will be an engine; undefined when it has ended already. */
export function engineOf(pid: number, term: LeaseTerm | undefined): NotedEngine | undefined {
  const [identity, startedMs] = [identify(pid), startTimeMs(pid)];
  if (identity === undefined || startedMs === undefined) return undefined;
  return omitUndefined({ identity, sinceMs: Math.floor(startedMs), term });
}

/** How many are told: a lock is looked at by the next command that works on its stack. */
const keptEngines = 1_000;

/**
 * Notes an engine that has begun. Throws NO_SPACE, LOCKED or NOT_WRITABLE when it cannot be written: of one that nobody
 * knows, nobody will ever know that it is dead.
 */
export function noteEngine(stateDir: string, { identity, sinceMs, term }: NotedEngine): void {
  const database = openLocks(stateDir);
  try {
    const { lastInsertRowid } = database
      .prepare("INSERT INTO engines (pid, host, since_ms, identity) VALUES (?, ?, ?, ?)")
      .run(identity.pid, identity.host, sinceMs, JSON.stringify({ ...identity, term }));
    database
      .prepare("DELETE FROM engines WHERE number <= ?")
      .run(Number(lastInsertRowid) - keptEngines);
  } catch (error) {
    throw toldAsStorage(error, lockFile(stateDir));
  } finally {
    database.close();
  }
}

/** Notes an engine that runs already. Throws what `noteEngine` does. */
export function noteRunning(stateDir: string, pid: number): void {
  const engine = engineOf(pid, undefined);
  if (engine !== undefined) noteEngine(stateDir, engine);
}

/** The engines of a state folder that may have taken a lock, by pid and name of a machine. */
export function enginesNotedHere(stateDir: string, lock: PulumiLock): NotedEngine[] {
  const database = openLocks(stateDir);
  try {
    return enginesOf(database, lock);
  } finally {
    database.close();
  }
}

/** How whoever leads now sees an engine: one of an earlier term has ended, on whatever machine it was. */
export function livenessIn(term: LeaseTerm | undefined): (engine: NotedEngine) => Liveness {
  return (engine) => {
    const liveness = livenessOf(engine.identity);
    return liveness === "unknown" && isOver(engine.term, term) ? "dead" : liveness;
  };
}

/** How soon an engine has its lock, and how exact its start is known, milliseconds. */
const lockedWithinMs = 120_000;
const toleranceMs = 1_000;

/**
 * Whether the engine that took a lock lives: one of those that were noted with its pid and name of a machine, and that had just
 * begun. Of any other nothing is known. Pure.
 */
export function holderLiveness(
  { pid, host, since, wasNeverHeld }: PulumiLock,
  engines: readonly NotedEngine[],
  liveness: (engine: NotedEngine) => Liveness,
): Liveness {
  if (wasNeverHeld === true) return "dead";
  const lockedMs = Date.parse(since);
  const mayHold = engines.filter(
    ({ identity, sinceMs }) =>
      identity.pid === pid &&
      identity.host === host &&
      lockedMs >= sinceMs - toleranceMs &&
      lockedMs <= sinceMs + lockedWithinMs,
  );
  const found = mayHold.map(liveness);
  if (found.includes("alive")) return "alive";
  return found.length > 0 && found.every((one) => one === "dead") ? "dead" : "unknown";
}

function enginesOf(database: DatabaseSync, { pid, host }: PulumiLock): NotedEngine[] {
  return database
    .prepare("SELECT since_ms, identity FROM engines WHERE pid = ? AND host = ?")
    .all(pid, host)
    .flatMap((row): NotedEngine[] => {
      const told = JSON.parse(String(row["identity"])) as Json;
      return notedIn(told, Number(row["since_ms"]));
    });
}

/** What JSON tells of an engine; none where it tells nothing that can be judged. */
export function notedIn(told: Json, sinceMs: number): NotedEngine[] {
  if (!isIdentity(told)) return [];
  const { term, ...identity } = told as ProcessIdentity & { term?: Json };
  return [omitUndefined({ identity, sinceMs, term: isLeaseTerm(term) ? term : undefined })];
}
