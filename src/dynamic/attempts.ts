import { CapstanError, isCapstanError } from "../api/error.js";
import { type Backoff, backoffMsAfter } from "../provider/backoff.js";

/** Between two attempts at a call that the cloud has refused. */
const callBackoff: Backoff = { firstMs: 50, factor: 2, maxMs: 2_000 };

interface Limits {
  /** Nothing is tried again after it, milliseconds since the epoch. */
  readonly deadlineAtMs: number;
  /** How long what a call needs may take to be usable, milliseconds. */
  readonly usableWithinMs: number;
}

/** One call that is made again while it fails: how often it has failed, and how long that may go on. */
export class Attempts {
  private failures = 0;
  private unusableSinceMs: number | undefined;

  constructor(private readonly limits: Limits) {}

  /**
   * How long to wait until the call is made again, in milliseconds: longer each time, and as long as the cloud
   * asks for at least. Throws the error once there is no time left for it, and an error about an answer that never came at once.
   */
  waitMsAfter(error: unknown, nowMs: number): number {
    // The engine that waits for the answers is held all the time, and others need it.
    if (isCapstanError(error) && error.code === "NO_ANSWER") throw error;
    this.failures += 1;
    const waitMs = backoffMsAfter(error, callBackoff, this.failures);
    if (nowMs + waitMs > this.limits.deadlineAtMs) throw error;
    this.refuseLastingly(error, nowMs);
    return waitMs;
  }

  /** What is not usable yet may as well never be. */
  private refuseLastingly(error: unknown, nowMs: number): void {
    if (!isCapstanError(error) || error.code !== "NOT_YET_USABLE") {
      this.unusableSinceMs = undefined;
      return;
    }
    this.unusableSinceMs ??= nowMs;
    const forMs = nowMs - this.unusableSinceMs;
    if (forMs < this.limits.usableWithinMs) return;
    throw new CapstanError({
      code: "NOT_YET_USABLE",
      source: "cloud",
      message: `${error.message}, for ${Math.round(forMs / 1_000)} s`,
      hint: error.hint ?? "look whether what it needs is there and can be used",
      retryable: false,
      cause: error,
    });
  }
}
