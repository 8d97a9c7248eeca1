import { leadsToNothing } from "../../plan/waves/next-action.js";
import { planRemaining } from "../../plan/planner/make-plan.js";
import type { Plan, RemainingPlan } from "../../plan/plan.js";
import type { PriorState } from "../../records/prior-state.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import type { Observation } from "./observe.js";
import { requestInfoOf } from "./run-goal.js";

/** Where a run stands. */
interface RunPlace {
  readonly provider: InfrastructureProvider;
  readonly state: PriorState;
  readonly observation: Observation;
  /** Ids of leftovers that the run has removed. */
  readonly removedLeftovers: ReadonlySet<string>;
}

/** Toward the frozen target of a run: what is left of it. Throws as `planRemaining` does. */
export function remainingPlan(
  goal: Plan,
  { provider, state, observation, removedLeftovers }: RunPlace,
): RemainingPlan {
  const { number: _number, ...request } = goal.transaction;
  const plan = planRemaining({
    planGoal: { kind: "recorded", target: goal.target },
    provider,
    prior: state,
    ...observation,
    ...requestInfoOf(request),
    // Until the begin no record tells of these.
    givenUp: request.givenUp,
    letGo: request.letGo,
    removal: "accepted",
  });
  const shown = new Set(goal.orphaned.map(({ id }) => id));
  // Where nothing is to be left, everything that carries the cluster's UID goes.
  const everything = leadsToNothing(goal);
  return {
    ...plan,
    transaction: goal.transaction,
    leftovers: (goal.leftovers ?? []).filter(({ leftover }) => !removedLeftovers.has(leftover.id)),
    orphaned: plan.orphaned.filter(
      ({ id, who }) => everything || shown.has(id) || mayHaveMade(goal, state, who),
    ),
  };
}

/** Whether a resource can come from the transaction that a run takes back or goes on with. */
function mayHaveMade(
  goal: Plan,
  { transaction }: PriorState,
  { kind, name }: { readonly kind: string; readonly name: string },
): boolean {
  return [goal.target, ...(transaction === undefined ? [] : [transaction.target])].some(
    ({ nodes }) => nodes.some((node) => node.kind === kind && node.name === name),
  );
}
