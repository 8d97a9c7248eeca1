import { omitUndefined } from "../api/omit-undefined.js";
import { type JsonObject, sameJson } from "../api/json.js";
import type { MachinePhase } from "../api/status.js";
import { keyOf, type NodeKey, refsIn } from "../graph/graph.js";
import { knownMachines, cloudResources, type RecordedResource } from "../records/prior-state.js";
import { sameTemplate } from "../sets/template.js";
import { desiredIn, machineKey, type Target, type TargetMachine } from "../records/target.js";
import type { Observed } from "../provider/port.js";
import { hostReadiness, isServing } from "../workload/node-readiness.js";
import type { DeletionStage } from "../workload/drain/deletion-stage.js";
import type { ClusterView, ObjectFailure } from "../source/cluster-view.js";

/** One machine of a view: wanted, or not wanted any more while hosts of it are left. */
export interface MachineView {
  readonly machine: TargetMachine;
  readonly isWanted: boolean;
  readonly phase: MachinePhase;
  /** Of the host that serves it, or shall. */
  readonly hostId?: string;
  readonly seen?: Observed;
  /** The deletion of its host is under way, or comes next. A host that only will go still serves. */
  readonly isGoing: boolean;
  /** It counts as ready: its host's node answers, and the host is not going. */
  readonly isReady: boolean;
  /** Since when, milliseconds since the epoch, where that is known. */
  readonly readySinceMs?: number;
  /** What is done now concerns a host of it. */
  readonly isUnderWay: boolean;
  /** Its host has been given what its spec says. */
  readonly isUpdated: boolean;
  /** What its host waits for before it goes; absent: it does not go, or waits for nothing. */
  readonly leaving?: DeletionStage;
  /** Why it is not as its user asks for it. */
  readonly failure?: ObjectFailure;
}

/** Every machine that is wanted or still has a host that is not known to be gone, wanted ones first. Pure. */
export function machinesOf(view: ClusterView): MachineView[] {
  const { records } = view;
  const target = view.planned ?? records.transaction?.target;
  const wanted = view.phase === "Deleting" ? [] : (target?.machines ?? []);
  const names = new Set(wanted.map(({ name }) => name));
  const unmade = (view.unmet?.machines ?? []).filter(({ name }) => !names.has(name));
  const failures = new Map(
    failuresOf(view, "Machine").map((failure) => [failure.name, failure] as const),
  );
  const hosts = hostsByMachine(view);
  const underWay = machinesUnderWay(view);
  const leavingHosts = new Map(view.progress?.leaving?.map(({ key, stage }) => [key, stage]));
  const updated = updatedHosts(view, target);
  const ends = areDeletionsNext(view);
  const viewOf = (machine: TargetMachine, isWanted: boolean): MachineView => {
    const failure = failures.get(machine.name);
    const own = hosts.get(machineKey(machine.name)) ?? [];
    const isUnderWay = underWay.has(machine.host) || underWay.has(machineKey(machine.name));
    const [leaving] = own.flatMap(({ key }) => leavingHosts.get(key) ?? []);
    const isGoing = !isWanted && (ends || isUnderWay || leaving !== undefined);
    const seen = machineView(machine, { isGoing, own }, view);
    const isGivenUp = failure?.isTransient === false && seen.hostId === undefined;
    return omitUndefined({
      ...seen,
      isWanted,
      isUnderWay,
      isUpdated: updated.has(machine.host),
      leaving,
      failure,
      phase: isGivenUp ? "Failed" : seen.phase,
    });
  };
  const known = new Map([
    ...knownMachines(records),
    ...wanted.map((machine) => [machine.name, machine] as const),
  ]);
  const leaving = [...known.values()].filter(
    ({ name }) => !names.has(name) && (hosts.get(machineKey(name)) ?? []).length > 0,
  );
  const isLeaving = new Set(leaving.map(({ name }) => name));
  return [
    ...wanted.map((machine) => viewOf(machine, true)),
    ...unmade.filter(({ name }) => !isLeaving.has(name)).map((machine) => viewOf(machine, true)),
    ...leaving.map((machine) => viewOf(machine, false)),
  ];
}

/**
 * Whether hosts that the records do not want any more are deleted next: those of a cluster that goes, and what a
 * committed transaction has superseded. Before its commit an old host serves until its own turn comes.
 */
function areDeletionsNext({ phase, planned, records }: ClusterView): boolean {
  const isCommitted = records.transaction?.number === records.revision?.number;
  return phase === "Deleting" || (planned === undefined && isCommitted);
}

