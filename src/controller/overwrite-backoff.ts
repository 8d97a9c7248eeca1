import { type Backoff, backoffMs } from "../provider/backoff.js";

/** Others write over what is shown of a cluster, again and again. */
export interface OverwriteBackoff {
  readonly times: number;
  /** What they wrote is not written over before. */
  readonly againAtMs: number;
}

/** From the second time on. */
const overwriteBackoff: Backoff = { firstMs: 1_000, factor: 2, maxMs: 5 * 60_000 };
/** After such a peace the back-off begins anew. */
const forgottenAfterMs = 2 * overwriteBackoff.maxMs;

/** Found written over once more: put right at once the first time, then later each time. Pure. */
export function overwriteBackoffAfter(
  before: OverwriteBackoff | undefined,
  nowMs: number,
): OverwriteBackoff {
  const isNew = before === undefined || nowMs - before.againAtMs > forgottenAfterMs;
  const times = isNew ? 1 : before.times + 1;
  const waitMs = times === 1 ? 0 : backoffMs(overwriteBackoff, times - 1);
  return { times, againAtMs: nowMs + waitMs };
}
