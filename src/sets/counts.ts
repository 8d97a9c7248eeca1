import { counted } from "../api/counted.js";
/** A MachineSet as rollout arithmetic sees it. */
export interface SetCounts {
  readonly name: string;
  /** Milliseconds since the epoch; without it a set counts as the oldest. */
  readonly createdAtMs?: number;
  /** spec.replicas: how many machines it shall have. */
  readonly replicas: number;
  /** status.replicas: how many machines it has. */
  readonly existing: number;
  /** status.availableReplicas: how many of them are available. */
  readonly available: number;
}

/** Wanted spec.replicas by set, of the sets that a round changes. */
export type ScaleIntents = ReadonlyMap<string, number>;

/** Why a set is scaled, with the numbers that decided it. */
export type ScaleReason =
  /** There are fewer machines than desired and surge together. */
  | {
      readonly kind: "roomBelowSurgeLimit";
      readonly current: number;
      readonly desired: number;
      readonly surge: number;
    }
  /** The deployment wants this many. */
  | { readonly kind: "alignToDesiredReplicas"; readonly desired: number }
  /** More machines are available than have to be. */
  | {
      readonly kind: "availableAboveMinimum";
      readonly available: number;
      readonly minimum: number;
    }
  /** No available machine is touched. */
  | { readonly kind: "removesOnlyMissingOrUnavailable" }
  /** Machines that a user deleted are not made again. */
  | { readonly kind: "alignToExistingMachines"; readonly existing: number }
  /** Nothing else can move, and what stands in the way is not available anyway. */
  | {
      readonly kind: "unblockDeadlock";
      readonly unavailable: number;
    }
  /** It keeps its share while a paused deployment is scaled. */
  | {
      readonly kind: "proportionalShare";
      readonly total: number;
      readonly limit: number;
    };

/** One decision about one set. */
export interface ScaleStep {
  readonly set: string;
  readonly from: number;
  readonly to: number;
  readonly reason: ScaleReason;
}

export function oldestFirst<S extends Pick<SetCounts, "name" | "createdAtMs">>(
  sets: readonly S[],
): S[] {
  return [...sets].sort(
    (left, right) =>
      (left.createdAtMs ?? 0) - (right.createdAtMs ?? 0) || byName(left.name, right.name),
  );
}

/** Plain string order, the same in every locale. */
export function byName(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

export function sumOf<S>(items: readonly S[], count: (item: S) => number): number {
  return items.reduce((sum, item) => sum + count(item), 0);
}

/** What is wanted of a set in this round so far. */
export function wantedOf(set: SetCounts, intents: ScaleIntents): number {
  return intents.get(set.name) ?? set.replicas;
}

/** The intents after some more steps; a later step of the same set counts. */
export function intentsAfter(intents: ScaleIntents, steps: readonly ScaleStep[]): ScaleIntents {
  return new Map([...intents, ...steps.map(({ set, to }) => [set, to] as const)]);
}

/** A reason as a person reads it, e.g. "3 machines < 3 desired + 1 surge". */
export function reasonText(reason: ScaleReason): string {
  switch (reason.kind) {
    case "roomBelowSurgeLimit": {
      const { current, desired, surge } = reason;
      return `${counted(current, "machine")} < ${desired} desired${surge > 0 ? ` + ${surge} surge` : ""}`;
    }
    case "alignToDesiredReplicas":
      return `${reason.desired} desired`;
    case "availableAboveMinimum":
      return `${reason.available} available > ${reason.minimum} that have to be`;
    case "removesOnlyMissingOrUnavailable":
      return "no available machine is touched";
    case "alignToExistingMachines":
      return `${reason.existing} left after deletions by a user`;
    case "unblockDeadlock":
      return `${reason.unavailable} unavailable in the old set, and nothing else can move`;
    case "proportionalShare":
      return `its share of ${reason.limit}, of which there are ${reason.total}`;
  }
}
