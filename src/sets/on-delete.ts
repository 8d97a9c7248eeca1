import {
  type ScaleIntents,
  type ScaleReason,
  type ScaleStep,
  type SetCounts,
  intentsAfter,
  oldestFirst,
  sumOf,
  wantedOf,
} from "./counts.js";
import { machinesCounted, type RollingState } from "./rolling-update.js";
import type { Profile } from "../api/set-profile.js";

/**
 * The new set's next size when users delete machines themselves: it takes the places that were
 * freed, and nothing above the deployment's replicas. Pure. Source: docs/cluster-api.md#rollouts.
 */
export function scaleNewSetOnDelete(
  { bounds, newSet, oldSets }: Omit<RollingState, "intents">,
  profile: Profile,
): ScaleStep[] {
  const { name: set, replicas: from } = newSet;
  const desired = bounds.replicas;
  if (from > desired) {
    return [{ set, from, to: desired, reason: { kind: "alignToDesiredReplicas", desired } }];
  }
  const current = machinesCounted([newSet, ...oldSets], profile);
  if (from === desired || current >= desired) return [];
  const reason: ScaleReason = { kind: "roomBelowSurgeLimit", current, desired, surge: 0 };
  return [{ set, from, to: from + desired - current, reason }];
}

/**
 * Old sets give up the places of machines that users deleted, and, oldest first, what the deployment
 * no longer wants at all. Nothing else takes a machine away. Pure.
 */
export function scaleOldSetsOnDelete(state: RollingState): ScaleStep[] {
  const { bounds, oldSets, intents } = state;
  const deleted = oldestFirst(oldSets)
    .filter(({ replicas, existing }) => replicas > existing)
    .map(({ name: set, replicas: from, existing }) => {
      const reason: ScaleReason = { kind: "alignToExistingMachines", existing };
      return { set, from, to: existing, reason };
    });
  const left = intentsAfter(intents, deleted);
  return [...deleted, ...takeSurplus(oldSets, left, surplusOf(state, deleted), bounds.replicas)];
}

/** How many machines the deployment has too many of, once the places of deleted ones are gone. Pure. */
export function surplusOf(
  { bounds, newSet, oldSets, intents }: RollingState,
  deleted: readonly ScaleStep[],
): number {
  const total = sumOf(oldSets, ({ replicas }) => replicas) + wantedOf(newSet, intents);
  return total - bounds.replicas - sumOf(deleted, ({ from, to }) => from - to);
}

/** Steps that take so many machines, oldest sets first. Pure. */
export function takeSurplus(
  oldSets: readonly SetCounts[],
  intents: ScaleIntents,
  surplus: number,
  desired: number,
): ScaleStep[] {
  const steps: ScaleStep[] = [];
  let left = surplus;
  for (const set of oldestFirst(oldSets)) {
    const from = wantedOf(set, intents);
    const removed = Math.min(from, left);
    if (removed <= 0) continue;
    left -= removed;
    const reason: ScaleReason = { kind: "alignToDesiredReplicas", desired };
    steps.push({ set: set.name, from, to: from - removed, reason });
  }
  return steps;
}
