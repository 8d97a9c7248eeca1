import { type KeyAlgorithm, keyAlgorithmOf } from "../../api/key-algorithm.js";
import { stageOf } from "../../records/recorded-keys.js";
import { clusterIn } from "../../records/target.js";
import type { PlanInput } from "../plan-input.js";
import type { RemainingPlan } from "../plan.js";

/**
 * The algorithm that a Cluster asks for since this plan, where the cluster has keys and keeps them: a rotation alone makes
 * others. Undefined where it asks as before, and in a plan that rotates. Pure.
 */
export function laterKeys(
  { prior: { revision, transaction } }: Pick<PlanInput, "prior">,
  { target }: Pick<RemainingPlan, "target">,
): KeyAlgorithm | undefined {
  if (revision === undefined || transaction?.keys === undefined) return undefined;
  if (stageOf(revision.target) !== stageOf(target)) return undefined;
  const asked = keyAlgorithmOf(clusterIn(target));
  return asked === keyAlgorithmOf(clusterIn(revision.target)) ? undefined : asked;
}
