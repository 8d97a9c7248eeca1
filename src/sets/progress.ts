export interface ProgressQuestion {
  readonly complete: boolean;
  readonly paused: boolean;
  /** When the rollout began or last came further, in milliseconds since the epoch. */
  readonly lastProgressAtMs: number;
  readonly progressDeadlineSeconds: number;
  readonly nowMs: number;
}

type ProgressVerdict =
  | { readonly kind: "complete" }
  /** The time does not run. */
  | { readonly kind: "paused" }
  | { readonly kind: "progressing"; readonly remainingMs: number }
  /** No progress for longer than the deadline: roll back or stop, as was chosen. */
  | { readonly kind: "deadlineExceeded"; readonly overdueMs: number };

/**
 * Where a rollout stands against its progress deadline. The bound is strict: at the very moment of
 * the deadline it still has its chance. Cluster API documents the field and never enforced it.
 * Pure. Source: docs/cluster-api.md#machinedeployment.
 */
export function progressOf(question: ProgressQuestion): ProgressVerdict {
  const { complete, paused, lastProgressAtMs, progressDeadlineSeconds, nowMs } = question;
  if (complete) return { kind: "complete" };
  if (paused) return { kind: "paused" };
  const remainingMs = lastProgressAtMs + progressDeadlineSeconds * 1000 - nowMs;
  return remainingMs < 0
    ? { kind: "deadlineExceeded", overdueMs: -remainingMs }
    : { kind: "progressing", remainingMs };
}
