// How a cloud limits calls: tokens that are taken by calls and come back with time.

/** What a bucket holds at most, and what comes back each second. */
export interface Rate {
  readonly capacity: number;
  readonly perSecond: number;
}

/** A bucket as it was when something was last taken from it. */
export interface TokenLevel {
  readonly tokens: number;
  readonly atMs: number;
}

/**
 * Takes tokens from a bucket; without one it is full. Answers the bucket after it, and undefined where it holds too
 * few: then nothing is taken. Pure.
 */
export function takeTokens(
  { capacity, perSecond }: Rate,
  bucket: TokenLevel | undefined,
  nowMs: number,
  count = 1,
): TokenLevel | undefined {
  const before = bucket ?? { tokens: capacity, atMs: nowMs };
  const backMs = Math.max(0, nowMs - before.atMs);
  const tokens = Math.min(capacity, before.tokens + (backMs / 1000) * perSecond);
  return tokens >= count ? { tokens: tokens - count, atMs: nowMs } : undefined;
}
