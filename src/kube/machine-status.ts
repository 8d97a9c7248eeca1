import { timeText } from "../api/time-text.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { MachineStatus } from "../api/status.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { shownStatus } from "../provider/secret-fields.js";
import { failureDomainOf } from "../records/target.js";
import type { ClusterView, ObjectFailure } from "../source/cluster-view.js";
import { type DeletionStage, stageText } from "../workload/drain/deletion-stage.js";
import type { LiveObject } from "./live-object.js";
import type { MachineView } from "./machine-views.js";
import { conditionsOf, type ConditionState, errorOf } from "./status-parts.js";

type NodeConditions = NonNullable<MachineStatus["conditions"]>;

/**
 * A Machine's status. Its times move only when something else in it does, so that what stays the same is
 * not written again. Pure.
 */
export function machineStatusOf(
  live: LiveObject,
  machine: MachineView,
  { view, provider }: { readonly view: ClusterView; readonly provider: InfrastructureProvider },
): MachineStatus {
  const { seen, phase, failure } = machine;
  const address = seen?.status["address"];
  const { kubelet, controlPlane, containerRuntime, uid, name, addresses } = seen?.node ?? {};
  const target = view.planned ?? view.records.transaction?.target;
  const operation = lastOperationOf(live, machine, view);
  return omitUndefined({
    phase,
    nodeRef:
      seen?.node === undefined
        ? undefined
        : omitUndefined({ apiVersion: "v1", kind: "Node", name: name ?? seen.who.name, uid }),
    versions:
      kubelet === undefined
        ? undefined
        : omitUndefined({ kubelet, controlPlane, containerRuntime }),
    ...errorOf(failure),
    failureDomain: target && failureDomainOf(machine.machine, target, provider),
    addresses:
      addresses ?? (typeof address === "string" ? [{ type: "InternalIP", address }] : undefined),
    conditions: [
      ...nodeConditionsOf(live, machine, view),
      ...deletionConditionsOf(live, machine, view),
    ],
    lastOperation: operation,
    providerStatus: seen && {
      apiVersion: provider.apiVersion,
      kind: `${provider.hostKind}Status`,
      id: seen.id,
      host: seen.who.name,
      ...shownStatus(provider, seen.who.kind, seen.status),
    },
  });
}

/** The status of a Machine that is in no goal, since it was never right. Pure. */
export function refusedMachineStatus(
  live: LiveObject,
  failure: ObjectFailure,
  { nowMs }: Pick<ClusterView, "nowMs">,
): MachineStatus {
  const { reason, message } = failure;
  const state: ConditionState = { type: "Ready", status: "False", reason, message };
  return {
    phase: "Failed",
    ...errorOf(failure),
    conditions: conditionsOf(live, [state], { now: timeText(nowMs), generation: undefined }),
  };
}

/** What the Node says of itself; where nobody reads that, what its provider says of it. */
function nodeConditionsOf(
  live: LiveObject,
  { seen, isReady, phase, failure }: MachineView,
  { nowMs }: ClusterView,
): NodeConditions {
  if (seen?.node?.conditions !== undefined) return [...seen.node.conditions];
  const state: ConditionState = {
    type: "Ready",
    status: isReady ? "True" : phase === "Unknown" ? "Unknown" : "False",
    reason: isReady ? "NodeReady" : (failure?.reason ?? `Machine${phase}`),
    message: isReady ? "" : (failure?.message ?? seen?.failure?.reason ?? ""),
  };
  const sinceMs = isReady ? (seen?.readySinceMs ?? nowMs) : nowMs;
  // It is the Node's, which knows nothing of the Machine's generations.
  return conditionsOf(live, [state], { now: timeText(sinceMs), generation: undefined });
}

/** Of a Machine whose host goes, in the words of Cluster API. Source: docs/cluster-api.md#deletion. */
function deletionConditionsOf(
  live: LiveObject,
  { phase, leaving, failure }: MachineView,
  { nowMs }: ClusterView,
): NodeConditions {
  const isGoing = phase === "Terminating";
  // One that is changed in place is drained, too, and is not deleted.
  if (!isGoing && leaving?.kind !== "draining") return [];
  const message = leaving === undefined ? (failure?.message ?? "") : stageText(leaving);
  const reason = leaving === undefined ? "Deleting" : stageReasons[leaving.kind];
  const deleting: ConditionState = { type: "Deleting", status: "True", reason, message };
  const states: ConditionState[] = isGoing ? [deleting] : [];
  if (leaving?.kind === "draining") {
    states.push({ type: "DrainingSucceeded", status: "False", reason: "Draining", message });
  } else if (leaving !== undefined && leaving.kind !== "preDrainHook") {
    states.push({ type: "DrainingSucceeded", status: "True", reason: "Drained" });
  }
  return conditionsOf(live, states, { now: timeText(nowMs), generation: undefined });
}

/** Reasons of the condition Deleting. */
const stageReasons: Readonly<Record<DeletionStage["kind"], string>> = {
  preDrainHook: "WaitingForPreDrainHook",
  draining: "DrainingNode",
  detachingVolumes: "WaitingForVolumeDetach",
  preTerminateHook: "WaitingForPreTerminateHook",
};

function lastOperationOf(
  live: LiveObject,
  { phase, hostId, isUnderWay, failure }: MachineView,
  { progress, nowMs }: ClusterView,
): MachineStatus["lastOperation"] {
  const known = live.status?.["lastOperation"] as MachineStatus["lastOperation"];
  const isTried = progress?.direction === "forward" && isUnderWay;
  if (failure?.operation !== undefined && !isTried) {
    return {
      type: failure.operation,
      state: "Failed",
      description: failure.message,
      lastUpdated: timeText(failure.atMs),
    };
  }
  const isMade = phase === "Running" && known?.type === "Create" && known.state === "Failed";
  if (isMade && failure === undefined) {
    // It was tried again, faster than anybody could be shown.
    return { type: "Create", state: "Successful", lastUpdated: timeText(nowMs) };
  }
  if (progress === undefined || !isUnderWay) {
    if (known?.state !== "Processing" || progress !== undefined) return known;
    const state = phase === "Running" || phase === "Terminating" ? "Successful" : "Failed";
    return { ...known, state, lastUpdated: timeText(nowMs) };
  }
  const type =
    phase === "Terminating"
      ? "Delete"
      : hostId === undefined
        ? "Create"
        : (known?.type ?? "Update");
  const operation = { type, state: "Processing", description: progress.reason };
  const isSame =
    known?.type === type && known.state === "Processing" && known.description === progress.reason;
  return isSame ? known : { ...operation, lastUpdated: timeText(nowMs) };
}
