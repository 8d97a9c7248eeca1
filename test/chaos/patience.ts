/**
 * A deadline on this machine, milliseconds: CHAOS_PATIENCE says how many times as long everything may take where others
 * work on it as well. What hangs for good is found all the same, later.
 */
export function patient(deadlineMs: number): number {
  return deadlineMs * Number(process.env["CHAOS_PATIENCE"] ?? 1);
}
