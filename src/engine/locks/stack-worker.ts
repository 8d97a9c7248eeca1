import { isCapstanError } from "../../api/error.js";
import { toldAsStorage } from "../../api/storage-failure.js";
import { type FoundLock, foundLocks, type Locked } from "./unlock.js";

/**
 * Which process works on a stack. An open transaction with a worker that is alive is under way; without
 * a worker it broke off. `holder` is text for people: "ann@laptop (pid 7, "capstan up", since ...)".
 */
export type StackWorker =
  | { readonly kind: "none" }
  | { readonly kind: "alive"; readonly holder: string }
  /** A lock is held, and this machine cannot see whether its holder lives. */
  | { readonly kind: "unknown"; readonly holder: string };

/** The worker of a stack, by its locks: a holder that is dead is none. Changes nothing, and fails for no lock that cannot be read. */
export async function stackWorker(locked: Locked): Promise<StackWorker> {
  try {
    return workerOf(await foundLocks(locked));
  } catch (thrown) {
    const error = toldAsStorage(thrown);
    if (!isCapstanError(error)) throw error;
    return { kind: "unknown", holder: `a process that no record names (${error.message})` };
  }
}

/** The holder that is alive counts before one that may be. Pure. */
export function workerOf(locks: readonly Pick<FoundLock, "holder" | "liveness">[]): StackWorker {
  const alive = locks.find(({ liveness }) => liveness === "alive");
  if (alive !== undefined) return { kind: "alive", holder: alive.holder };
  const unknown = locks.find(({ liveness }) => liveness === "unknown");
  return unknown === undefined ? { kind: "none" } : { kind: "unknown", holder: unknown.holder };
}
