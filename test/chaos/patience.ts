/**
 * A deadline on this machine, milliseconds. Load makes deadlines longer by itself (test/support/served-time.ts); CHAOS_PATIENCE says
 * how many times as long everything may take on a machine that is slow without any. What hangs for good is found all the same, later.
 */
export function patient(deadlineMs: number): number {
  return deadlineMs * Number(process.env["CHAOS_PATIENCE"] ?? 1);
}
