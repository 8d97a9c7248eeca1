/** How long a transaction may take unless somebody says otherwise. */
export const defaultDeadlineMs = 3_600_000;

/** A transaction that may take as long as it takes: what only deletes, and what has to be done before. */
export const noDeadlineMs = Number.POSITIVE_INFINITY;

/** When a transaction that begins now has to be done, milliseconds since the epoch; JSON knows no infinity. Pure. */
export function deadlineAtMs(nowMs: number, deadlineMs: number): number {
  return Math.min(nowMs + deadlineMs, Number.MAX_SAFE_INTEGER);
}

/** How long a command waits for a host unless it is told otherwise, seconds. */
export const defaultTimeoutSeconds = 600;
