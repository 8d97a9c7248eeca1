import { type DriftMemory, noMemory } from "../drift/judge.js";
import type { ClusterView } from "../source/cluster-view.js";

/** What was asked for and could not be had, so that it is not tried at once again. */
export interface Held {
  /** Of the intent that failed. */
  readonly digest: string;
  readonly failures: number;
  readonly untilMs: number;
  readonly message: string;
}

/** What the controller remembers of one cluster. All of it can be found out again: a restart forgets it. */
export interface Memory {
  /** Of the intent that the present or last work was about. */
  digest: string | undefined;
  /** Stops the work that is under way between two waves, as something else is asked for. */
  running: AbortController | undefined;
  /** The last picture of it. */
  view: ClusterView | undefined;
  /** Nothing was left to do when the cloud looked like this, and this was asked for. */
  settled: { readonly digest: string; readonly appearance: string } | undefined;
  held: Held | undefined;
  drift: DriftMemory;
  /** Fingerprint of the drift that was last told of. */
  toldDrift: string | undefined;
}

export function newMemory(): Memory {
  return {
    ...{ digest: undefined, running: undefined, view: undefined, settled: undefined },
    ...{ held: undefined, drift: noMemory, toldDrift: undefined },
  };
}

const firstHoldMs = 30_000;
const longestHoldMs = 30 * 60_000;

/** Puts off what failed: each time for twice as long, as long as the same is asked for. Pure. */
export function heldAfter(
  before: Held | undefined,
  digest: string,
  message: string,
  nowMs: number,
): Held {
  const failures = before?.digest === digest ? before.failures + 1 : 1;
  const holdMs = Math.min(firstHoldMs * 2 ** (failures - 1), longestHoldMs);
  return { digest, failures, untilMs: nowMs + holdMs, message };
}
