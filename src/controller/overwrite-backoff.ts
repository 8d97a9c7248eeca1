/** Others write over what is shown of a cluster, again and again. */
export interface OverwriteBackoff {
  readonly times: number;
  /** What they wrote is not written over before. */
  readonly againAtMs: number;
}

const firstWaitMs = 1_000;
const longestWaitMs = 5 * 60_000;
/** After such a peace the back-off begins anew. */
const forgottenAfterMs = 2 * longestWaitMs;

/** Found written over once more: put right at once the first time, then later each time. Pure. */
export function overwriteBackoffAfter(
  before: OverwriteBackoff | undefined,
  nowMs: number,
): OverwriteBackoff {
  const isNew = before === undefined || nowMs - before.againAtMs > forgottenAfterMs;
  const times = isNew ? 1 : before.times + 1;
  const waitMs = times === 1 ? 0 : Math.min(firstWaitMs * 2 ** (times - 2), longestWaitMs);
  return { times, againAtMs: nowMs + waitMs };
}