function machineView(
  machine: TargetMachine,
  { isGoing, own }: { readonly isGoing: boolean; readonly own: readonly RecordedResource[] },
  { observedResources }: ClusterView,
): Omit<MachineView, "isWanted" | "isUnderWay" | "isUpdated" | "leaving" | "failure"> {
  // Until the new host runs, the one that it follows is the Machine's.
  const serving = own.find(({ key }) => isServing(observedResources?.get(key)));
  const host = own.find(({ key }) => key === machine.host) ?? serving;
  const shown = isServing(host && observedResources?.get(host.key)) ? host : (serving ?? host);
  const observed = shown === undefined ? undefined : observedResources?.get(shown.key);
  const seen = observed === "gone" ? undefined : observed;
  const { ready, readySinceMs } = hostReadiness(observed);
  return omitUndefined({
    machine,
    isGoing,
    isReady: ready && !isGoing,
    readySinceMs,
    phase: isGoing ? "Terminating" : phaseOf(shown, observed),
    hostId: shown?.id,
    seen,
  });
}

function phaseOf(
  record: RecordedResource | undefined,
  observed: Observed | "gone" | undefined,
): MachinePhase {
  if (record === undefined) return "Pending";
  if (observed === undefined) return "Unknown";
  if (observed === "gone") return "Failed";
  switch (observed.phase) {
    case "ready":
      return "Running";
    case "pending":
      return observed.node === undefined ? "Provisioning" : "Provisioned";
    case "stopped":
      return "Provisioned";
    case "deleting":
      return "Terminating";
    case "failed":
    case "gone":
      return "Failed";
  }
}

/** What is done now, and the machine components that recorded hosts among it belong to. */
function machinesUnderWay({ progress, records }: ClusterView): ReadonlySet<NodeKey> {
  const keys = new Set(progress?.keys);
  if (keys.size === 0) return keys;
  const parents = cloudResources(records).flatMap(({ key, parent }) =>
    keys.has(key) && parent !== undefined ? [parent] : [],
  );
  return new Set([...keys, ...parents]);
}

/** What failed of one kind of object. Pure. */
function failuresOf({ unmet }: ClusterView, kind: ObjectFailure["kind"]): ObjectFailure[] {
  return (unmet?.failures ?? []).filter((failure) => failure.kind === kind);
}

/**
 * Whether the machines of a deployment are led to the template that its user asks for: not where that was
 * refused or taken back. Pure.
 */
export function followsTemplate(view: ClusterView, deployment: string): boolean {
  const { unmet, planned, records } = view;
  if (unmet === undefined) return true;
  const failed = failuresOf(view, "MachineDeployment").some(({ name }) => name === deployment);
  if (failed || unmet.asked === undefined) return !failed;
  const kept = planned ?? records.transaction?.target;
  const isIt = ({ metadata }: { metadata: { name: string } }) => metadata.name === deployment;
  const asked = unmet.asked.machineDeployments.find(isIt)?.spec.template;
  const led = kept && desiredIn(kept).machineDeployments.find(isIt)?.spec.template;
  return asked !== undefined && led !== undefined && sameTemplate(asked, led);
}

/** Hosts that were last given what the target says, as far as it does not come from other resources. */
function updatedHosts({ records }: ClusterView, target: Target | undefined): Set<NodeKey> {
  const given = new Map(
    cloudResources(records).map(({ key, inputs }) => [key, inputs["spec"] as JsonObject]),
  );
  const hosts = (target?.nodes ?? []).filter((node) => {
    const spec = given.get(keyOf(node));
    if (spec === undefined) return false;
    return Object.entries(node.spec).every(
      ([field, wanted]) => refsIn(wanted).length > 0 || sameJson(wanted, spec[field] ?? null),
    );
  });
  return new Set(hosts.map(keyOf));
}

/** Recorded hosts by machine component, without those of which a leaving machine has lost sight for good. */
function hostsByMachine({
  records,
  observedResources,
}: ClusterView): Map<NodeKey, RecordedResource[]> {
  const wanted = new Set(records.transaction?.target.nodes.map(keyOf));
  const hosts = new Map<NodeKey, RecordedResource[]>();
  for (const record of cloudResources(records)) {
    const { parent, key } = record;
    if (parent === undefined) continue;
    if (!wanted.has(key) && observedResources?.get(key) === "gone") continue;
    hosts.set(parent, [...(hosts.get(parent) ?? []), record]);
  }
  return hosts;
}
