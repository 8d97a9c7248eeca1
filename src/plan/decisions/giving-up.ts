import { keyOf, type NodeKey } from "../../graph/graph.js";
import { cloudResources } from "../../records/prior-state.js";
import type { Target } from "../../records/target.js";
import type { GivenUp } from "../../records/transaction.js";
import type { ObservedResource, ObservedResources } from "../observation.js";
import type { PlanInput } from "../plan-input.js";
import { subjectOf, unfitness } from "./verdicts.js";

// What was decided about a resource stays decided until it is gone, or the decision is taken back: whoever goes on sees why it was to
// be replaced no more than the cloud does. Source: docs/adr/0050.

type Prior = Pick<PlanInput, "prior" | "observedResources">;

/** What the cloud shows, with what the last transaction or whoever asks has given up as unfit to serve. Pure. */
export function withGivenUp({
  prior,
  observedResources,
  givenUp: asked,
}: Prior & Pick<PlanInput, "givenUp">): ObservedResources {
  const { givenUp: recorded } = prior.transaction ?? {};
  if (recorded === undefined && asked === undefined) return observedResources;
  const givenUp: GivenUp = { ...asked, ...recorded };
  return new Map(
    [...observedResources].map(([key, observed]): [NodeKey, ObservedResource] => {
      const reason = givenUp[key];
      if (reason === undefined || observed === "gone") return [key, observed];
      return [key, { ...observed, unfit: observed.unfit ?? reason }];
    }),
  );
}

/**
 * What a plan toward a target gives up, with what was given up before it and is there still: what of the recorded is not in the
 * target, and could not serve on whatever that asked for. Undefined: nothing. Pure.
 */
export function givenUpBy(
  { prior, observedResources }: Prior,
  target: Target,
): GivenUp | undefined {
  const wanted = new Set(target.nodes.map(keyOf));
  const reasons = cloudResources(prior).flatMap((resource) => {
    const { key } = resource;
    if (wanted.has(key)) return [];
    const { unfit, leaving } = unfitness(observedResources.get(key), subjectOf(resource));
    const reason = unfit ?? leaving;
    return reason === undefined ? [] : [[key, reason] as const];
  });
  return reasons.length === 0 ? undefined : Object.fromEntries(reasons);
}
