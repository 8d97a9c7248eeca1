import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import type { DatabaseSync } from "node:sqlite";
import { CapstanError } from "../../api/error.js";
import { isJsonObject, parsedJson } from "../../api/json.js";
import { storageFailureOf, toldAsStorage } from "../../api/storage-failure.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import type { Clock } from "../../provider/port.js";
import { isOver, type LeaseTerm } from "./lease-term.js";
import { addHolder, damagedLocks, lockFile, openLocks, swapHolder } from "./locks-file.js";
import {
  identify,
  isIdentity,
  livenessOf,
  type ProcessIdentity,
  signalGroup,
} from "./process-identity.js";
import { folderWriters } from "./folder-writers.js";

/** Who works on a stack. */
export interface LockHolder {
  readonly command: string;
  readonly user: string;
  readonly since: string;
  readonly process: ProcessIdentity;
  /** The engine that it runs at the moment: a dead command is not a dead engine. */
  readonly engine?: ProcessIdentity;
  /** Of whoever leads others. */
  readonly term?: LeaseTerm;
  /** A person has said that it has ended: whoever comes next goes on as after any dead one. */
  readonly givenUp?: true;
}

/** This process as a holder from now on, milliseconds since the epoch. */
export function ownHolder(command: string, nowMs: number): LockHolder {
  const own = identify(process.pid);
  if (own === undefined) throw new Error("a running process has an identity");
  const since = new Date(nowMs).toISOString();
  return { command, user: userInfo().username, since, process: own };
}

interface LockRequest {
  readonly stateDir: string;
  readonly stack: string;
  /** Shown to whoever finds the lock. */
  readonly command: string;
  readonly clock: Clock;
  /** See EngineOptions.term. */
  readonly term?: LeaseTerm | undefined;
}

/**
 * One command per stack and state folder. Held over all passes of a transaction, while Pulumi's own
 * lock covers one pass only. Kept in SQLite, so that of two who find a dead holder one wins.
 */
export class StackLock {
  private constructor(
    private readonly database: DatabaseSync,
    private readonly place: LockPlace,
    private holder: LockHolder,
    /** It was somebody's who is dead. */
    readonly wasTakenOver: boolean,
  ) {}

  /**
   * Takes the lock; that of a holder that is provably dead, or led in an earlier term, is taken over, its engine killed first.
   * Throws LOCKED naming the holder, BAD_STATE when the lock file is damaged, and NO_SPACE, LOCKED or
   * NOT_WRITABLE when it cannot be used.
   */
  static async acquire(request: LockRequest): Promise<StackLock> {
    const { stateDir, stack, command, clock, term } = request;
    const database = openLocks(stateDir);
    const holder: LockHolder = omitUndefined({ ...ownHolder(command, clock.now()), term });
    const text = JSON.stringify(holder);
    try {
      releaseOwed(database, request);
      const isFree = addHolder(database, stack, text);
      if (!isFree) await takeOver(database, request, text);
      return new StackLock(database, request, holder, !isFree);
    } catch (error) {
      database.close();
      throw toldAsStorage(error, lockFile(stateDir));
    }
  }

  /**
   * Records the engine that now works under the lock, or that none does. Throws when it cannot be written:
   * an engine that nobody could end after us must not run. What is recorded of one that has ended harms nobody.
   */
  setEngine(pid: number | undefined): void {
    const { engine: _ended, ...rest } = this.holder;
    const engine = pid === undefined ? undefined : identify(pid);
    const next = engine === undefined ? rest : { ...rest, engine };
    this.swap(next);
    this.holder = next;
  }

  /**
   * Says who holds a stack's lock, as LOCKED would; undefined when nobody does who may be alive. Takes
   * nothing, so that it holds for this moment only.
   */
  static holderOf(stateDir: string, stack: string): string | undefined {
    if (!existsSync(lockFile(stateDir))) return undefined;
    const database = openLocks(stateDir);
    try {
      const holder = recordedHolder(database, { stack, stateDir })?.holder;
      if (holder === undefined || isOwed({ stack, stateDir }, holder)) return undefined;
      const processes = [holder.process, ...(holder.engine === undefined ? [] : [holder.engine])];
      const writers = folderWriters(stateDir);
      if (holder.givenUp === true || processes.every((one) => livenessOf(one, writers) === "dead"))
        return undefined;
      return lockedText(holder);
    } finally {
      database.close();
    }
  }

  /**
   * Lets the next command in, and tells it where what was asked for may still happen (`isUnsettled`). Never throws, so that
   * it hides no error of the work that ends: where the record cannot be removed now, this process does it when it asks for
   * that lock again, and any other one takes it over once this one has ended.
   */
  release(isUnsettled = false): void {
    const text = JSON.stringify(this.holder);
    const { stack } = this.place;
    try {
      const to = JSON.stringify({ ...this.holder, givenUp: true });
      if (isUnsettled) swapHolder(this.database, stack, { from: text, to });
      else removeHolder(this.database, stack, text);
    } catch (error) {
      if (storageFailureOf(error) === undefined) throw error;
      owed.set(owedKey(this.place), text);
    } finally {
      this.database.close();
    }
  }

