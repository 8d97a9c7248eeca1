import { omitUndefined } from "../api/omit-undefined.js";
import { intentsAfter, type ScaleStep, type SetCounts, sumOf } from "./counts.js";
import { type RolloutBounds, isRollingUpdate, maxSurgeOf, minAvailableOf } from "./fenceposts.js";
import { scaleNewSetOnDelete, scaleOldSetsOnDelete } from "./on-delete.js";
import type { Profile } from "../api/set-profile.js";
import { scaleOldSetsV1alpha1 } from "./rolling-update-v1alpha1.js";
import { breakDeadlock, machinesCounted, scaleNewSet, scaleOldSets } from "./rolling-update.js";
import { scaleWhilePaused } from "./scaling.js";

/** What a rollout reads of a MachineDeployment: its spec fits. */
interface RolloutDeployment extends RolloutBounds {
  readonly paused?: boolean;
}

/** A MachineSet of the deployment and its machines, as they are now. */
export interface RolloutSet {
  readonly name: string;
  /** Its template is the deployment's present one. At most one set of a deployment is new. */
  readonly isNew: boolean;
  /** Milliseconds since the epoch; without it a set counts as the oldest. */
  readonly createdAtMs?: number;
  /** spec.replicas, as the last round left it. */
  readonly replicas: number;
  /** The deployment's replicas and surge when the set was last scaled; for paused deployments. */
  readonly maxReplicas?: number;
  readonly machines: readonly RolloutMachine[];
}

/** A Machine as sets and rollouts see it. */
export interface RolloutMachine {
  readonly name: string;
  /** Milliseconds since the epoch. */
  readonly createdAtMs?: number;
  /** Its deletion was begun; it is there until it is gone. */
  readonly deleting: boolean;
  readonly ready: boolean;
  /** Ready for minReadySeconds. A machine that is being deleted never counts as available. */
  readonly available: boolean;
  /** It is being changed in place. */
  readonly updating?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly errorReason?: string;
  readonly errorMessage?: string;
}

interface RolloutRequest {
  readonly deployment: RolloutDeployment;
  readonly sets: readonly RolloutSet[];
  readonly profile: Profile;
}

/** What keeps a rollout from going further at this moment. */
type RolloutHold =
  | { readonly kind: "paused" }
  /** Machines have to go before new ones may come. */
  | {
      readonly kind: "atSurgeLimit";
      readonly current: number;
      readonly desired: number;
      readonly surge: number;
    }
  /** Machines have to become available before others may go. */
  | {
      readonly kind: "atMinimumAvailable";
      readonly available: number;
      readonly minimum: number;
    }
  /** New machines that do not come up keep the old ones where they are. */
  | { readonly kind: "newMachinesUnavailable"; readonly unavailable: number }
  /** The strategy leaves it to a user to delete old machines. */
  | { readonly kind: "waitsForDeletions"; readonly machines: number };

/** One round of a rollout. */
export interface RolloutPlan {
  /** Wanted spec.replicas of the sets that change; every other set keeps what it has. */
  readonly scale: ReadonlyMap<string, number>;
  /** Why, one per decision, in the order in which they were taken. */
  readonly steps: readonly ScaleStep[];
  /** Why no more was decided, while old machines are left. */
  readonly holds: readonly RolloutHold[];
  /** Sets whose missing machines are not made again. */
  readonly noCreation: readonly string[];
}

/**
 * One round of a MachineDeployment's rollout: how many machines each of its sets shall have now, and
 * why. Run again whenever machines, the deployment or the template have changed; it starts from what
 * is there, so an edit in the middle of a rollout needs no care. Pure. Throws INVALID_INPUT for
 * bounds that are neither numbers nor percentages. Source: docs/cluster-api.md#rollouts.
 */
