import { previousRevision } from "../../records/history.js";
import { isOpen, type PriorState } from "../../records/prior-state.js";
import type { TransactionGoal, RevisionRecord } from "../../records/transaction.js";
import type { Target } from "../../records/target.js";

/** What `rollback` means now. */
export type Rollback =
  /** To the graph of an earlier revision; `named`: somebody gave its number. */
  | { readonly kind: "to"; readonly number: number; readonly named: boolean }
  /** What is open is taken back. */
  | { readonly kind: "takeBack" }
  /** What was taken back last is verified, and its deletions are finished. */
  | { readonly kind: "finish"; readonly target: Target }
  /** The last rollback has led to the present revision: the same words mean that one. */
  | { readonly kind: "reached"; readonly revision: RevisionRecord; readonly to: number }
  | { readonly kind: "none" };

/**
 * Where the words `rollback`, or `rollback --to <number>`, lead from these records. The same words lead to
 * the same place until it is reached, and stay there: what they led to is recorded as the goal of the
 * transaction that they began. Pure; law 10.
 */
export function rollbackOf(prior: PriorState, number?: number): Rollback {
  const { transaction, revision } = prior;
  if (number !== undefined) return { kind: "to", number, named: true };
  const isBack = transaction?.direction === "back";
  // A rollback that failed, or whose taking back was interrupted, is still to lead where it was to.
  const goal = isBack ? goalTakenBack(prior) : transaction?.goal;
  const isOurs = isUnnumberedRollback(goal);
  if (isOurs && (isOpen(prior) || isBack)) return { kind: "to", number: goal.to, named: false };
  if (isOpen(prior)) return { kind: "takeBack" };
  if (revision !== undefined && isBack) return { kind: "finish", target: revision.target };
  if (revision !== undefined && isOurs) return { kind: "reached", revision, to: goal.to };
  const previous = previousRevision(revision);
  return previous === undefined ? { kind: "none" } : { kind: "to", number: previous, named: false };
}

/** Whether `rollback` without a number has begun a transaction: the same words lead to its target again. Pure. */
export function isUnnumberedRollback(
  goal: TransactionGoal | undefined,
): goal is Extract<TransactionGoal, { kind: "rollback" }> {
  return goal?.kind === "rollback" && !goal.named;
}

/** What the transaction was asked for that is, or was last, taken back; undefined in records of early releases. */
function goalTakenBack(prior: PriorState): TransactionGoal | undefined {
  const past = isOpen(prior) ? prior.transaction?.attempts : prior.revision?.history;
  return past?.findLast(({ direction }) => direction === "forward")?.goal;
}
