import type { DatabaseSync } from "node:sqlite";
import type { Json } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { toldAsStorage } from "../../api/storage-failure.js";
import { isLeaseTerm, isOver, type LeaseTerm } from "./lease-term.js";
import { lockFile, openLocks } from "./locks-file.js";
import {
  identify,
  isIdentity,
  isOfHere,
  type Liveness,
  livenessOf,
  type ProcessIdentity,
  sameProcess,
  startTimeMs,
} from "./process-identity.js";
import type { PulumiLock } from "./pulumi-locks.js";
import type { FolderWriters } from "./folder-writers.js";

// Which engines a state folder's commands have started. Pulumi's locks tell a pid and a name of a machine, which
// others may have, too: of whom nobody wrote down here nothing is known.

/** An engine as it was noted when it began. */
export interface NotedEngine {
  readonly identity: ProcessIdentity;
  /** When it began, milliseconds since the epoch, by the clock of its machine. */
  readonly sinceMs: number;
  /** Of whoever led when it began. */
  readonly term?: LeaseTerm;
  /** Who makes the calls that it asks for; absent of engines that bring their own, and in notes of early releases. */
  readonly command?: ProcessIdentity;
}

/** What there is to note of a process that will be an engine; undefined when it has ended already. */
export function engineOf(pid: number, term: LeaseTerm | undefined): NotedEngine | undefined {
  const [identity, startedMs] = [identify(pid), startTimeMs(pid)];
  if (identity === undefined || startedMs === undefined) return undefined;
  return omitUndefined({ identity, sinceMs: Math.floor(startedMs), term });
}

/** One that this process begins, which makes the calls that it asks for. */
export function ownEngine(pid: number, term: LeaseTerm | undefined): NotedEngine | undefined {
  const engine = engineOf(pid, term);
  return engine && omitUndefined({ ...engine, command: identify(process.pid) });
}

/** How many are told: a lock is looked at by the next command that works on its stack. */
const keptEngines = 1_000;

/**
 * Notes an engine that has begun. Throws NO_SPACE, LOCKED or NOT_WRITABLE when it cannot be written: of one that nobody
 * knows, nobody will ever know that it is dead.
 */
export function noteEngine(
  stateDir: string,
  { identity, sinceMs, term, command }: NotedEngine,
): void {
  const database = openLocks(stateDir);
  try {
    const { lastInsertRowid } = database
      .prepare("INSERT INTO engines (pid, host, since_ms, identity) VALUES (?, ?, ?, ?)")
      .run(identity.pid, identity.host, sinceMs, JSON.stringify({ ...identity, term, command }));
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

/** What can be seen of engines from somewhere. */
export interface EngineSight {
  readonly liveness: (engine: NotedEngine) => Liveness;
  /** When whatever runs now under an engine's pid began, milliseconds since the epoch; undefined where nothing does, or elsewhere. */
  readonly presentSinceMs: (engine: NotedEngine) => number | undefined;
}

/**
 * How whoever leads now sees engines: one of an earlier term has ended, on whatever machine it was. One whose command lives has not
 * ended for anybody else: that makes the calls for it, may be frozen in one, and gives the lock back itself. `writers`: who can
 * write the backend whose locks are judged.
 */
export function sightIn(term: LeaseTerm | undefined, writers: FolderWriters): EngineSight {
  return {
    liveness: ({ identity, command, term: itsTerm }) => {
      const liveness = livenessOf(identity, writers);
      if (liveness === "alive") return "alive";
      // A command that led makes no calls any more.
      if (isOver(itsTerm, term)) return "dead";
      return liveness === "dead" && isAtWork(command) ? "alive" : liveness;
    },
    // What waits for its parent to notice its end is there no more.
    presentSinceMs: ({ identity: { pid, ...where } }) =>
      isOfHere({ pid, ...where }) && identify(pid) !== undefined ? startTimeMs(pid) : undefined,
  };
}

/** Whether another command lives that makes an engine's calls. */
function isAtWork(command: ProcessIdentity | undefined): boolean {
  if (command === undefined || sameProcess(command, identify(process.pid))) return false;
  return livenessOf(command) === "alive";
}

/** How soon an engine has its lock, and how exact its start is known, milliseconds. */
const lockedWithinMs = 120_000;
const toleranceMs = 1_000;

/**
 * Whether the engine that took a lock lives: one of those that were noted with its pid and name of a machine. Dead are only those
 * that had just begun when it was taken, and nobody who runs under that pid now may have been there by then: pids are given
 * again. Of any other nothing is known. Pure.
 */
export function holderLiveness(
  { pid, host, since, wasNeverHeld }: PulumiLock,
  engines: readonly NotedEngine[],
  { liveness, presentSinceMs }: EngineSight,
): Liveness {
  if (wasNeverHeld === true) return "dead";
  const lockedMs = Date.parse(since);
  const mayHold = engines.filter(
    ({ identity, sinceMs }) =>
      identity.pid === pid && identity.host === host && lockedMs >= sinceMs - toleranceMs,
  );
  const found = mayHold.map((engine) => ({ engine, now: liveness(engine) }));
  if (found.some(({ now }) => now === "alive")) return "alive";
  const justBegun = found.filter(({ engine }) => lockedMs <= engine.sinceMs + lockedWithinMs);
  const isProven = justBegun.length > 0 && justBegun.every(({ now }) => now === "dead");
  const mayBeThere = justBegun.some(({ engine }) => {
    const sinceMs = presentSinceMs(engine);
    return sinceMs !== undefined && sinceMs <= lockedMs + toleranceMs;
  });
  return isProven && !mayBeThere ? "dead" : "unknown";
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
  const { term, command, ...identity } = told as ProcessIdentity & { term?: Json; command?: Json };
  return [
    omitUndefined({
      identity,
      sinceMs,
      term: isLeaseTerm(term) ? term : undefined,
      command: isIdentity(command) ? command : undefined,
    }),
  ];
}
