import type { Desired } from "../api/types.js";
import type { PriorState } from "../records/prior-state.js";
import { desiredIn } from "../records/target.js";
import { WrongObjects } from "./object-failures.js";
import type { Want, WrongWant } from "./reconciler-options.js";

/** What a cluster is led to. */
export interface Goal {
  readonly desired: Desired;
  /** Why objects are not in it as they are written; undefined: all are. */
  readonly wrong: WrongObjects | undefined;
}

/** The goal by what is known of the records; undefined where nothing can be kept. Pure. */
export function goalOf(
  key: string,
  intent: Want | WrongWant,
  records: PriorState | undefined,
): Goal | undefined {
  if (intent.kind === "want") return { desired: intent.desired, wrong: undefined };
  const accepted = records?.transaction?.target;
  const kept = intent.keptGoal(accepted && desiredIn(accepted));
  return kept && { desired: kept.desired, wrong: new WrongObjects(key, kept.diagnostics) };
}

/** The goal by the records. Throws WrongObjects where nothing can be kept. Pure. */
export function goalIn(key: string, intent: Want | WrongWant, records: PriorState): Goal {
  const goal = goalOf(key, intent, records);
  if (goal === undefined) {
    throw new WrongObjects(key, intent.kind === "invalid" ? intent.diagnostics : []);
  }
  return goal;
}