  private swap(next: LockHolder): void {
    const { stack, stateDir } = this.place;
    try {
      const change = { from: JSON.stringify(this.holder), to: JSON.stringify(next) };
      if (!swapHolder(this.database, stack, change)) throw lockedBy(stack, undefined);
    } catch (error) {
      throw toldAsStorage(error, lockFile(stateDir));
    }
  }
}

/** Records of this process that could not be removed when their locks were released. */
const owed = new Map<string, string>();

function owedKey({ stack, stateDir }: LockPlace): string {
  return JSON.stringify([stateDir, stack]);
}

function isOwed(place: LockPlace, holder: LockHolder): boolean {
  return owed.get(owedKey(place)) === JSON.stringify(holder);
}

function releaseOwed(database: DatabaseSync, place: LockPlace): void {
  const text = owed.get(owedKey(place));
  if (text === undefined) return;
  removeHolder(database, place.stack, text);
  owed.delete(owedKey(place));
}

function removeHolder(database: DatabaseSync, stack: string, text: string): void {
  database.prepare("DELETE FROM locks WHERE stack = ? AND holder = ?").run(stack, text);
}

/** Which lock, and where it is kept. */
interface LockPlace {
  readonly stack: string;
  readonly stateDir: string;
}

/** Who holds a lock, with the text that says so; undefined when nobody does. Throws BAD_STATE. */
export function recordedHolder(
  database: DatabaseSync,
  { stack, stateDir }: LockPlace,
): { readonly text: string; readonly holder: LockHolder } | undefined {
  const text = recordedText(database, stack);
  if (text === undefined) return undefined;
  const holder = parsedJson(text);
  if (isLockHolder(holder)) return { text, holder };
  throw damagedLocks(
    lockFile(stateDir),
    `cannot tell who has locked ${stack}: ${lockFile(stateDir)} names no holder`,
    `if nobody works on that stack, on any machine, run capstan unlock ${stack}`,
  );
}

/** What is recorded of who holds a lock, whether or not it can be read. */
export function recordedText(database: DatabaseSync, stack: string): string | undefined {
  const row = database.prepare("SELECT holder FROM locks WHERE stack = ?").get(stack);
  return row === undefined ? undefined : String(row["holder"]);
}

function isLockHolder(value: unknown): value is LockHolder {
  if (!isJsonObject(value)) return false;
  const { process: command, engine } = value;
  return isIdentity(command) && (engine === undefined || isIdentity(engine));
}

async function takeOver(
  database: DatabaseSync,
  { stack, stateDir, clock, term }: LockRequest,
  text: string,
): Promise<void> {
  const found = recordedHolder(database, { stack, stateDir });
  if (found !== undefined) {
    const { holder } = found;
    // Whoever led once makes no calls any more, alive or frozen: each of them asks for the lease first.
    const isPast = holder.givenUp === true || isOver(holder.term, term);
    const liveness = isPast ? "dead" : livenessOf(holder.process, folderWriters(stateDir));
    if (liveness === "alive") throw lockedBy(stack, holder);
    if (liveness === "unknown") throw lockedFarAway(stack, holder);
    await endEngine(stack, holder, clock);
  }
  const isTaken =
    found === undefined
      ? addHolder(database, stack, text)
      : swapHolder(database, stack, { from: found.text, to: text });
  if (!isTaken) throw lockedBy(stack, undefined);
}

/** The engine of a dead command runs in a process group of its own: end all of it, and see it ended. */
export async function endEngine(stack: string, holder: LockHolder, clock: Clock): Promise<void> {
  const { engine } = holder;
  if (engine === undefined || livenessOf(engine) !== "alive") return;
  signalGroup(engine.pid, "SIGKILL");
  const deadline = clock.now() + 10_000;
  while (livenessOf(engine) === "alive") {
    if (clock.now() > deadline) throw lockedBy(stack, holder);
    await clock.sleep(20);
  }
}

function lockedText(holder: LockHolder | undefined): string {
  return `it is locked by ${holder === undefined ? "another command" : commandText(holder)}`;
}

/** "ann@laptop (pid 7, "capstan up", since ...)". */
export function commandText({ user, process: found, command, since }: LockHolder): string {
  return `${user}@${found.host} (pid ${found.pid}, "${command}", since ${since})`;
}

/** LOCKED by a holder, or by whoever was quicker. */
export function lockedBy(
  stack: string,
  holder: LockHolder | undefined,
  hint = "wait until that command has ended, or interrupt it",
): CapstanError {
  return new CapstanError({
    code: "LOCKED",
    source: "user",
    subject: stack,
    message: `cannot change ${stack}: ${lockedText(holder)}`,
    hint,
    retryable: true,
  });
}

/** Only a person can know that a machine or a container is gone. */
function lockedFarAway(stack: string, holder: LockHolder): CapstanError {
  const hint = `wait until that command has ended; if its machine or container is gone for good, run capstan unlock ${stack}`;
  return lockedBy(stack, holder, hint);
}
