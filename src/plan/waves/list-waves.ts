import { counted } from "../../api/counted.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import type { Plan, RemainingPlan, Wave } from "../plan.js";
import { stepsByKey } from "./host-set.js";
import { type NextAction, nextAction } from "./next-action.js";
import { mostUnavailable } from "./unavailable.js";

/** What people are told about the waves of a plan: "3 waves, at most 1 machine unavailable". Pure. */
export function wavesText(plan: Plan): string {
  const missing = mostUnavailable(plan);
  const count = Math.max(plan.waves.length, 1);
  const some = missing === 0 ? "" : `, at most ${counted(missing, "machine")} unavailable`;
  return `${counted(count, "wave")}${some}`;
}

/** No resource of the plan is named by it: their count stands in the reason. */
function leftoverReason({
  leftovers,
  reason,
}: Extract<NextAction, { kind: "removeLeftovers" }>): string {
  return `${reason}: ${counted(leftovers.length, "resource")}`;
}

/**
 * The waves that an undisturbed apply will take, by running its own decisions to their end: every host
 * serves as soon as it is made. Pure.
 */
export function wavesOf(given: RemainingPlan): Wave[] {
  if (given.empty) return [];
  const waves: Wave[] = [];
  let plan = given;
  const steps = stepsByKey(plan);
  const applied = new Set<NodeKey>();
  const available = new Set([
    ...plan.target.nodes.map(keyOf),
    ...plan.leaving.filter(({ failed }) => !failed).map(({ host }) => host),
  ]);
  for (;;) {
    const action = nextAction(plan, { applied, available }, steps);
    if (action.kind === "wait" || action.kind === "waitForEtcd" || action.kind === "clear") {
      return waves;
    }
    if (action.kind === "commit") {
      return action.deletions.length > 0
        ? [...waves, { keys: action.deletions, reason: action.reason }]
        : waves;
    }
    if (action.kind === "removeLeftovers") {
      waves.push({ keys: [], reason: leftoverReason(action) });
      plan = { ...plan, leftovers: [] };
      continue;
    }
    const keys = [...action.keys, ...action.deletions];
    waves.push({ keys, reason: action.reason });
    for (const key of keys) applied.add(key);
  }
}
