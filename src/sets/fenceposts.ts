import { CapstanError } from "../api/error.js";

/** A number of machines, or a percentage of the replicas such as "25%". */
export type IntOrPercent = number | string;

/** What bounds a rollout: fields of a MachineDeployment's spec. */
export interface RolloutBounds {
  readonly replicas: number;
  readonly strategy?: {
    readonly type?: "RollingUpdate" | "OnDelete";
    readonly rollingUpdate?: {
      readonly maxSurge?: IntOrPercent;
      readonly maxUnavailable?: IntOrPercent;
    };
  };
}

type Fenceposts =
  | { readonly kind: "resolved"; readonly maxSurge: number; readonly maxUnavailable: number }
  | { readonly kind: "invalid"; readonly field: FencepostField; readonly value: string };

type FencepostField = "maxSurge" | "maxUnavailable";

const defaultMaxSurge = 1;
const defaultMaxUnavailable = 0;

/**
 * Both bounds as numbers of machines: percentages of `replicas`, maxSurge rounded up,
 * maxUnavailable down. Where both come to 0 nothing could ever move, so one machine may be
 * unavailable then. Pure.
 */
export function resolveFenceposts(
  maxSurge: IntOrPercent,
  maxUnavailable: IntOrPercent,
  replicas: number,
): Fenceposts {
  const surge = scaled(maxSurge, replicas, Math.ceil);
  if (surge === undefined) return { kind: "invalid", field: "maxSurge", value: String(maxSurge) };
  const unavailable = scaled(maxUnavailable, replicas, Math.floor);
  if (unavailable === undefined) {
    return { kind: "invalid", field: "maxUnavailable", value: String(maxUnavailable) };
  }
  const stuck = surge === 0 && unavailable === 0;
  return { kind: "resolved", maxSurge: surge, maxUnavailable: stuck ? 1 : unavailable };
}

/** The bounds of a rolling update with this API's defaults. Throws INVALID_INPUT. */
export function fencepostsOf(bounds: RolloutBounds): Extract<Fenceposts, { kind: "resolved" }> {
  const { maxSurge, maxUnavailable } = bounds.strategy?.rollingUpdate ?? {};
  const posts = resolveFenceposts(
    maxSurge ?? defaultMaxSurge,
    maxUnavailable ?? defaultMaxUnavailable,
    bounds.replicas,
  );
  if (posts.kind === "resolved") return posts;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: `cannot plan a rollout: ${posts.field} "${posts.value}" is neither a number nor a percentage`,
    hint: `write ${posts.field} as a number, or as a percentage such as 25%`,
  });
}

/**
 * How many machines may be unavailable: 0 without a rolling update or without replicas, never more
 * than the replicas. Throws INVALID_INPUT.
 */
export function maxUnavailableOf(bounds: RolloutBounds): number {
  if (!isRollingUpdate(bounds) || bounds.replicas === 0) return 0;
  return Math.min(fencepostsOf(bounds).maxUnavailable, bounds.replicas);
}

/** How many machines a rollout may have above the replicas. Throws INVALID_INPUT. */
export function maxSurgeOf(bounds: RolloutBounds): number {
  return isRollingUpdate(bounds) ? fencepostsOf(bounds).maxSurge : 0;
}

/** How many machines have to be available. Throws INVALID_INPUT. */
export function minAvailableOf(bounds: RolloutBounds): number {
  return Math.max(bounds.replicas - maxUnavailableOf(bounds), 0);
}

export function isRollingUpdate(bounds: RolloutBounds): boolean {
  return (bounds.strategy?.type ?? "RollingUpdate") === "RollingUpdate";
}

export function scaled(
  value: IntOrPercent,
  replicas: number,
  round: (exact: number) => number,
): number | undefined {
  if (typeof value === "number") return Number.isInteger(value) ? value : undefined;
  const percent = /^([+-]?\d+)%$/.exec(value)?.[1];
  // Adding 0 turns -0, which equals nothing but itself in a strict comparison, into 0.
  return percent === undefined ? undefined : round((Number(percent) * replicas) / 100) + 0;
}
