import type { Desired } from "../../src/api/types.js";
import { makePlan } from "../../src/plan/planner/make-plan.js";
import type { Plan } from "../../src/plan/plan.js";
import { emptyState } from "../../src/records/prior-state.js";
import type { InfrastructureProvider } from "../../src/provider/port.js";

/** The plan of a cluster of which nothing is recorded and the cloud shows nothing. */
export function firstPlan(desired: Desired, provider: InfrastructureProvider): Plan {
  return makePlan({
    planGoal: { kind: "objects", desired },
    provider,
    prior: emptyState,
    observedResources: new Map(),
    unrecorded: [],
    newClusterUid: "uid",
    nowMs: 0,
    owner: "files",
    goal: { kind: "up" },
    by: "user@host",
    deadlineMs: 60_000,
  });
}
