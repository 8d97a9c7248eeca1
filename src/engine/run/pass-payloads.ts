import type { Plan } from "../../plan/plan.js";
import { type PriorState, unrecordedRevision } from "../../records/prior-state.js";
import type { Clock } from "../../provider/port.js";
import type { AllowedChanges, Payloads } from "../../transaction/pass.js";
import { revisionPayload, transactionPayload } from "../../transaction/payloads.js";
import { encodePayload } from "../backend/record-payload.js";
import { type KeySource, ringOf } from "./run-keys.js";

interface PayloadQuestion {
  readonly goal: Plan;
  readonly state: PriorState;
  readonly clock: Clock;
  readonly keys?: KeySource | undefined;
}

const kept: Payloads = { transaction: "", revision: "" };

/**
 * What a pass writes of Transaction and Revision. What is recorded already stays as it is recorded: only a begin writes
 * Transaction, a commit Revision, and a revision without a record gets one.
 */
export async function payloadsOf(
  kind: AllowedChanges["kind"],
  { goal, state, clock, keys }: PayloadQuestion,
): Promise<Payloads> {
  if (kind === "record") return kept;
  if (kind === "restore") return { ...kept, revision: lostPayload(state) };
  if (state.transaction?.number !== goal.transaction.number) {
    const ring = await ringOf(goal, state, keys);
    const transaction = encodePayload(transactionPayload(goal, ring));
    return { transaction, revision: lostPayload(state) };
  }
  if (kind !== "commit") return kept;
  return { ...kept, revision: encodePayload(revisionPayload(goal, state, clock.now())) };
}

/** A revision that has no record is recorded again: see `lostRevision`. */
function lostPayload(state: PriorState): string {
  const revision = unrecordedRevision(state);
  if (revision === undefined) return "";
  const { number: _number, ...payload } = revision;
  return encodePayload(payload);
}
