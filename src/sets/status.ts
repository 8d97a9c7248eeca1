import { sumOf } from "./counts.js";
import type { RolloutSet } from "./rollout.js";

/** When a Machine that is ready, or not, is available. */
type Availability =
  | { readonly kind: "available" }
  | { readonly kind: "notReady" }
  /** Ready, but since when is not known. */
  | { readonly kind: "readySinceUnknown" }
  /** Ready, but not for long enough; ask again after `remainingMs`. */
  | { readonly kind: "tooSoon"; readonly remainingMs: number };

export interface Readiness {
  readonly ready: boolean;
  /** When it last became ready, in milliseconds since the epoch. */
  readonly readySinceMs?: number;
}

/**
 * Whether a Machine is available: ready, and for longer than minReadySeconds. At the very moment it
 * is not yet: the bound is strict. Pure. Source: docs/cluster-api.md#machinesets.
 */
export function availabilityOf(
  { ready, readySinceMs }: Readiness,
  minReadySeconds: number,
  nowMs: number,
): Availability {
  if (!ready) return { kind: "notReady" };
  if (minReadySeconds === 0) return { kind: "available" };
  if (readySinceMs === undefined) return { kind: "readySinceUnknown" };
  const remainingMs = readySinceMs + minReadySeconds * 1000 - nowMs;
  // Where nothing remains, the next millisecond is the first that lies beyond the bound.
  return remainingMs < 0
    ? { kind: "available" }
    : { kind: "tooSoon", remainingMs: remainingMs + 1 };
}

/** Counts of a MachineDeployment's status. */
interface DeploymentStatus {
  readonly replicas: number;
  /** Machines of the deployment's present template. */
  readonly updatedReplicas: number;
  readonly readyReplicas: number;
  readonly availableReplicas: number;
  /** What the sets shall have and what is not available; never below 0. */
  readonly unavailableReplicas: number;
}

/** The counts of a deployment's status from its sets. Pure. Source: docs/cluster-api.md#rollouts. */
export function deploymentStatusOf(sets: readonly RolloutSet[]): DeploymentStatus {
  const machines = sets.flatMap((set) => set.machines);
  const availableReplicas = machines.filter((one) => one.available && !one.deleting).length;
  const wanted = sumOf(sets, ({ replicas }) => replicas);
  return {
    replicas: machines.length,
    updatedReplicas: sumOf(sets, (set) => (set.isNew ? set.machines.length : 0)),
    readyReplicas: machines.filter(({ ready }) => ready).length,
    availableReplicas,
    unavailableReplicas: Math.max(wanted - availableReplicas, 0),
  };
}

/** What completeness is decided from: fields of a MachineDeployment and its status. */
interface CompletionCounts {
  /** spec.replicas. */
  readonly desired: number;
  readonly status: Pick<DeploymentStatus, "replicas" | "updatedReplicas" | "availableReplicas">;
  readonly generation: number;
  readonly observedGeneration: number;
}

/** All machines are of the present template and available, there are no others, and the status is of now. Pure. */
export function isComplete(counts: CompletionCounts): boolean {
  const { desired, status, generation, observedGeneration } = counts;
  return (
    status.updatedReplicas === desired &&
    status.replicas === desired &&
    status.availableReplicas === desired &&
    observedGeneration >= generation
  );
}
