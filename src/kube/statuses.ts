import { timeText } from "../api/time-text.js";
import { counted, wordFor } from "../api/counted.js";
import { selectorText } from "../api/label-selector.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { LabelSelector } from "../api/schema.js";
import type {
  ClusterStatus,
  Condition,
  MachineDeploymentStatus,
  MachineHealthCheckStatus,
  MachineSetStatus,
} from "../api/status.js";
import { type Desired, providerValue } from "../api/types.js";
import type { CheckedHealth } from "../drift/health.js";
import type { NodeKey } from "../graph/graph.js";
import { cloudResources } from "../records/prior-state.js";
import { clusterIn } from "../records/target.js";
import type { InfrastructureProvider, Observed } from "../provider/port.js";
import { shownStatus } from "../provider/secret-fields.js";
import { availabilityOf, deploymentStatusOf, type Readiness } from "../sets/status.js";
import type { RolloutSet } from "../sets/rollout.js";
import type { CertificateReport } from "../source/certificate-report.js";
import type { ClusterView, ObjectFailure } from "../source/cluster-view.js";
import { certificatesIn, certificateStates } from "./certificate-status.js";
import { etcdStates } from "./etcd-status.js";
import { type LiveObject, templateMetadataOf } from "./live-object.js";
import type { MachineView } from "./machine-views.js";
import { conditionsOf, errorOf, type ConditionState } from "./status-parts.js";

/** What a status is made from, beside the object that it is of. */
export interface StatusInput {
  readonly view: ClusterView;
  readonly provider: InfrastructureProvider;
  readonly machines: readonly MachineView[];
  readonly certificates: CertificateReport;
  /** What people should know of the cluster's objects while nothing else is going on. */
  readonly notice?: string;
  /** A Machine as the API server has it. */
  readonly machineObjectOf: (name: string) => LiveObject | undefined;
  /** Generations of the objects that the last decision was made from, by name. */
  readonly generationOf: (object: LiveObject) => number | undefined;
}

const shownItems = 12;

