import { omitUndefined } from "../api/omit-undefined.js";
import type { MachinePhase } from "../api/status.js";
import { keyOf, type NodeKey } from "../graph/graph.js";
import { knownMachines, cloudResources, type RecordedResource } from "../records/prior-state.js";
import { machineKey, type TargetMachine } from "../records/target.js";
import type { Observed } from "../provider/port.js";
import type { ClusterView } from "../source/cluster-view.js";

/** One machine of a view: wanted, or not wanted any more while hosts of it are left. */
export interface MachineView {
  readonly machine: TargetMachine;
  readonly isWanted: boolean;
  readonly phase: MachinePhase;
  /** Of the host that serves it, or shall. */
  readonly hostId?: string;
  readonly seen?: Observed;
  /** It counts as ready: its host's node answers. */
  readonly isReady: boolean;
  /** What is done now concerns a host of it. */
  readonly isUnderWay: boolean;
}

/** Every machine that is wanted or still has a host that is not known to be gone, wanted ones first. Pure. */
export function machinesOf(view: ClusterView): MachineView[] {
  const { records } = view;
  const target = view.planned ?? records.transaction?.target;
  const wanted = view.phase === "Deleting" ? [] : (target?.machines ?? []);
  const names = new Set(wanted.map(({ name }) => name));
  const hosts = hostsByMachine(view);
  const underWay = machinesUnderWay(view);
  const viewOf = (machine: TargetMachine, isWanted: boolean): MachineView => ({
    ...machineView(machine, isWanted, hosts, view),
    isUnderWay: underWay.has(machine.host) || underWay.has(machineKey(machine.name)),
  });
  const known = new Map([
    ...knownMachines(records),
    ...wanted.map((machine) => [machine.name, machine] as const),
  ]);
  const leaving = [...known.values()].filter(
    ({ name }) => !names.has(name) && (hosts.get(machineKey(name)) ?? []).length > 0,
  );
  return [
    ...wanted.map((machine) => viewOf(machine, true)),
    ...leaving.map((machine) => viewOf(machine, false)),
  ];
}

function machineView(
  machine: TargetMachine,
  isWanted: boolean,
  hosts: ReadonlyMap<NodeKey, readonly RecordedResource[]>,
  { observedResources }: ClusterView,
): Omit<MachineView, "isUnderWay"> {
  const own = hosts.get(machineKey(machine.name)) ?? [];
  // Until the new host runs, the one that it follows is the Machine's.
  const serving = own.find(({ key }) => isServing(observedResources?.get(key)));
  const host = own.find(({ key }) => key === machine.host) ?? serving;
  const shown = isServing(host && observedResources?.get(host.key)) ? host : (serving ?? host);
  const observed = shown === undefined ? undefined : observedResources?.get(shown.key);
  const seen = observed === "gone" ? undefined : observed;
  const isReady = isWanted && isServing(observed);
  return omitUndefined({
    machine,
    isWanted,
    isReady,
    phase: isWanted ? phaseOf(shown, observed) : "Terminating",
    hostId: shown?.id,
    seen,
  });
}

function isServing(observed: Observed | "gone" | undefined): boolean {
  return observed !== undefined && observed !== "gone" && observed.phase === "ready";
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
