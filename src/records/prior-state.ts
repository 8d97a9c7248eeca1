import { isJsonObject, type JsonObject } from "../api/json.js";
import { shownUnlessSecret, withoutSecretFields } from "../api/secret-fields.js";
import { keyOf, type NodeKey, type SecretFields } from "../graph/graph.js";
import {
  changesRecordsOnly,
  type RevisionRecord,
  type TransactionGoal,
  type TransactionRecord,
} from "./transaction.js";
import type { Identity } from "../provider/port.js";
import { machineKey, type TargetMachine } from "./target.js";

/** A resource as Pulumi's state has it, in our terms. */
export interface RecordedResource {
  readonly urn: string;
  readonly key: NodeKey;
  readonly kind: string;
  readonly name: string;
  readonly type: "component" | "resource";
  readonly parent?: NodeKey;
  /** Absent for components. */
  readonly id?: string;
  /** Without the provider property. Secrets in clear. */
  readonly inputs: JsonObject;
  readonly secretInputs: readonly string[];
  readonly outputs: JsonObject;
  /** Absent: none. */
  readonly secretOutputs?: readonly string[];
  /** Which fields of spec and status are the secret ones, as the recorded target says; absent: nothing tells. */
  readonly secret?: SecretFields;
  readonly dependsOn: readonly NodeKey[];
  /** The cloud accepted it, but a create or update did not finish. */
  readonly unfinished: boolean;
  /** Replaced, or pending deletion: its deletion is still to come. */
  readonly deleting: boolean;
}

/** An operation that a dead engine left behind. */
export interface PendingOperation {
  readonly type: string;
  readonly urn: string;
  readonly key: NodeKey;
  readonly kind: string;
  readonly inputs: JsonObject;
}

/** Everything that is recorded about one stack. Resources in state order. */
export interface PriorState {
  readonly resources: readonly RecordedResource[];
  readonly pending: readonly PendingOperation[];
  readonly transaction?: TransactionRecord;
  readonly revision?: RevisionRecord;
  /**
   * It was read from a copy, since the state was cut off, and may be older than the cloud: what it does not
   * record may be in use all the same.
   */
  readonly fromCopy?: true;
}

export const emptyState: PriorState = { resources: [], pending: [] };

/** The kinds that carry the transaction: they have no life in a cloud. */
export function isRecordKind(kind: string): boolean {
  return kind === "Transaction" || kind === "Revision";
}

/** The record of a key, but for one whose deletion is pending. */
export function recordAt(
  resources: readonly RecordedResource[],
  wanted: NodeKey,
): RecordedResource | undefined {
  return resources.find(({ key, deleting }) => key === wanted && !deleting);
}

/**
 * The last revision where Transaction alone tells of it: its commit was killed before its own record was written, or a plain
 * `pulumi destroy` has deleted that. Pure.
 */
export function unrecordedRevision({
  revision,
  resources,
}: PriorState): RevisionRecord | undefined {
  const isRecorded = resources.some(({ kind, deleting }) => kind === "Revision" && !deleting);
  return isRecorded ? undefined : revision;
}

/** Recorded resources that exist in a cloud, without those whose deletion is pending. */
export function cloudResources(prior: PriorState): RecordedResource[] {
  return inCloud(prior).filter(({ deleting }) => !deleting);
}

/**
 * What Pulumi itself has replaced, and deletes in whatever pass comes next: nothing is planned with it. The
 * same id may be recorded a second time, as find-or-create gives a resource to its own successor.
 */
export function pendingDeletions(prior: PriorState): RecordedResource[] {
  return inCloud(prior).filter(({ deleting }) => deleting);
}

function inCloud({ resources }: PriorState): RecordedResource[] {
  return resources.filter(({ type, kind }) => type === "resource" && !isRecordKind(kind));
}

export function recordedSpec(resource: RecordedResource): JsonObject {
  return (resource.outputs["spec"] ?? resource.inputs["spec"] ?? {}) as JsonObject;
}

/** The computed facts that are recorded of it; none of what told none. Pure. */
export function recordedStatus({ outputs: { status } }: RecordedResource): JsonObject {
  return isJsonObject(status) ? status : {};
}

/**
 * What each resource was last asked to be, as the records tell: what is recorded of it, else what an interrupted
 * creation was given, else the target. Inputs that come from other resources are none of them there.
 */
export function knownSpecs(state: PriorState): ReadonlyMap<NodeKey, JsonObject> {
  return new Map([
    ...(state.transaction?.target.nodes ?? []).map((node) => [keyOf(node), node.spec] as const),
    ...state.pending.map(({ key, inputs }) => [key, (inputs["spec"] ?? {}) as JsonObject] as const),
    ...cloudResources(state).map((one) => [one.key, recordedSpec(one)] as const),
  ]);
}

/**
 * Inputs or outputs of a record as everybody may see them: `[secret]` for each field that the target marks, for the whole of what
 * is recorded as secret and of which nobody says where the secret is. Pure.
 */
export function shownProperties(
  { secret, secretInputs, secretOutputs = [] }: RecordedResource,
  properties: JsonObject,
): JsonObject {
  const marked = [...secretInputs, ...secretOutputs];
  const fields: Readonly<Record<string, readonly string[] | undefined>> = {
    spec: secret?.inputs,
    status: secret?.outputs,
  };
  return Object.fromEntries(
    Object.entries(properties).map(([key, value]) => {
      const told = fields[key];
      if (told !== undefined && isJsonObject(value)) return [key, withoutSecretFields(value, told)];
      return [key, shownUnlessSecret(value, marked.includes(key))];
    }),
  );
}

export function recordedIdentity(resource: RecordedResource): Identity {
  return resource.inputs["who"] as Identity;
}

/** Whether the last transaction did not get to its commit. */
export function isOpen({
  transaction,
  revision,
}: Pick<PriorState, "transaction" | "revision">): boolean {
  return transaction !== undefined && transaction.number !== revision?.number;
}

/** The request that changes records alone and was begun and not committed. Pure. */
export function openRecordsRequest(
  prior: Pick<PriorState, "transaction" | "revision">,
): TransactionGoal | undefined {
  const { goal } = prior.transaction ?? {};
  return goal !== undefined && isOpen(prior) && changesRecordsOnly(goal) ? goal : undefined;
}

/** Every machine that the records speak of, by name: oldest knowledge first, newest counts. Pure. */
export function knownMachines({ transaction, revision }: PriorState): Map<string, TargetMachine> {
  const known = [
    ...(revision?.target.machines ?? []),
    ...(transaction?.former ?? []),
    ...(transaction?.target.machines ?? []),
  ];
  return new Map(known.map((machine) => [machine.name, machine]));
}

/** Those of them that are wanted, or of which a host is recorded: the others are gone. Pure. */
export function standingMachines(prior: PriorState): TargetMachine[] {
  const wanted = new Set(prior.transaction?.target.machines.map(({ name }) => name));
  const hosted = new Set(prior.resources.map(({ parent }) => parent));
  return [...knownMachines(prior).values()].filter(
    ({ name }) => wanted.has(name) || hosted.has(machineKey(name)),
  );
}
