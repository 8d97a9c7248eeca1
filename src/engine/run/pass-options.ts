import type { RemainingPlan } from "../../plan/plan.js";
import { type PriorState, recordAt } from "../../records/prior-state.js";
import { type AllowedChanges, revisionKey } from "../../transaction/pass.js";
import type { RoomDemand } from "../pulumi/disk-room.js";
import type { PassOptions } from "../pulumi/engine.js";

/**
 * With many steps the state is written once, at the end of the pass (ADR 11): whoever comes after a kill
 * finds in the cloud what was made, by the identities of the target that the begin has recorded.
 */
const manySteps = 20;

/** How the engine carries a pass out. `steps`: how many creations, updates and deletions it may hold. Pure. */
export function passOptionsFor(
  plan: RemainingPlan,
  prior: PriorState,
  { allowed, steps }: { readonly allowed: AllowedChanges; readonly steps: number },
): PassOptions {
  return {
    checkpoints: steps > manySteps ? "end" : "each",
    room: roomFor(plan),
    continues: onlyDeletes(plan, prior, allowed),
  };
}

function onlyDeletes(plan: RemainingPlan, prior: PriorState, allowed: AllowedChanges): boolean {
  if (allowed.kind === "begin" || allowed.allowed.size > 0) return false;
  return allowed.kind === "change" || isCommitRecorded(plan, prior);
}

/** By Revision itself: until that is written Transaction may stand for it. Pure. */
export function isCommitRecorded(
  { transaction }: Pick<RemainingPlan, "transaction">,
  { resources }: PriorState,
): boolean {
  return recordAt(resources, revisionKey)?.inputs["number"] === transaction.number;
}

/** For all that the transaction still makes, so that one which begins can end. */
function roomFor({ steps, transaction }: RemainingPlan): RoomDemand {
  const creations = steps.filter(({ kind }) => kind === "create").length;
  const isWayBack = transaction.direction === "back" || transaction.goal.kind === "destroy";
  return { creations, reserve: isWayBack ? "spend" : "keep" };
}
