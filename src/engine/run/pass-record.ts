import type { RemainingPlan } from "../../plan/plan.js";
import { type PriorState, recordAt, type RecordedResource } from "../../records/prior-state.js";
import { type AllowedChanges, revisionKey } from "../../transaction/pass.js";

/** By Revision itself: until that is written Transaction may stand for it. Pure. */
export function isCommitRecorded(
  { transaction }: Pick<RemainingPlan, "transaction">,
  { resources }: Pick<PriorState, "resources">,
): boolean {
  return recordAt(resources, revisionKey)?.inputs["number"] === transaction.number;
}

/** One resource of the cloud, as long as it lives: its name may pass on to a successor. */
export function livingAs({ kind, id = "" }: Pick<RecordedResource, "kind" | "id">): string {
  return `${kind} ${id}`;
}

/**
 * Whether the state after a pass holds what its calls have made and nothing that they have deleted. An engine that
 * says that it failed may have been unable to write. `deleted`: as `livingAs` gives them. Pure.
 */
export function isPassRecorded(
  plan: Pick<RemainingPlan, "transaction">,
  { resources }: Pick<PriorState, "resources">,
  { allowed, deleted }: { readonly allowed: AllowedChanges; readonly deleted: ReadonlySet<string> },
): boolean {
  const recorded = new Set(resources.map(({ key }) => key));
  const made = "allowed" in allowed ? [...allowed.allowed] : [];
  return (
    made.every((key) => recorded.has(key)) &&
    !resources.some((one) => deleted.has(livingAs(one))) &&
    (allowed.kind !== "commit" || isCommitRecorded(plan, { resources }))
  );
}
