import {
  type ScaleIntents,
  type ScaleReason,
  type ScaleStep,
  type SetCounts,
  oldestFirst,
  sumOf,
  wantedOf,
} from "./counts.js";
import { type RolloutBounds, maxSurgeOf, minAvailableOf } from "./fenceposts.js";
import type { Profile } from "../api/set-profile.js";

/** What a step of a rollout is decided from. */
export interface RollingState {
  readonly bounds: RolloutBounds;
  readonly newSet: SetCounts;
  readonly oldSets: readonly SetCounts[];
  /** What this round has decided already. */
  readonly intents: ScaleIntents;
}

/**
 * How many machines there are for the surge limit. Today's Cluster API counts machines until they
 * are gone, and machines to come from when they are wanted; v1alpha1 counts what is wanted only.
 */
export function machinesCounted(sets: readonly SetCounts[], profile: Profile): number {
  return profile === "modern"
    ? sumOf(sets, ({ replicas, existing }) => Math.max(replicas, existing))
    : sumOf(sets, ({ replicas }) => replicas);
}

/** How far the new set may grow: up to the limit of machines, and up to the deployment's replicas. */
export function grownReplicas(bounds: RolloutBounds, newReplicas: number, counted: number): number {
  const limit = bounds.replicas + maxSurgeOf(bounds);
  if (counted >= limit) return newReplicas;
  return newReplicas + Math.min(limit - counted, bounds.replicas - newReplicas);
}

/** The new set's next size: down to the deployment's replicas at once, up within the surge limit. */
export function scaleNewSet(state: Omit<RollingState, "intents">, profile: Profile): ScaleStep[] {
  const { bounds, newSet, oldSets } = state;
  const { name, replicas: from } = newSet;
  if (from === bounds.replicas) return [];
  if (from > bounds.replicas) {
    const reason: ScaleReason = { kind: "alignToDesiredReplicas", desired: bounds.replicas };
    return [{ set: name, from, to: bounds.replicas, reason }];
  }
  const current = machinesCounted([newSet, ...oldSets], profile);
  const to = grownReplicas(bounds, from, current);
  if (to === from) return [];
  const surge = maxSurgeOf(bounds);
  const reason: ScaleReason = {
    kind: "roomBelowSurgeLimit",
    current,
    desired: bounds.replicas,
    surge,
  };
  return [{ set: name, from, to, reason }];
}

/** What old sets may still lose in a round. */
interface Allowance {
  /** How many replicas may be taken away. */
  readonly budget: number;
  /** Machines that stay available if every removal hits an available one. */
  readonly available: number;
  readonly minimum: number;
}

/**
 * Scales old sets down, oldest first, today's way: first what costs nothing, then available
 * machines above the minimum. It assumes the worst, namely that a set loses available machines
 * first, and that what was decided before is still to be lost. Pure.
 * Source: docs/cluster-api.md#rollouts.
 */
export function scaleOldSets(state: RollingState): ScaleStep[] {
  const { bounds, newSet, oldSets, intents } = state;
  const sets = [...oldSets, newSet];
  if (sumOf(oldSets, ({ replicas }) => replicas) === 0) return [];
  const minimum = minAvailableOf(bounds);
  const pending = sumOf(sets, (set) =>
    Math.max(set.existing - Math.min(set.replicas, wantedOf(set, intents)), 0),
  );
  const newUnavailable = Math.max(newSet.replicas - newSet.available, 0);
  const budget = sumOf(sets, ({ replicas }) => replicas) - pending - minimum - newUnavailable;
  const available = sumOf(sets, (set) => set.available);

  const wanted = new Map(intents);
  const steps: ScaleStep[] = [];
  let allowance: Allowance = { budget, available, minimum };
  for (const which of ["unavailable", "any"] as const) {
    for (const set of oldestFirst(oldSets)) {
      const from = wantedOf(set, wanted);
      const taken = takeFrom(set, from, which, allowance);
      allowance = taken.left;
      if (taken.to === from) continue;
      wanted.set(set.name, taken.to);
      steps.push({ set: set.name, from, to: taken.to, reason: taken.reason });
    }
  }
  return steps;
}

/** Takes from one set what the allowance permits. */
function takeFrom(
  set: SetCounts,
  from: number,
  which: "unavailable" | "any",
  allowance: Allowance,
): { readonly to: number; readonly reason: ScaleReason; readonly left: Allowance } {
  const { budget, available, minimum } = allowance;
  const most = which === "any" ? from : Math.max(from - set.available, 0);
  const asked = Math.max(Math.min(most, budget, from), 0);
  const spared = spareAvailable(set, from, from - asked, allowance);
  const to = asked === 0 ? from : spared;
  const lost =
    asked === 0 || set.available === 0
      ? 0
      : Math.min(set.available, Math.max(set.existing - to, 0));
  const reason: ScaleReason =
    lost === 0
      ? { kind: "removesOnlyMissingOrUnavailable" }
      : { kind: "availableAboveMinimum", available, minimum };
  const left = { budget: budget - (from - to), available: available - lost, minimum };
  return { to, reason, left };
}

/** The size to which a set may go when all that it loses could be available machines. */
function spareAvailable(
  set: SetCounts,
  from: number,
  to: number,
  { available, minimum }: Allowance,
): number {
  const removed = Math.max(set.existing - to, 0);
  if (removed === 0 || set.available === 0 || available - minimum >= removed) return to;
  return Math.min(set.existing - Math.max(available - minimum, 0), from);
}

/**
 * Lowers one old set by one when nothing else can move: old machines that are not available hold
 * their places, and the worst case forbids to take them. Only when no set is under way and all new
 * machines are available, so that a rollout that breaks machines stays stopped. Pure.
 */
export function breakDeadlock(state: Omit<RollingState, "bounds">): ScaleStep[] {
  const { newSet, oldSets, intents } = state;
  const underWay = [...oldSets, newSet].some(
    (set) => set.replicas !== set.existing || intents.has(set.name),
  );
  if (underWay || newSet.available !== newSet.existing) return [];
  const stuck = oldestFirst(oldSets).find(
    (set) => set.available !== set.existing && set.replicas !== 0,
  );
  if (stuck === undefined) return [];
  const { name: set, replicas: from, existing, available } = stuck;
  const reason: ScaleReason = { kind: "unblockDeadlock", unavailable: existing - available };
  return [{ set, from, to: from - 1, reason }];
}
