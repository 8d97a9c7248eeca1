import { filterOfAllDrift } from "../../drift/drift-filter.js";
import { judgedDrift, rulesOfRequest } from "../../drift/plan-with-drift.js";
import { letGoIn } from "../../plan/decisions/letting-go.js";
import type { RemovalDecision } from "../../plan/refusals/protection.js";
import type { Target } from "../../records/target.js";
import type { TransactionGoal } from "../../records/transaction.js";
import type { StackState } from "../backend/state.js";
import type { Observation } from "../run/observe.js";
import { type PlanningOptions, planToward, type RecordedPlan } from "./apply.js";

/** A request that changes records and ownership tags alone, and the recorded graph that it leads to. */
interface RecordsRequest extends Pick<RemovalDecision, "removal"> {
  readonly target: Target;
  readonly goal: TransactionGoal;
  readonly observation: Observation;
}

/**
 * The plan of a request that changes records and ownership tags alone. All drift stays as it is. Of what the cloud holds
 * without a record the plan sees what loses its marks: nothing else of that is touched.
 */
export function planRecordsOnly(
  { target, goal, observation, removal = {} }: RecordsRequest,
  state: StackState,
  options: PlanningOptions,
): RecordedPlan {
  const rules = rulesOfRequest(target.objects);
  const { report } = judgedDrift(state, observation, options.provider, rules);
  const { unrecorded } = observation;
  const released = letGoIn({ goal, prior: state, unrecorded, provider: options.provider });
  const drift = filterOfAllDrift(report, released);
  return planToward(target, state, observation, { ...options, drift, goal, removal });
}

/** The rest of the request that the transaction holds, as it was asked for and allowed. */
export function planOpenRequest(
  state: StackState,
  observation: Observation,
  options: PlanningOptions,
): RecordedPlan {
  const { transaction } = state;
  if (transaction === undefined) throw new Error("no request was begun");
  const { target, goal } = transaction;
  return planRecordsOnly({ target, goal, observation, removal: "accepted" }, state, options);
}
