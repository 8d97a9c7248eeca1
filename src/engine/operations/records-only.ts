import { filterOfAllDrift } from "../../drift/drift-filter.js";
import { judgedDrift, rulesOfRequest } from "../../drift/plan-with-drift.js";
import type { RemovalConsent } from "../../plan/plan-input.js";
import type { Target } from "../../records/target.js";
import type { TransactionGoal } from "../../records/transaction.js";
import type { StackState } from "../backend/state.js";
import type { Observation } from "../run/observe.js";
import { type PlanningOptions, planToward, type RecordedPlan } from "./apply.js";

/** A request that changes records and ownership tags alone, and the recorded graph that it leads to. */
interface RecordsRequest {
  readonly target: Target;
  readonly goal: TransactionGoal;
  readonly observation: Observation;
  /** What the user allows to be lost; absent: nothing. */
  readonly removal?: RemovalConsent;
}

/**
 * The plan of a request that changes records and ownership tags alone. All drift stays as it is; what the cloud holds under the names of the
 * records without being recorded is seen.
 */
export function planRecordsOnly(
  { target, goal, observation, removal = {} }: RecordsRequest,
  state: StackState,
  options: PlanningOptions,
): RecordedPlan {
  const rules = rulesOfRequest(target.objects);
  const { report } = judgedDrift(state, observation, options.provider, rules);
  const drift = filterOfAllDrift(report);
  return planToward(target, state, observation, { ...options, drift, goal, removal });
}
