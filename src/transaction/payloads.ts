import { entryOf, historyWith } from "../plan/history.js";
import type { Plan } from "../plan/plan.js";
import type { PriorState, RevisionPayload, TransactionPayload } from "../plan/target.js";

/** What Transaction carries of a plan. Pure. */
export function transactionPayload({ target, transaction }: Plan): TransactionPayload {
  const { spent, direction, by, digestKey, deadlineAtMs, summary, attempts } = transaction;
  const { former, crossed, cloud } = transaction;
  return {
    ...{ target, spent, direction, by, digestKey, deadlineAtMs, summary, attempts },
    ...(former !== undefined && { former }),
    ...(crossed !== undefined && { crossed }),
    ...(cloud !== undefined && { cloud }),
  };
}

/** What Revision carries once the plan's transaction is committed at `nowMs`. Pure. */
export function revisionPayload(
  { target, transaction }: Plan,
  { revision }: PriorState,
  nowMs: number,
): RevisionPayload {
  const committed = entryOf(transaction, nowMs, { kind: "committed" });
  return { target, history: historyWith(revision, [...transaction.attempts, committed]) };
}
