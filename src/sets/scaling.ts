import {
  byName,
  type ScaleReason,
  type ScaleStep,
  type SetCounts,
  oldestFirst,
  sumOf,
} from "./counts.js";
import { type RolloutBounds, isRollingUpdate, maxSurgeOf } from "./fenceposts.js";

/** A set with the limit of machines that was in force when it was last scaled. */
export interface ScalableSet extends SetCounts {
  readonly maxReplicas?: number;
}

interface PausedScaling {
  readonly bounds: RolloutBounds;
  /** A paused deployment need not have a set of its present template. */
  readonly newSet: ScalableSet | undefined;
  readonly oldSets: readonly ScalableSet[];
}

/**
 * Scales a paused deployment without rolling it: its only set with machines, or else its newest,
 * takes everything; a new set that is complete leaves nothing to the old ones; otherwise each set
 * keeps its share, and the greatest takes what rounding leaves. Pure.
 * Source: docs/cluster-api.md#rollouts.
 */
export function scaleWhilePaused({ bounds, newSet, oldSets }: PausedScaling): ScaleStep[] {
  const sets = newSet === undefined ? oldSets : [newSet, ...oldSets];
  const desired = bounds.replicas;
  const aligned: ScaleReason = { kind: "alignToDesiredReplicas", desired };
  const only = onlyActiveOrNewest(newSet, oldSets);
  if (only !== undefined) return scaled(only, desired, aligned);
  if (newSet !== undefined && isSaturated(newSet, bounds)) {
    return oldSets.flatMap((set) => scaled(set, 0, aligned));
  }
  return isRollingUpdate(bounds) ? shareOut(sets, bounds) : [];
}

function onlyActiveOrNewest(
  newSet: ScalableSet | undefined,
  oldSets: readonly ScalableSet[],
): ScalableSet | undefined {
  const sets = newSet === undefined ? oldSets : [newSet, ...oldSets];
  const active = sets.filter(({ replicas }) => replicas > 0);
  if (active.length > 1) return undefined;
  return active[0] ?? newSet ?? oldestFirst(oldSets).at(-1);
}

/** The new set has all that the deployment wants, and all of it is available. */
function isSaturated(newSet: ScalableSet, bounds: RolloutBounds): boolean {
  const desired = bounds.replicas;
  return newSet.replicas === desired && newSet.available === desired;
}

function shareOut(sets: readonly ScalableSet[], bounds: RolloutBounds): ScaleStep[] {
  const active = sets.filter(({ replicas }) => replicas > 0);
  const total = sumOf(active, ({ replicas }) => replicas);
  const limit = bounds.replicas > 0 ? bounds.replicas + maxSurgeOf(bounds) : 0;
  const change = limit - total;
  const shares = new Map<string, number>();
  let given = 0;
  const ordered = greatestFirst(active, change);
  for (const set of ordered) {
    const share = shareOf(set, { limit, total, left: change - given });
    shares.set(set.name, set.replicas + share);
    given += share;
  }
  const [greatest] = ordered;
  if (greatest !== undefined) {
    const size = (shares.get(greatest.name) ?? 0) + change - given;
    shares.set(greatest.name, Math.max(size, 0));
  }
  const reason: ScaleReason = { kind: "proportionalShare", total, limit };
  return ordered.flatMap((set) => scaled(set, shares.get(set.name) ?? set.replicas, reason));
}

/** What a set gains or loses in proportion to its size, never more than is left to give or take. */
function shareOf(
  set: ScalableSet,
  about: { readonly limit: number; readonly total: number; readonly left: number },
): number {
  const { limit, total, left } = about;
  if (left === 0) return 0;
  const exact = (set.replicas * limit) / (set.maxReplicas ?? total);
  const share = roundHalfAway(exact) - set.replicas;
  return left > 0 ? Math.min(share, left) : Math.max(share, left);
}

/** Growth favours newer sets among equals, shrinking older ones. */
function greatestFirst(sets: readonly ScalableSet[], change: number): ScalableSet[] {
  const newerFirst = change > 0 ? -1 : 1;
  return [...sets].sort(
    (left, right) =>
      right.replicas - left.replicas ||
      newerFirst * ((left.createdAtMs ?? 0) - (right.createdAtMs ?? 0)) ||
      byName(left.name, right.name),
  );
}

function roundHalfAway(value: number): number {
  return value < 0 ? -Math.round(-value) : Math.round(value);
}

function scaled(set: SetCounts, to: number, reason: ScaleReason): ScaleStep[] {
  return set.replicas === to ? [] : [{ set: set.name, from: set.replicas, to, reason }];
}
