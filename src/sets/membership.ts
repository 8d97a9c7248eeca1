import { omitUndefined } from "../api/omit-undefined.js";
import { type DeletePolicy, type DeletionRequest, selectForDeletion } from "./deletion-order.js";
import type { Profile } from "../api/set-profile.js";
import type { RolloutMachine } from "./rollout.js";

export interface MembershipRequest {
  readonly profile: Profile;
  readonly policy?: DeletePolicy;
  /** spec.replicas as it is wanted now. */
  readonly replicas: number;
  readonly machines: readonly RolloutMachine[];
  /** Missing machines are left missing: a user deletes them for a rollout OnDelete. */
  readonly noCreation?: boolean;
  readonly nowMs: number;
}

/** What a set has to do to have as many machines as it shall. */
type MembershipChange =
  | { readonly kind: "none" }
  | { readonly kind: "create"; readonly count: number }
  /** Names, in the order in which they go. Those whose deletion has begun are not among them. */
  | { readonly kind: "delete"; readonly names: readonly string[] };

/**
 * How many machines a set makes, or which it deletes. Machines that are being deleted are members
 * until they are gone today, and go first, so that a set neither deletes twice nor makes a machine
 * beside one that still stands; v1alpha1 does not count them. Pure.
 * Source: docs/cluster-api.md#machinesets.
 */
export function changeMembers(request: MembershipRequest): MembershipChange {
  const { profile, policy, replicas, nowMs } = request;
  const machines =
    profile === "modern" ? request.machines : request.machines.filter(({ deleting }) => !deleting);
  const missing = replicas - machines.length;
  if (missing > 0) {
    return request.noCreation === true ? { kind: "none" } : { kind: "create", count: missing };
  }
  const going: DeletionRequest<RolloutMachine> = omitUndefined({
    profile,
    policy,
    count: -missing,
    machines,
    nowMs,
  });
  const names = selectForDeletion(going)
    .filter(({ deleting }) => !deleting)
    .map(({ name }) => name);
  return names.length > 0 ? { kind: "delete", names } : { kind: "none" };
}