/** A Cluster's status. Pure. */
export function clusterStatusOf(cluster: LiveObject, input: StatusInput): ClusterStatus {
  const { view, provider, machines } = input;
  const { records, progress, drift } = view;
  const infrastructure = seenInfrastructure(view);
  const target = records.transaction?.target;
  const clusterSpec = target === undefined ? {} : providerValue(clusterIn(target).spec);
  const endpoints = provider.apiEndpoints?.(infrastructure, clusterSpec) ?? [];
  const wanted = machines.filter(({ isWanted }) => isWanted);
  const ready = machines.filter(({ isReady }) => isReady).length;
  const isComplete = (count: number) => wanted.filter(({ isReady }) => isReady).length === count;
  const asked = view.unmet?.asked;
  const desired = asked === undefined ? wanted.length : machinesAskedFor(asked);
  const words = wordsIn(view, input.notice);
  return omitUndefined({
    ...words,
    ...generation(input.generationOf(cluster)),
    revision: records.revision?.number ?? 0,
    transaction: progress && {
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
    drift,
    machines: {
      desired,
      current: machines.filter(({ hostId }) => hostId !== undefined).length,
      ready,
      failed: machines.filter(({ phase }) => phase === "Failed").length,
      summary: `${ready}/${desired}`,
    },
    apiEndpoints: endpoints.length > 0 ? endpoints : undefined,
    certificates: certificatesIn(input.certificates),
    conditions: clusterConditionsOf(cluster, input, isComplete(desired), words.message),
    providerStatus: infrastructure.length > 0 ? providerStatusOf(infrastructure, input) : undefined,
  });
}

/**
 * Ready: all that is asked for is there. Progressing: a transaction is under way. Of a cluster with keys also
 * CertificatesValid and CertificatesAvailable, and EtcdClusterHealthy where etcd was asked. Pure.
 */
export function clusterConditionsOf(
  cluster: LiveObject,
  input: Pick<StatusInput, "view" | "generationOf" | "certificates">,
  hasMachines: boolean,
  message = "",
): Condition[] {
  const { view, generationOf } = input;
  const { phase, progress, unmet, terminalError } = view;
  const isMet = phase === "Running" && unmet === undefined && terminalError === undefined;
  const [failure] = unmet?.failures ?? [];
  const ofPhase = phase === "Running" ? (isMet ? "MachinesNotReady" : "RolledBack") : phase;
  const why = terminalError?.reason ?? failure?.reason ?? ofPhase;
  const isReady = isMet && hasMachines;
  const isUnknown = view.isBlind === true && terminalError === undefined;
  const states: readonly ConditionState[] = [
    {
      type: "Ready",
      status: isReady ? "True" : isUnknown ? "Unknown" : "False",
      reason: isReady ? "AsAsked" : why,
      message: isReady ? "" : message,
    },
    {
      type: "Progressing",
      status: progress === undefined ? "False" : "True",
      reason: progress?.phase ?? (isReady ? "Complete" : why),
      message: progress?.reason ?? "",
    },
    ...certificateStates(input.certificates),
    ...etcdStates(view.etcd),
  ];
  const about = { now: timeText(view.nowMs), generation: generationOf(cluster) };
  return conditionsOf(cluster, states, about);
}

function machinesAskedFor({ machines, machineSets, machineDeployments }: Desired): number {
  const sets = [...machineSets, ...machineDeployments].map(({ spec }) => spec.replicas);
  return sets.reduce((sum, replicas) => sum + replicas, machines.length);
}

function providerStatusOf(
  infrastructure: readonly Observed[],
  { provider }: Pick<StatusInput, "provider">,
): NonNullable<ClusterStatus["providerStatus"]> {
  return {
    apiVersion: provider.apiVersion,
    kind: provider.clusterSpec.kind.replace(/Spec$/, "Status"),
    resources: infrastructure.map(({ id, who, phase, status }) => ({
      kind: who.kind,
      name: who.name,
      id,
      phase,
      ...shownStatus(provider, who.kind, status),
    })),
  };
}

/** What a status says of a cluster in words; `notice` where there is nothing else to say. Pure. */
export function wordsIn(
  { phase, progress, message, terminalError }: ClusterView,
  notice?: string,
): Pick<ClusterStatus, "phase" | "message" | "errorReason" | "errorMessage"> {
  const said = message ?? progressText(progress) ?? terminalError?.message ?? notice;
  return omitUndefined({
    phase,
    message: said === undefined ? undefined : said.replaceAll("\n", "; "),
    errorReason: terminalError?.reason,
    errorMessage: terminalError?.message,
  });
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

/** A MachineSet's status. Pure. */
export function machineSetStatusOf(
  set: LiveObject,
  members: readonly MachineView[],
  input: StatusInput,
): MachineSetStatus {
  const { view, generationOf } = input;
  const minReadySeconds = Number(set.spec?.["minReadySeconds"] ?? 0);
  const available = members.filter((one) => isAvailable(one, minReadySeconds, view.nowMs)).length;
  const failure = firstFailure(view, set, members);
  const wanted = Number(set.spec?.["replicas"] ?? 1);
  return {
    replicas: members.length,
    fullyLabeledReplicas: members.filter((one) => isFullyLabeled(set, one, input)).length,
    readyReplicas: members.filter(({ isReady }) => isReady).length,
    availableReplicas: available,
    ...generation(generationOf(set)),
    labelSelector: selectorIn(set),
    ...versionOf(members),
    ...errorOf(failure),
    conditions: conditionsIn(set, input, [
      readiness(available === wanted && members.length === wanted, { failure, view }),
    ]),
  };
}

/** What goes with a deployment in its status, beside its sets. */
interface DeploymentView {
  readonly sets: readonly RolloutSet[];
  readonly members: readonly MachineView[];
  /** Of them those that are in the set of the present template and have followed it. */
  readonly updated: number;
}

/** A MachineDeployment's status. Pure. */
export function machineDeploymentStatusOf(
  deployment: LiveObject,
  { sets, members, updated }: DeploymentView,
  input: StatusInput,
): MachineDeploymentStatus {
  const { view, generationOf } = input;
  const counts = deploymentStatusOf(sets);
  const wanted = Number(deployment.spec?.["replicas"] ?? 1);
  const { replicas, availableReplicas: available } = counts;
  const isComplete = [replicas, available, updated].every((count) => count === wanted);
  const failure = firstFailure(view, deployment, members);
  const isUnderWay = view.progress !== undefined && members.some((one) => one.isUnderWay);
  return {
    ...counts,
    updatedReplicas: updated,
    unavailableReplicas: Math.max(counts.unavailableReplicas, wanted - available),
    ...generation(generationOf(deployment)),
    labelSelector: selectorIn(deployment),
    ...versionOf(members),
    conditions: conditionsIn(deployment, input, [
      readiness(isComplete, { failure, view }),
      progressing(isUnderWay, { failure, view, isComplete }),
    ]),
  };
}

/** What is known of a MachineHealthCheck; one of them is. */
interface HealthCheckView {
  readonly found: CheckedHealth | undefined;
  /** Why the object is not used as it is written. */
  readonly failure: ObjectFailure | undefined;
}

/** A MachineHealthCheck's status. Pure. */
export function machineHealthCheckStatusOf(
  check: LiveObject,
  { found, failure }: HealthCheckView,
  input: StatusInput,
): MachineHealthCheckStatus {
  return omitUndefined({
    ...generation(input.generationOf(check)),
    expectedMachines: found?.expected,
    currentHealthy: found?.healthy,
    remediationsAllowed: found?.allowed,
    conditions: conditionsIn(check, input, [remediation({ found, failure })]),
  });
}

function remediation({ found, failure }: HealthCheckView): ConditionState {
  const type = "RemediationAllowed";
  if (failure !== undefined) {
    return { type, status: "False", reason: failure.reason, message: failure.message };
  }
  if (found === undefined || found.isAllowed) return { type, status: "True", reason: type };
  const { expected, healthy } = found;
  const ill = expected - healthy;
  const message = `${ill} of ${counted(expected, "machine")} ${wordFor(ill, "is", "are")} unhealthy`;
  return { type, status: "False", reason: "TooManyUnhealthy", message };
}

/** Its own, or that of the first of its machines that failed for good, else of any. */
function firstFailure(
  view: ClusterView,
  { kind, metadata }: LiveObject,
  members: readonly MachineView[],
): Pick<ObjectFailure, "reason" | "message" | "isTransient"> | undefined {
  const own = view.unmet?.failures.find(
    (failure) => failure.kind === kind && failure.name === metadata.name,
  );
  if (own !== undefined) return own;
  const failed = members.flatMap(({ failure }) => failure ?? []);
  const first = failed.find(({ isTransient }) => !isTransient) ?? failed[0];
  return first && { ...first, message: `Machine ${first.name}: ${first.message}` };
}

/** Whether the Machine carries all labels of the set's template. */
function isFullyLabeled(set: LiveObject, { machine }: MachineView, input: StatusInput): boolean {
  const wanted = templateMetadataOf(set).labels ?? {};
  const labels = input.machineObjectOf(machine.name)?.metadata.labels;
  if (labels === undefined) return false;
  return Object.entries(wanted).every(([key, value]) => labels[key] === value);
}

/** "1.34.2", or "1.34.2, 1.35.0" where not all run the same. */
function versionOf(members: readonly MachineView[]): { version?: string } {
  const kubelets = new Set(members.flatMap(({ seen }) => seen?.node?.kubelet ?? []));
  return kubelets.size === 0 ? {} : { version: [...kubelets].sort().join(", ") };
}

interface StateInput {
  readonly failure: Pick<ObjectFailure, "reason" | "message"> | undefined;
  readonly view: ClusterView;
}

function readiness(isReady: boolean, { failure, view }: StateInput): ConditionState {
  if (failure !== undefined) {
    return { type: "Ready", status: "False", reason: failure.reason, message: failure.message };
  }
  if (isReady) return { type: "Ready", status: "True", reason: "MachinesAvailable" };
  const reason = view.phase === "Running" ? "MachinesNotAvailable" : view.phase;
  return { type: "Ready", status: "False", reason };
}

function progressing(
  isUnderWay: boolean,
  { failure, view, isComplete }: StateInput & { readonly isComplete: boolean },
): ConditionState {
  const type = "Progressing";
  if (isUnderWay) {
    const { phase = "Changing", reason: message = "" } = view.progress ?? {};
    return { type, status: "True", reason: phase, message };
  }
  if (failure === undefined) {
    return { type, status: "False", reason: isComplete ? "Complete" : view.phase };
  }
  return { type, status: "False", reason: failure.reason, message: failure.message };
}

function conditionsIn(live: LiveObject, input: StatusInput, states: readonly ConditionState[]) {
  const { view, generationOf } = input;
  const about = { now: timeText(view.nowMs), generation: generationOf(live) };
  return conditionsOf(live, states, about);
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
      deleting: one.isGoing,
      ready: one.isReady,
      available: isAvailable(one, about.minReadySeconds, about.nowMs),
    })),
  };
}

function isAvailable(
  { isReady, readySinceMs }: MachineView,
  minReadySeconds: number,
  nowMs: number,
): boolean {
  const readiness: Readiness = omitUndefined({ ready: isReady, readySinceMs });
  return availabilityOf(readiness, minReadySeconds, nowMs).kind === "available";
}

function generation(observed: number | undefined): { observedGeneration?: number } {
  return observed === undefined ? {} : { observedGeneration: observed };
}

/** What the scale subresource tells autoscalers. */
function selectorIn({ spec }: LiveObject): string {
  return selectorText((spec?.["selector"] ?? {}) as LabelSelector);
}
