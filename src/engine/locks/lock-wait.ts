import { sameJson, type Json } from "../../api/json.js";
import type { Clock } from "../../provider/port.js";
import type { PulumiLock } from "./pulumi-locks.js";
import type { StackState } from "../backend/state.js";

/** How long a pass waits for somebody else's Pulumi to end, which keeps it from beginning. */
export const lockPatienceMs = 60_000;

/** How long a command that begins waits: nothing is lost when it is refused. */
export const beginPatienceMs = 5_000;

/** A plain `pulumi up` is refused within a second or two; between two of them there is not much time. */
export const pollMs = 50;

/** How often an engine is asked about locks that only an engine sees. */
const probeMs = 1_000;

/** What there is to know about the locks of one stack. */
export interface LockObservation {
  readonly clock: Clock;
  readonly stop: AbortSignal | undefined;
  /** The locks on the stack now; undefined where only an engine can tell. */
  readonly read: () => Promise<readonly PulumiLock[] | undefined>;
  readonly haveEnded: (locks: readonly PulumiLock[]) => Promise<boolean>;
}

/**
 * Waits until nobody holds a lock any more. Answers "gone", also where only another try can tell; "dead"
 * when whoever is left has ended without giving it back; "held" once the time is over. Throws the reason of the
 * stop when that comes first.
 */
export async function untilUnlocked(
  { clock, stop, read, haveEnded }: LockObservation,
  giveUpAtMs: number,
): Promise<"gone" | "dead" | "held"> {
  for (;;) {
    const locks = await read();
    if (locks?.length === 0) return "gone";
    if (locks !== undefined && (await haveEnded(locks))) return "dead";
    if (clock.now() > giveUpAtMs) return "held";
    await clock.sleep(locks === undefined ? probeMs : pollMs, stop);
    if (locks === undefined) return "gone";
  }
}

/**
 * Whether two readings of a stack hold the same records. An engine that was refused may write the state
 * again as it was; only its time is another one then. Pure.
 */
export function sameRecords(before: StackState, now: StackState): boolean {
  if (before.writtenAt === now.writtenAt) return true;
  const recordsOf = ({ resources, pending, foreign }: StackState) =>
    ({ resources, pending, foreign }) as unknown as Json;
  return sameJson(recordsOf(before), recordsOf(now));
}
