import { type SetCounts } from "../../src/sets/counts.js";
import type { RolloutBounds } from "../../src/sets/fenceposts.js";

/** A MachineSet of a case: spec, and what its controller reported last. */
export interface GivenMachineSet {
  readonly name: string;
  readonly templateVersion?: string;
  readonly creationTimestamp?: string | null;
  readonly spec: { readonly replicas: number };
  readonly status?: {
    readonly replicas?: number | null;
    readonly availableReplicas?: number | null;
  };
}

export interface GivenMachineDeployment {
  readonly templateVersion?: string;
  readonly spec: RolloutBounds;
}

/** What was never reported counts as 0. */
export function countsOfGiven({
  name,
  creationTimestamp,
  spec,
  status,
}: GivenMachineSet): SetCounts {
  return {
    name,
    ...timeOf(creationTimestamp),
    replicas: spec.replicas,
    existing: status?.replicas ?? 0,
    available: status?.availableReplicas ?? 0,
  };
}

/** A timestamp as Kubernetes writes it; null and none mean that it is not set. */
export function timeOf(timestamp: string | null | undefined): { readonly createdAtMs?: number } {
  return timestamp === null || timestamp === undefined ? {} : { createdAtMs: instantOf(timestamp) };
}

export function instantOf(timestamp: string): number {
  const ms = Date.parse(timestamp);
  if (Number.isNaN(ms)) throw new Error(`${timestamp} is no timestamp`);
  return ms;
}
