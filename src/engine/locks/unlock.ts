import { existsSync } from "node:fs";
import { isCapstanError } from "../../api/error.js";
import type { Workspace } from "../backend/workspace.js";
import { holderLiveness, sightIn } from "./engine-roster.js";
import { commandText, lockedBy, ownHolder, recordedHolder, recordedText } from "./lock.js";
import { addHolder, lockFile, openLocks, putLocksAside, swapHolder } from "./locks-file.js";
import { enginesNoted, noteGivenUp, writersOf } from "./noted-engines.js";
import { type Liveness, livenessOf } from "./process-identity.js";
import { folderWriters } from "./folder-writers.js";
import { holderText, lockObjects } from "./pulumi-locks.js";
import { permitsOn, withdrawWork } from "./work-permit.js";

/** One lock on a stack, and what is known of whoever took it. */
export interface FoundLock {
  /** For people: who, with what, since when; or what cannot be read, and why. */
  readonly holder: string;
  readonly by: "command" | "engine";
  readonly liveness: Liveness;
  /** Removes this lock alone, and nothing that was locked since. */
  readonly remove: () => Promise<void>;
}

/** A stack, and now, milliseconds since the epoch. */
export interface Locked {
  readonly workspace: Workspace;
  readonly stack: string;
  readonly nowMs: number;
}

/** All locks on a stack but those that only Pulumi can read. Throws what a backend or a disk that cannot be read does. */
export async function foundLocks(locked: Locked): Promise<FoundLock[]> {
  return [...commandLock(locked), ...(await engineLocks(locked))];
}

/**
 * Removes locks, and the permits of the commands that worked under them: their engines write nothing any more, should they wake.
 * The next command is told that calls of theirs may still happen.
 * Throws LOCKED when somebody has locked it anew meanwhile, and what a disk or a backend that cannot be written does.
 */
export async function removeLocks(found: readonly FoundLock[], locked: Locked): Promise<void> {
  const { workspace, stack } = locked;
  await noteGivenUp(workspace, stack);
  // Before the next command can lock the stack: an engine that wakes writes nothing over what that one does.
  await withdrawWork(workspace, stack, await permitsOn(workspace, stack));
  for (const lock of found) await lock.remove();
  if (found.every(({ by }) => by === "engine")) leaveGivenUp(locked, undefined);
}

function commandLock(locked: Locked): FoundLock[] {
  const { workspace, stack } = locked;
  const { stateDir } = workspace;
  if (!existsSync(lockFile(stateDir))) return [];
  const place = { stateDir, stack: workspace.lockName(stack) };
  try {
    const database = openLocks(stateDir);
    try {
      const text = recordedText(database, place.stack);
      if (text === undefined) return [];
      const remove = () => Promise.resolve(leaveGivenUp(locked, text));
      const holder = readable(() => recordedHolder(database, place)?.holder);
      if (holder === undefined)
        return [unreadable(`whom ${lockFile(stateDir)} does not name`, remove)];
      if (holder.givenUp === true) return [];
      return [
        {
          by: "command",
          holder: commandText(holder),
          liveness: livenessOf(holder.process, folderWriters(stateDir)),
          remove,
        },
      ];
    } finally {
      database.close();
    }
  } catch (error) {
    if (!isCapstanError(error) || error.code !== "BAD_STATE") throw error;
    const remove = () => Promise.resolve(void putLocksAside(stateDir, locked.nowMs));
    return [unreadable(`whom ${lockFile(stateDir)} cannot tell: ${error.message}`, remove)];
  }
}

async function engineLocks({ workspace, stack }: Locked): Promise<FoundLock[]> {
  const objects = (await lockObjects(workspace, stack)) ?? [];
  const found = objects.map(async ({ name, lock, fault = "", remove }): Promise<FoundLock> => {
    if (lock === undefined) {
      return { ...unreadable(`whom ${name} does not name: ${fault}`, remove), by: "engine" };
    }
    const engines = await enginesNoted(workspace, stack, lock);
    const liveness = holderLiveness(lock, engines, sightIn(undefined, writersOf(workspace)));
    return { by: "engine", holder: holderText(lock), liveness, remove };
  });
  return Promise.all(found);
}

function unreadable(holder: string, remove: () => Promise<void>): FoundLock {
  return { by: "command", holder, liveness: "unknown", remove };
}

function readable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (isCapstanError(error)) return undefined;
    throw error;
  }
}

/** In the place of what was recorded, where that is still there: nobody's lock, which says that the stack is to be settled. */
function leaveGivenUp({ workspace, stack, nowMs }: Locked, text: string | undefined): void {
  const database = openLocks(workspace.stateDir);
  try {
    const name = workspace.lockName(stack);
    const to = JSON.stringify({ ...ownHolder("capstan unlock", nowMs), givenUp: true });
    if (text === undefined) addHolder(database, name, to);
    else if (!swapHolder(database, name, { from: text, to })) throw lockedBy(stack, undefined);
  } finally {
    database.close();
  }
}
