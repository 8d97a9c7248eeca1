import type { NodeKey } from "../../graph/graph.js";
import type { Plan } from "../plan.js";
import { nextAction } from "./admit.js";

/** One wave of a plan: what one pass changes, then deletes. */
export interface Wave {
  readonly keys: readonly NodeKey[];
  readonly reason: string;
}

/**
 * The waves that an undisturbed apply will take, by running its own decisions to their end: every host
 * serves as soon as it is made. Pure.
 */
export function wavesOf(plan: Plan): Wave[] {
  if (plan.empty) return [];
  const waves: Wave[] = [];
  const applied = new Set<NodeKey>();
  const available = new Set([
    ...plan.target.machines.map(({ host }) => host),
    ...plan.leaving.filter(({ failed }) => !failed).map(({ host }) => host),
  ]);
  for (;;) {
    const action = nextAction(plan, { applied, available });
    if (action.kind === "wait") return waves;
    if (action.kind === "commit") {
      return action.deletions.length > 0
        ? [...waves, { keys: action.deletions, reason: action.reason }]
        : waves;
    }
    const keys = [...action.keys, ...action.deletions];
    waves.push({ keys, reason: action.reason });
    for (const key of keys) applied.add(key);
  }
}
