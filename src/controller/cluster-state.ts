import { type DriftMemory, noMemory } from "../drift/judge.js";
import type { OverwriteBackoff } from "./overwrite-backoff.js";
import { type Backoff, backoffMs } from "../provider/backoff.js";
import type { ClusterView } from "../source/cluster-view.js";

/** What was asked for and could not be had, so that it is not tried at once again. */
export interface FailedAttempt {
  /** Of the intent that failed. */
  readonly digest: string;
  readonly failures: number;
  readonly untilMs: number;
  readonly message: string;
  /** Meanwhile the last revision is kept running; without, nothing is done. */
  readonly isTakenBack: boolean;
}

/** Nothing was left to do when this was asked for, and the cloud looked like this. */
export interface Settled {
  readonly digest: string;
  readonly observedDigest: string;
  /** Then something is due, although everything looks the same. */
  readonly untilMs?: number;
}

/** What the controller remembers of one cluster. All of it can be found out again: a restart forgets it. */
export interface ClusterState {
  /** Of the intent that the present or last work was about. */
  digest: string | undefined;
  /** Stops the work that is under way between two waves, as something else is asked for. */
  running: AbortController | undefined;
  /** The last status of it. */
  view: ClusterView | undefined;
  settled: Settled | undefined;
  failedAttempt: FailedAttempt | undefined;
  /** With whoever writes over what is shown. */
  overwriteBackoff: OverwriteBackoff | undefined;
  drift: DriftMemory;
  /** Fingerprint of the drift that was last told of. */
  toldDrift: string | undefined;
}

export function newClusterState(): ClusterState {
  return {
    digest: undefined,
    running: undefined,
    view: undefined,
    settled: undefined,
    failedAttempt: undefined,
    overwriteBackoff: undefined,
    drift: noMemory,
    toldDrift: undefined,
  };
}

const attemptBackoff: Backoff = { firstMs: 30_000, factor: 2, maxMs: 30 * 60_000 };

/** Puts off what failed: each time for twice as long, as long as the same is asked for. Pure. */
export function heldAfter(
  before: FailedAttempt | undefined,
  failed: Pick<FailedAttempt, "digest" | "message" | "isTakenBack">,
  nowMs: number,
): FailedAttempt {
  const failures = before?.digest === failed.digest ? before.failures + 1 : 1;
  return { ...failed, failures, untilMs: nowMs + backoffMs(attemptBackoff, failures) };
}
