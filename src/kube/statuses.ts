import { selectorText } from "../api/label-selector.js";
import type { LabelSelector } from "../api/schema.js";
import type {
  ClusterStatus,
  MachineDeploymentStatus,
  MachineSetStatus,
  MachineStatus,
} from "../api/status.js";
import type { NodeKey } from "../graph/graph.js";
import { cloudResources } from "../records/prior-state.js";
import type { InfrastructureProvider, Observed } from "../provider/port.js";
import { availabilityOf, deploymentStatusOf } from "../sets/status.js";
import type { RolloutSet } from "../sets/rollout.js";
import type { ClusterView } from "../source/cluster-view.js";
import type { LiveObject } from "./live-object.js";
import type { MachineView } from "./machine-views.js";

/** What a status is made from, beside the object that it is of. */
export interface StatusInput {
  readonly view: ClusterView;
  readonly provider: InfrastructureProvider;
  readonly machines: readonly MachineView[];
  /** What people should know of the cluster's objects while nothing else is going on. */
  readonly notice?: string;
  /** Generations of the objects that the last decision was made from, by name. */
  readonly generationOf: (object: LiveObject) => number | undefined;
}

const shownItems = 12;

/** A Cluster's status. Pure. */
export function clusterStatusOf(cluster: LiveObject, input: StatusInput): ClusterStatus {
  const { view, provider, machines } = input;
  const { records, progress, drift } = view;
  const infrastructure = seenInfrastructure(view);
  const endpoints = provider.apiEndpoints?.(infrastructure) ?? [];
  const wanted = machines.filter(({ isWanted }) => isWanted);
  const ready = wanted.filter(({ isReady }) => isReady).length;
  return {
    ...(input.notice !== undefined && { message: input.notice }),
    ...wordsIn(view),
    ...generation(input.generationOf(cluster)),
    revision: records.revision?.number ?? 0,
    ...(progress !== undefined && {
      transaction: {
        number: progress.transaction,
        direction: progress.direction,
        phase: progress.phase,
        wave: progress.wave,
        waves: progress.waves,
        doing: shortened(progress.keys),
        reason: progress.reason,
        startedAt: timeText(progress.startedAtMs),
        deadlineAt: timeText(progress.deadlineAtMs),
      },
    }),
    ...(drift !== undefined && { drift }),
    machines: {
      desired: wanted.length,
      current: machines.filter(({ hostId }) => hostId !== undefined).length,
      ready,
      failed: machines.filter(({ phase }) => phase === "Failed").length,
      summary: `${ready}/${wanted.length}`,
    },
    ...(endpoints.length > 0 && { apiEndpoints: endpoints }),
  };
}

/** What a status says of a cluster in words. Pure. */
export function wordsIn({
  phase,
  progress,
  message = progressText(progress),
  terminalError,
}: ClusterView): Pick<ClusterStatus, "phase" | "message" | "errorReason" | "errorMessage"> {
  return {
    phase,
    ...(message !== undefined && { message }),
    ...(terminalError !== undefined && {
      errorReason: terminalError.reason,
      errorMessage: terminalError.message,
    }),
  };
}

/** "wave 2 of 3: the control plane runs, workers follow". */
function progressText(progress: ClusterView["progress"]): string | undefined {
  if (progress === undefined) return undefined;
  const { wave, waves, reason } = progress;
  return wave === 0 ? reason : `wave ${wave} of ${waves}: ${reason}`;
}

function shortened(keys: readonly NodeKey[]): string[] {
  if (keys.length <= shownItems) return [...keys];
  return [...keys.slice(0, shownItems), `and ${keys.length - shownItems} more`];
}

/** What the cloud shows of the shared resources. */
function seenInfrastructure({ records, observedResources }: ClusterView): Observed[] {
  return cloudResources(records).flatMap(({ key, parent }) => {
    const seen = observedResources?.get(key);
    return parent !== undefined || seen === undefined || seen === "gone" ? [] : [seen];
  });
}

/**
 * A Machine's status. Its times move only when something else in it does, so that what stays the same is
 * not written again. Pure.
 */
export function machineStatusOf(
  live: LiveObject,
  machine: MachineView,
  { view, provider }: StatusInput,
): MachineStatus {
  const { seen, phase } = machine;
  const address = seen?.status["address"];
  const { osImage: _image, ...versions } = seen?.node ?? {};
  const operation = lastOperationOf(live, machine, view);
  return {
    phase,
    ...(seen?.node !== undefined && {
      nodeRef: { apiVersion: "v1", kind: "Node", name: seen.who.name },
    }),
    ...("kubelet" in versions && { versions }),
    ...(typeof address === "string" && { addresses: [{ type: "InternalIP", address }] }),
    ...(operation !== undefined && { lastOperation: operation }),
    ...(seen !== undefined && {
      providerStatus: {
        apiVersion: provider.apiVersion,
        kind: `${provider.hostKind}Status`,
        id: seen.id,
        host: seen.who.name,
        ...seen.status,
      },
    }),
  };
}

function lastOperationOf(
  live: LiveObject,
  { phase, hostId, isUnderWay }: MachineView,
  { progress, nowMs }: ClusterView,
): MachineStatus["lastOperation"] {
  const known = live.status?.["lastOperation"] as MachineStatus["lastOperation"];
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

/** A MachineSet's status. Pure. */
export function machineSetStatusOf(
  set: LiveObject,
  members: readonly MachineView[],
  { view, generationOf }: StatusInput,
): MachineSetStatus {
  const minReadySeconds = Number(set.spec?.["minReadySeconds"] ?? 0);
  return {
    replicas: members.length,
    fullyLabeledReplicas: members.length,
    readyReplicas: members.filter(({ isReady }) => isReady).length,
    availableReplicas: members.filter((one) => isAvailable(one, minReadySeconds, view.nowMs))
      .length,
    ...generation(generationOf(set)),
    labelSelector: selectorIn(set),
  };
}

/** A MachineDeployment's status; its machines are in `sets`. Pure. */
export function machineDeploymentStatusOf(
  deployment: LiveObject,
  sets: readonly RolloutSet[],
  { generationOf }: StatusInput,
): MachineDeploymentStatus {
  return {
    ...deploymentStatusOf(sets),
    ...generation(generationOf(deployment)),
    labelSelector: selectorIn(deployment),
  };
}

/** The machines of one set as rollout arithmetic counts them. */
export function rolloutSetOf(
  name: string,
  members: readonly MachineView[],
  about: { readonly isNew: boolean; readonly minReadySeconds: number; readonly nowMs: number },
): RolloutSet {
  return {
    name,
    isNew: about.isNew,
    replicas: members.filter(({ isWanted }) => isWanted).length,
    machines: members.map((one) => ({
      name: one.machine.name,
      deleting: !one.isWanted,
      ready: one.isReady,
      available: isAvailable(one, about.minReadySeconds, about.nowMs),
    })),
  };
}

function isAvailable(
  { isReady, seen }: MachineView,
  minReadySeconds: number,
  nowMs: number,
): boolean {
  const since = seen?.readySinceMs;
  const readiness = { ready: isReady, ...(since !== undefined && { readySinceMs: since }) };
  return availabilityOf(readiness, minReadySeconds, nowMs).kind === "available";
}

function generation(observed: number | undefined): { observedGeneration?: number } {
  return observed === undefined ? {} : { observedGeneration: observed };
}

/** What the scale subresource tells autoscalers. */
function selectorIn({ spec }: LiveObject): string {
  return selectorText((spec?.["selector"] ?? {}) as LabelSelector);
}

/** RFC 3339 in UTC to the second, as Kubernetes writes times. */
export function timeText(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
}
