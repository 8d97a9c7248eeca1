import type { AnyObject } from "../api/types.js";
import type { Plan } from "../plan/plan.js";
import type { Observation } from "../plan/observation.js";
import type { PriorState } from "../records/prior-state.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { classifyDrift, type DriftReport } from "./classify.js";
import { type JudgedDrift, judgeDrift, noMemory } from "./judge.js";
import { filterOfAllDrift, noFilter, type DriftFilter, driftFilterOf } from "./drift-filter.js";

/** Decides how the cloud is to be seen. `planFor` makes the plan of a look; it changes nothing. */
export type DriftFilterFactory = (
  observation: Observation,
  state: PriorState,
  planFor: (observation: Observation) => Plan,
) => DriftFilter;

type Judging = Pick<InfrastructureProvider, "hostKind" | "verdict">;

/**
 * Leaves alone what the judgement does not correct, unless somebody asks for a change of the same
 * resource: what a plan has steps for that sees no drift at all. Pure.
 */
export function filteringBy(
  provider: Judging,
  judge: (report: DriftReport) => JudgedDrift,
): DriftFilterFactory {
  return (observation, state, planFor) => {
    const report = classifyDrift(state, observation, provider);
    const judged = judge(report);
    if (driftFilterOf(judged) === noFilter) return noFilter;
    return driftFilterOf(judged, planFor(filterOfAllDrift(report).apply(observation, state)));
  };
}

/** Corrects everything but what policy says to ignore: what `capstan plan` and `capstan up` do. Pure. */
export function ignoringByPolicy(
  provider: Judging,
  objects: readonly AnyObject[],
): DriftFilterFactory {
  return filteringBy(provider, (report) => {
    const judged = judgeDrift(report, { objects, memory: noMemory, nowMs: 0 });
    return { ...judged, items: judged.items.filter(({ decision }) => decision.kind === "ignore") };
  });
}
