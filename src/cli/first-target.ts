import { providerOf } from "../api/served-versions.js";
import type { Desired } from "../api/types.js";
import { defaultDeadlineMs } from "../plan/deadline.js";
import { makePlan } from "../plan/planner/make-plan.js";
import { emptyState } from "../records/prior-state.js";
import type { Target } from "../records/target.js";
import type { CommandContext } from "./context.js";

/** What objects compile to as if nothing existed yet. Looks at no state and at no cloud. */
export function firstTarget(desired: Desired, context: CommandContext): Target {
  return makePlan({
    planGoal: { kind: "objects", desired },
    provider: providerOf(desired.cluster, context.providers.all),
    prior: emptyState,
    observedResources: new Map(),
    unrecorded: [],
    newClusterUid: "",
    nowMs: 0,
    owner: "files",
    goal: { kind: "up" },
    by: context.by,
    deadlineMs: defaultDeadlineMs,
  }).target;
}
