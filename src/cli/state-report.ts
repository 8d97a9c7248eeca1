import type { JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { withoutSecretFields } from "../api/secret-fields.js";
import type { MachineVersions } from "../api/types.js";
import { keyOf, type NodeKey } from "../graph/graph.js";
import { hostsOfPoint } from "../plan/undo/point-of-no-return.js";
import type { UndoClass } from "../plan/plan.js";
import {
  cloudResources,
  isRecordKind,
  pendingDeletions,
  type PriorState,
  type RecordedResource,
  shownProperties,
  standingMachines,
} from "../records/prior-state.js";
import { machineKey, machineOfKey, type TargetMachine } from "../records/target.js";
import { inNameOrder } from "../sets/name-order.js";
import { ownerText } from "../sets/owning-objects.js";

/**
 * How far a record is: `planned` has none yet, `unfinished` was accepted by the cloud, `interrupted` is what a dead
 * engine was at, `leaving` is what the last transaction no longer wants.
 */
type RecordPhase = "recorded" | "planned" | "unfinished" | "interrupted" | "leaving";

/** One line of what is recorded: a resource of the cloud, or a Machine. */
export interface StateItem {
  /** "LocalHost/web-0-a830c4ef-1", "Machine/web-0". */
  readonly key: NodeKey;
  /** The cloud's; absent for Machines and for what is not made yet. */
  readonly id?: string;
  readonly phase: RecordPhase;
  /** Whose host it is. */
  readonly machine?: string;
  readonly machineSet?: string;
  readonly machineDeployment?: string;
}

/** Everything that is recorded of one, with secrets left out. */
export interface StateItemDetails extends StateItem {
  /** How what the last transaction did to it can be taken back, where that is not simply so. */
  readonly undo?: UndoClass;
  readonly urn?: string;
  /** The marks that the cloud's resource carries. */
  readonly identity?: JsonObject;
  readonly inputs?: JsonObject;
  readonly outputs?: JsonObject;
  readonly dependsOn?: readonly NodeKey[];
  /** Of a Machine. */
  readonly versions?: MachineVersions;
  readonly hosts?: readonly NodeKey[];
}

/** Infrastructure first, then each Machine with its hosts, in name order. Pure. */
export function stateItems(state: PriorState): StateItem[] {
  const { machines, resources } = recordsOf(state);
  const items = [
    ...resources.map((resource) => resourceItem(resource, state)),
    ...plannedItems(state),
  ];
  const shared = items.filter(({ machine }) => machine === undefined);
  const hosted = machines
    .toSorted((left, right) => inNameOrder(left.name, right.name))
    .flatMap((machine) => [
      machineItem(machine, state),
      ...items
        .filter((item) => item.machine === machine.name)
        .map((item) => ({ ...item, ...setOf(machine) })),
    ]);
  return [...shared, ...hosted];
}

/** One of them in full; undefined for what is not recorded. Pure. */
export function stateItemDetails(key: NodeKey, state: PriorState): StateItemDetails | undefined {
  const item = stateItems(state).find((one) => one.key === key);
  if (item === undefined) return undefined;
  const { machines, resources } = recordsOf(state);
  const machine = machines.find(({ name }) => machineKey(name) === key);
  if (machine !== undefined) {
    const hosts = resources.filter(({ parent }) => parent === key).map((one) => one.key);
    return { ...item, versions: machine.spec.versions, hosts, inputs: specOf(machine, state) };
  }
  const record = resources.find((one) => one.key === key);
  if (record === undefined) return item;
  const { urn, inputs, outputs, dependsOn } = record;
  const needs = dependsOn.filter((need) => !isRecordKey(need) && need !== record.parent);
  const { who, ...wanted } = inputs;
  const { who: _same, ...reported } = outputs;
  return omitUndefined({
    ...item,
    undo: undoOf(key, state),
    urn,
    identity: who as JsonObject | undefined,
    inputs: shownProperties(record, wanted),
    outputs: shownProperties(record, reported),
    dependsOn: needs.length > 0 ? needs : undefined,
  });
}

interface Records {
  readonly machines: readonly TargetMachine[];
  readonly resources: readonly RecordedResource[];
}

/** Machines that are wanted, or that still have a host on record. */
function recordsOf(state: PriorState): Records {
  const resources = [...cloudResources(state), ...pendingDeletions(state)];
  return { machines: standingMachines(state), resources };
}

function resourceItem(resource: RecordedResource, state: PriorState): StateItem {
  const { key, id, parent } = resource;
  const machine = parent && machineOfKey(parent);
  return omitUndefined({ key, id, phase: phaseOf(resource, state), machine });
}

function phaseOf({ key, deleting, unfinished }: RecordedResource, state: PriorState): RecordPhase {
  if (state.pending.some((operation) => operation.key === key)) return "interrupted";
  if (unfinished) return "unfinished";
  const nodes = state.transaction?.target.nodes ?? [];
  return deleting || !nodes.some((node) => keyOf(node) === key) ? "leaving" : "recorded";
}

function machineItem(machine: TargetMachine, { transaction }: PriorState): StateItem {
  const { name } = machine;
  const isWanted = transaction?.target.machines.some((one) => one.name === name) === true;
  const phase = isWanted ? "recorded" : "leaving";
  return { key: machineKey(name), phase, ...setOf(machine) };
}

function setOf({ owner }: TargetMachine): Pick<StateItem, "machineSet" | "machineDeployment"> {
  return omitUndefined({
    machineSet: owner?.machineSet,
    machineDeployment: owner?.machineDeployment,
  });
}

/** What an open transaction has yet to make. */
function plannedItems({ resources, pending, transaction }: PriorState): StateItem[] {
  const recorded = new Set(resources.map(({ key }) => key));
  const interrupted = new Set(pending.map(({ key }) => key));
  return (transaction?.target.nodes ?? [])
    .filter((node) => node.type === "resource" && !recorded.has(keyOf(node)))
    .map((node) =>
      omitUndefined({
        key: keyOf(node),
        phase: interrupted.has(keyOf(node)) ? ("interrupted" as const) : ("planned" as const),
        machine: node.parent && machineOfKey(node.parent),
      }),
    );
}

function undoOf(key: NodeKey, { transaction }: PriorState): UndoClass | undefined {
  if ((transaction?.pointsOfNoReturn ?? []).flatMap(hostsOfPoint).includes(key)) {
    return "pointOfNoReturn";
  }
  return transaction?.compensable.includes(key) === true ? "compensable" : undefined;
}

function specOf({ spec }: TargetMachine, { transaction, revision }: PriorState): JsonObject {
  const told = [revision?.target, transaction?.target];
  const secret = told.flatMap((target) => target?.secretFields ?? []);
  return withoutSecretFields(spec.providerSpec.value ?? {}, secret);
}

/** Everything needs Transaction. */
function isRecordKey(key: NodeKey): boolean {
  return isRecordKind(key.split("/")[0] ?? "");
}

/** "MachineDeployment web"; empty for what is of no set. Pure. */
export function ownerOfItem({ machineSet, machineDeployment }: StateItem): string {
  if (machineSet === undefined) return "";
  return ownerText(omitUndefined({ machineSet, machineDeployment, ordinal: 0 }));
}
