import { omitUndefined } from "../api/omit-undefined.js";
import type { Condition, MachineStatus } from "../api/status.js";
import type { ObjectFailure } from "../source/cluster-view.js";
import type { LiveObject } from "./live-object.js";

/** What a condition says, without its times. */
export interface ConditionState {
  readonly type:
    | "Ready"
    | "Progressing"
    | "CertificatesValid"
    | "CertificatesAvailable"
    | "EtcdClusterHealthy"
    | "Deleting"
    | "DrainingSucceeded"
    | "RemediationAllowed";
  readonly status: "True" | "False" | "Unknown";
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message?: string;
}

/**
 * Conditions as metav1.Condition has them, for `kubectl wait --for=condition=Ready`. A time of transition moves
 * only with the status. Pure.
 */
export function conditionsOf(
  live: LiveObject,
  states: readonly ConditionState[],
  about: { readonly now: string; readonly generation: number | undefined },
): Condition[] {
  const known = (live.status?.["conditions"] ?? []) as readonly Condition[];
  return states.map(({ type, status, reason, message = "" }) => {
    const before = known.find((one) => one.type === type && one.status === status);
    return omitUndefined({
      type,
      status,
      observedGeneration: about.generation,
      lastTransitionTime: before?.lastTransitionTime ?? about.now,
      reason,
      message,
    });
  });
}

/** The fields for what needs a person; none for what may heal by itself. Pure. */
export function errorOf(
  failure: Pick<ObjectFailure, "reason" | "message" | "isTransient"> | undefined,
): Pick<MachineStatus, "errorReason" | "errorMessage"> {
  if (failure === undefined || failure.isTransient) return {};
  return { errorReason: failure.reason, errorMessage: failure.message };
}
