import { type ScaleStep, type SetCounts, oldestFirst, sumOf } from "./counts.js";
import { minAvailableOf } from "./fenceposts.js";
import type { RollingState } from "./rolling-update.js";

/**
 * Scales old sets down, oldest first, as the release that shipped this API did: machines that are
 * not available first, then available ones above the minimum. It takes a set at its word that the
 * unavailable go first, and does not see machines that are on their way out. `newSet` is taken as
 * this round has scaled it. Pure. Source: docs/cluster-api.md#rollouts.
 */
export function scaleOldSetsV1alpha1({ bounds, newSet, oldSets }: RollingStateNow): ScaleStep[] {
  const total = sumOf([...oldSets, newSet], ({ replicas }) => replicas);
  const minimum = minAvailableOf(bounds);
  const removable = total - minimum - (newSet.replicas - newSet.available);
  if (sumOf(oldSets, ({ replicas }) => replicas) === 0 || removable <= 0) return [];
  const cleanedUp = cleanUpUnavailable(oldSets, removable);
  const afterwards = oldSets.map((set) => ({
    ...set,
    replicas: cleanedUp.find((step) => step.set === set.name)?.to ?? set.replicas,
  }));
  const available = sumOf([...oldSets, newSet], (set) => set.available);
  return [...cleanedUp, ...takeAvailable(afterwards, available, minimum)];
}

/** This profile applies each decision at once, so a round has no intents beside the sets. */
type RollingStateNow = Omit<RollingState, "intents">;

function cleanUpUnavailable(oldSets: readonly SetCounts[], removable: number): ScaleStep[] {
  const steps: ScaleStep[] = [];
  let left = removable;
  for (const { name: set, replicas: from, available } of oldestFirst(oldSets)) {
    const removed = Math.min(left, from - available);
    if (removed <= 0) continue;
    left -= removed;
    steps.push({
      set,
      from,
      to: from - removed,
      reason: { kind: "removesOnlyMissingOrUnavailable" },
    });
  }
  return steps;
}

function takeAvailable(
  oldSets: readonly SetCounts[],
  available: number,
  minimum: number,
): ScaleStep[] {
  const steps: ScaleStep[] = [];
  let left = available - minimum;
  for (const { name: set, replicas: from } of oldestFirst(oldSets)) {
    const removed = Math.min(left, from);
    if (removed <= 0) continue;
    left -= removed;
    const reason = { kind: "availableAboveMinimum", available, minimum } as const;
    steps.push({ set, from, to: from - removed, reason });
  }
  return steps;
}
