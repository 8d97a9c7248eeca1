import { isCapstanError } from "../api/error.js";

/** Waits between tries, each longer than the one before. Times in milliseconds. */
export interface Backoff {
  /** After the first failure. */
  readonly firstMs: number;
  /** How much longer each wait is than the one before. */
  readonly factor: number;
  /** No wait is longer. */
  readonly maxMs: number;
  /** Which part of each wait is left to chance, 0 to 1: what failed together is not tried again together. */
  readonly jitter?: number;
}

/**
 * How long to wait after so many failures in a row (1 or more), in whole milliseconds. `draw` says how much
 * of the part that is left to chance is taken off: from 0 to below 1, as Math.random. Pure.
 */
export function backoffMs(backoff: Backoff, failures: number, draw = 0): number {
  const { firstMs, factor, maxMs, jitter = 0 } = backoff;
  const fullMs = Math.min(firstMs * factor ** (failures - 1), maxMs);
  return Math.ceil(fullMs * (1 - jitter * draw));
}

/** The same after this error: no less than the cloud asked for, if it did. Pure. */
export function backoffMsAfter(error: unknown, backoff: Backoff, failures: number): number {
  const askedMs = isCapstanError(error) ? (error.retryAfterMs ?? 0) : 0;
  return Math.max(backoffMs(backoff, failures), askedMs);
}
