/** How long failures in a row are waited for. All in milliseconds. */
export interface Backoff {
  /** After the first failure. */
  readonly firstMs: number;
  /** Never longer than this. */
  readonly capMs: number;
  /** Which part of the wait is left to chance, 0 to 1: what failed together is not tried again together. */
  readonly jitter: number;
}

export const defaultBackoff: Backoff = { firstMs: 1_000, capMs: 300_000, jitter: 0.25 };

/**
 * How long to wait after so many failures in a row (1 or more): doubled each time up to the cap, then
 * made shorter by up to the part that is left to chance. `draw` is from 0 to below 1. Pure.
 */
export function backoffMs(backoff: Backoff, failures: number, draw: number): number {
  const { firstMs, capMs, jitter } = backoff;
  const fullMs = Math.min(capMs, firstMs * 2 ** Math.min(failures - 1, 40));
  return Math.ceil(fullMs * (1 - jitter * draw));
}
