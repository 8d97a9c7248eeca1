import { omitUndefined } from "../api/omit-undefined.js";
import type { KeyRing } from "../bootstrap/certificates/key-ring.js";
import { entryOf, historyWith } from "../records/history.js";
import { withObjects } from "../records/taken-back.js";
import type { RemainingPlan } from "../plan/plan.js";
import type { PriorState } from "../records/prior-state.js";
import type { RevisionPayload, TransactionPayload } from "../records/transaction.js";

/** What Transaction carries of a plan, and the cluster's keys, which no plan has. Pure. */
export function transactionPayload(
  { target, transaction }: RemainingPlan,
  keys: KeyRing | undefined,
): TransactionPayload {
  // All but what stands beside it in clear: what is new in a plan is recorded without a word here.
  const {
    number: _number,
    clusterUid: _clusterUid,
    owner: _owner,
    startedAtMs: _startedAtMs,
    committed: _committed,
    ...payload
  } = transaction;
  return omitUndefined<TransactionPayload>({ ...payload, target, keys });
}

/** What Revision carries once the plan's transaction is committed at `nowMs`. Pure. */
export function revisionPayload(
  { target, transaction }: RemainingPlan,
  { revision }: PriorState,
  nowMs: number,
): RevisionPayload {
  const committed = withObjects(entryOf(transaction, nowMs, { kind: "committed" }), target);
  // Of a revision that Transaction alone tells of no history is known but this.
  const before = revision?.number === transaction.number ? undefined : revision;
  return { target, history: historyWith(before, [...transaction.attempts, committed]) };
}
