import { type DriftPolicy, nearestDriftPolicy } from "../api/drift-policy.js";
import type { AnyObject } from "../api/types.js";
import { annotationsAbove } from "../compile/update-policy.js";
import type { DriftItem } from "./classify.js";

/**
 * The policy for each finding: that of its Machine or template, else of the set or deployment that wants
 * it, else of the Cluster. What machines share has the Cluster's. Made once for all findings. Pure.
 */
export function driftPoliciesOf(
  objects: readonly AnyObject[],
): (item: Pick<DriftItem, "machine">) => DriftPolicy {
  const above = annotationsAbove(objects);
  const cluster = objects.find(({ kind }) => kind === "Cluster");
  return ({ machine }) =>
    nearestDriftPolicy(machine === undefined ? [cluster?.metadata.annotations] : above(machine));
}
