import type { StackWorker } from "../engine/locks/stack-worker.js";
import type { PriorState } from "../records/prior-state.js";

/** The pending operations of a stack, as "creating LocalHost/cp-0-7ca2dcf0-1". */
export interface PendingOperations {
  /** They broke off, or may have: no worker of the stack is seen to live. */
  readonly interruptedOperations: readonly string[];
  /** A living worker carries them out. */
  readonly runningOperations: readonly string[];
}

export function pendingOperations(
  { pending }: Pick<PriorState, "pending">,
  worker: StackWorker,
): PendingOperations {
  const operations = pending.map(({ type, key }) => `${type} ${key}`);
  return worker.kind === "alive"
    ? { interruptedOperations: [], runningOperations: operations }
    : { interruptedOperations: operations, runningOperations: [] };
}

/** One line for each operation. Pure. */
export function pendingOperationLines(
  { interruptedOperations, runningOperations }: PendingOperations,
  worker: StackWorker,
): string[] {
  const broken = worker.kind === "unknown" ? "Under way or interrupted" : "Interrupted";
  return [
    ...interruptedOperations.map((operation) => `${broken}: ${operation}`),
    ...runningOperations.map((operation) => `Under way: ${operation}`),
  ];
}
