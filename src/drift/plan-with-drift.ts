import { refuseOlderState } from "../plan/refusals/older-state.js";
import type { AnyObject } from "../api/types.js";
import type { Observation } from "../plan/observation.js";
import type { Plan, RemainingPlan } from "../plan/plan.js";
import type { PlanInput } from "../plan/plan-input.js";
import { withMovedMachines } from "../plan/goal/moved-machines.js";
import { makePlan, planRemaining } from "../plan/planner/make-plan.js";
import type { PriorState } from "../records/prior-state.js";
import { classifyDrift, type DriftJudge, isOfTime, type ObservationResult } from "./classify.js";
import {
  type DriftFilter,
  driftFilterOf,
  filtered,
  filterOfAllDrift,
  ignoredDriftOf,
  isFiltered,
} from "./drift-filter.js";
import {
  type DriftRules,
  type JudgedDrift,
  isTried,
  judgeDrift,
  noMemory,
  putOffIfTried,
} from "./judge.js";

// The way of drift: an observation is classified, judged and filtered, and a plan is made of it. Pure.

/** All that a plan is made from but what the cloud shows of the cluster's own. */
export type PlanRequest = Omit<PlanInput, Exclude<keyof Observation, "externals">>;

/** How a plan deals with drift. */
export interface PlanDriftRules extends DriftRules {
  /**
   * What stays as it is. `ignored`: only what policy says to ignore, since a person sees the plan and agrees.
   * `byPolicy`: all that policies, budgets and a freeze leave, since nobody is asked.
   */
  readonly leaves: "ignored" | "byPolicy";
}

/** A plan, and the drift that it was made with. */
interface PlanWithDrift {
  readonly plan: Plan;
  /** Every finding, and what the whole policy says about it. */
  readonly judged: JudgedDrift;
  /** For the run that applies the plan. */
  readonly driftFilter: DriftFilter;
}

/** What somebody's own request leaves alone: `capstan plan`, `up` and `rollback` correct everything else. */
export function rulesOfRequest(objects: readonly AnyObject[]): PlanDriftRules {
  return { leaves: "ignored", objects, memory: noMemory, nowMs: 0 };
}

/** The same for one that is to heal what health checks find, too: what goes back is not mixed with that. */
export function rulesOfHealing(objects: readonly AnyObject[], nowMs: number): PlanDriftRules {
  return { ...rulesOfRequest(objects), nowMs, heals: {} };
}

/** What drifted, and what is to become of it. */
export function judgedDrift(
  state: PriorState,
  sight: ObservationResult,
  provider: DriftJudge,
  rules: DriftRules,
): JudgedDrift {
  const { objects, nowMs, heals } = rules;
  const health = heals && { objects, nowMs, ...heals };
  return judgeDrift(classifyDrift(state, sight, provider, health), rules);
}

/** The plan of a request, with what the rules leave alone left out. Throws what `makePlan` throws. */
export function planWithDrift(
  request: PlanRequest,
  observation: Observation,
  rules: PlanDriftRules,
): PlanWithDrift {
  // Whoever is to own a machine says what becomes of its drift.
  const judged = judgedDrift(withMovedMachines(request), observation, request.provider, rules);
  const items =
    rules.leaves === "byPolicy"
      ? judged.items
      : judged.items.filter(({ item, decision }) => decision.kind === "ignore" || isOfTime(item));
  const isShaped = items.some((one) => isFiltered(one) || isTried(one));
  const asked = isShaped ? requestedChange(request, observation, judged) : undefined;
  const goes = asked === undefined || asked.steps.length === 0 ? items : items.map(putOffIfTried);
  const driftFilter = driftFilterOf(goes, asked);
  return { plan: planThrough(driftFilter, request, observation), judged, driftFilter };
}

/** The plan of a request as a filter that was decided on before shows the cloud. Throws what `makePlan` throws. */
export function planThrough(
  driftFilter: DriftFilter,
  request: PlanRequest,
  observation: Observation,
): Plan {
  // Before the filter: what nobody corrects would not be there at all to the plan.
  const unfiltered = { ...request, ...observation };
  refuseOlderState(unfiltered, () => planRemaining(unfiltered).target);
  const plan = makePlan({ ...request, ...filtered(driftFilter, observation, request.prior) });
  const ignoredDrift = ignoredDriftOf(driftFilter);
  return ignoredDrift.length === 0 ? plan : { ...plan, ignoredDrift };
}

/** What is asked for, whatever drifted: a change that somebody wants is not held back by drift. */
function requestedChange(
  request: PlanRequest,
  observation: Observation,
  { report }: JudgedDrift,
): RemainingPlan {
  const asRecorded = filtered(filterOfAllDrift(report), observation, request.prior);
  return planRemaining({ ...request, ...asRecorded });
}
