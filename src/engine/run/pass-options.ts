import type { RemainingPlan } from "../../plan/plan.js";
import type { PriorState } from "../../records/prior-state.js";
import type { AllowedChanges } from "../../transaction/pass.js";
import type { RoomDemand } from "../pulumi/disk-room.js";
import type { PassOptions } from "../pulumi/engine-options.js";
import { isCommitRecorded } from "./pass-record.js";

/**
 * With many steps the state is written once, at the end of the pass (ADR 11): whoever comes after a kill
 * finds in the cloud what was made, by the identities of the target that the begin has recorded.
 */
const manySteps = 20;

/** How the engine carries a pass out. Begin and commit are written step by step: what follows stands on them. Pure. */
export function passOptionsFor(
  plan: RemainingPlan,
  prior: PriorState,
  allowed: AllowedChanges,
): PassOptions {
  const steps = allowed.kind === "change" ? allowed.allowed.size + allowed.deletions.size : 0;
  return {
    checkpoints: steps > manySteps ? "end" : "each",
    room: roomFor(plan),
    continues: onlyDeletes(plan, prior, allowed),
  };
}

function onlyDeletes(plan: RemainingPlan, prior: PriorState, allowed: AllowedChanges): boolean {
  if (!("allowed" in allowed) || allowed.allowed.size > 0) return false;
  return allowed.kind === "change" || isCommitRecorded(plan, prior);
}

/** For all that the transaction still makes, so that one which begins can end. */
function roomFor({ steps, transaction }: RemainingPlan): RoomDemand {
  const creations = steps.filter(({ kind }) => kind === "create").length;
  const isWayBack = transaction.direction === "back" || transaction.goal.kind === "destroy";
  return { creations, reserve: isWayBack ? "spend" : "keep" };
}