export function planRollout({ deployment, sets, profile }: RolloutRequest): RolloutPlan {
  const counted = sets.map((set) => ({ ...set, ...countsOf(set, profile) }));
  const newSet = counted.find(({ isNew }) => isNew);
  const oldSets = counted.filter((set) => set !== newSet);
  if (deployment.paused === true) {
    const steps = scaleWhilePaused({ bounds: deployment, newSet, oldSets });
    return roundOf(steps, [{ kind: "paused" }], []);
  }
  if (newSet === undefined) {
    throw new Error("a rollout needs a MachineSet with the deployment's template");
  }
  const steps = rolloutSteps({ bounds: deployment, newSet, oldSets, profile });
  const holds = holdsOf({ bounds: deployment, newSet, oldSets, profile }, steps);
  return roundOf(steps, holds, setsWithoutCreation(deployment, oldSets));
}

/** Old sets of a rollout OnDelete: a machine that a user deletes there makes room for a new one. */
export function setsWithoutCreation(
  bounds: RolloutBounds,
  oldSets: readonly Pick<SetCounts, "name">[],
): string[] {
  return isRollingUpdate(bounds) ? [] : oldSets.map(({ name }) => name);
}

/** A rollout in numbers. */
interface RolloutCounts {
  readonly bounds: RolloutBounds;
  readonly newSet: SetCounts;
  readonly oldSets: readonly SetCounts[];
  readonly profile: Profile;
}

/** The decisions of one round, in order, from numbers alone. Pure. */
export function rolloutSteps({ bounds, newSet, oldSets, profile }: RolloutCounts): ScaleStep[] {
  const state = { bounds, newSet, oldSets };
  if (!isRollingUpdate(bounds)) {
    const grown = scaleNewSetOnDelete(state, profile);
    const intents = intentsAfter(new Map(), grown);
    return [...grown, ...scaleOldSetsOnDelete({ ...state, intents })];
  }
  const grown = scaleNewSet(state, profile);
  if (profile === "v1alpha1") {
    const scaled = { ...newSet, replicas: grown[0]?.to ?? newSet.replicas };
    return [...grown, ...scaleOldSetsV1alpha1({ bounds, newSet: scaled, oldSets })];
  }
  const shrunk = scaleOldSets({ ...state, intents: intentsAfter(new Map(), grown) });
  const intents = intentsAfter(new Map(), [...grown, ...shrunk]);
  return [...grown, ...shrunk, ...breakDeadlock({ newSet, oldSets, intents })];
}

/**
 * A set in numbers. Machines that are being deleted exist until they are gone in today's Cluster
 * API; v1alpha1 does not see them. They never count as available: they are going.
 */
function countsOf(set: RolloutSet, profile: Profile): SetCounts {
  const { name, createdAtMs, replicas, machines } = set;
  const staying = machines.filter(({ deleting }) => !deleting);
  return omitUndefined({
    name,
    createdAtMs,
    replicas,
    existing: profile === "modern" ? machines.length : staying.length,
    available: staying.filter(({ available }) => available).length,
  });
}

function roundOf(
  steps: readonly ScaleStep[],
  holds: readonly RolloutHold[],
  noCreation: readonly string[],
): RolloutPlan {
  return { scale: intentsAfter(new Map(), steps), steps, holds, noCreation };
}

function holdsOf(rollout: RolloutCounts, steps: readonly ScaleStep[]): RolloutHold[] {
  const { bounds, newSet, oldSets, profile } = rollout;
  const wanted = intentsAfter(new Map(), steps);
  const after = (set: SetCounts) => ({ ...set, replicas: wanted.get(set.name) ?? set.replicas });
  const left = sumOf(oldSets.map(after), ({ replicas }) => replicas);
  if (left === 0) return [];
  if (!isRollingUpdate(bounds)) return [{ kind: "waitsForDeletions", machines: left }];
  const holds: RolloutHold[] = [];
  const desired = bounds.replicas;
  const surge = maxSurgeOf(bounds);
  const grown = after(newSet);
  const current = machinesCounted([grown, ...oldSets], profile);
  if (grown.replicas < desired && current >= desired + surge) {
    holds.push({ kind: "atSurgeLimit", current, desired, surge });
  }
  const unavailable = grown.replicas - newSet.available;
  if (unavailable > 0) holds.push({ kind: "newMachinesUnavailable", unavailable });
  const available = sumOf([newSet, ...oldSets], (set) => set.available);
  const minimum = minAvailableOf(bounds);
  if (available <= minimum) holds.push({ kind: "atMinimumAvailable", available, minimum });
  return holds;
}
