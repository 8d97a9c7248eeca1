import { digestOf } from "../api/digest.js";
import type { JsonObject } from "../api/json.js";
import type { AnyObject } from "../api/types.js";
import type { NodeKey, ResourceGraph } from "../graph/graph.js";
import type { CloudIdentity, Identity } from "../provider/port.js";
import type { ExpandedMachine } from "../sets/expand.js";

/** Version of what Transaction and Revision hold. A newer one is refused, an older one migrated. */
export const stateSchemaVersion = 3;

/**
 * Where a transaction leads: the complete graph with frozen inputs and incarnations, and the
 * objects it was made from. Recorded in Transaction before anything is done, in Revision after.
 */
export interface Target {
  readonly cluster: string;
  readonly provider: string;
  /** The users' objects, validated and defaulted. */
  readonly objects: readonly AnyObject[];
  readonly machines: readonly TargetMachine[];
  readonly nodes: ResourceGraph;
}

export interface TargetMachine extends ExpandedMachine {
  readonly controlPlane: boolean;
  /** The node of the host that serves the machine. */
  readonly host: NodeKey;
}

/** Digest that tells whether two targets are the same. */
export function targetDigest(target: Target): string {
  return digestOf(target, 32);
}

/** Highest incarnation ever planned, by "<machine>-<hash>". */
export type Spent = Readonly<Record<string, number>>;

/** Where a transaction goes: to what somebody asked for, or back to the last committed revision. */
export type Direction = "forward" | "back";

/** What a transaction is about, for people: counts of steps, and a line for each change. */
export interface ChangeSummary {
  readonly create: number;
  readonly update: number;
  readonly delete: number;
  /** "± replace Machine cp-0: size small -> large"; at most `maxSummaryLines`, then a count. */
  readonly lines: readonly string[];
}

/** How a transaction ended. */
export type Ending =
  | { readonly kind: "committed" }
  /** A later transaction took it back. */
  | { readonly kind: "rolledBack"; readonly failure: string }
  /** Interrupted, and something else was asked for before it went on. */
  | { readonly kind: "superseded"; readonly failure: string };

/** A transaction that is over. Kept in Revision, oldest first, within bounds (src/plan/history). */
export interface HistoryEntry {
  readonly number: number;
  readonly direction: Direction;
  /** "<user>@<host>". */
  readonly by: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly summary: ChangeSummary;
  readonly ending: Ending;
  /** Of committed ones, until the bound on bytes drops it: what `rollback --to` goes to. */
  readonly target?: Target;
}

/** What a Transaction resource holds encrypted. */
export interface TransactionPayload {
  readonly target: Target;
  readonly spent: Spent;
  readonly direction: Direction;
  /** "<user>@<host>" of whoever began it. */
  readonly by: string;
  /** Random, for keyed digests of the state in saved plans. */
  readonly digestKey: string;
  /** When it has to be committed, milliseconds since the epoch; afterwards it is rolled back. */
  readonly deadlineAtMs: number;
  readonly summary: ChangeSummary;
  /** Transactions since the last Revision that did not get to a commit, oldest first. */
  readonly attempts: readonly HistoryEntry[];
  /** Machines of those whose hosts are left and that no other record describes. */
  readonly former?: readonly TargetMachine[];
  /** With what those have gone beyond their point of no return: it stays so until a commit. */
  readonly crossed?: readonly Crossed[];
  /** Where the resources are: a look at any other cloud says nothing about them. Absent: nobody could tell. */
  readonly cloud?: CloudIdentity;
}

/** A control-plane machine that an uncommitted transaction has brought to a newer minor version. */
export interface Crossed {
  readonly machine: string;
  /** The host that it was seen on. */
  readonly host: NodeKey;
  /** "1.35.0". */
  readonly version: string;
}

/** A Transaction resource, decoded. */
export interface TransactionRecord extends TransactionPayload {
  readonly number: number;
  readonly clusterUid: string;
  /** Who may change the stack: "files" or an API server. */
  readonly owner: string;
  readonly startedAtMs: number;
}

/** What a Revision resource holds encrypted. */
export interface RevisionPayload {
  readonly target: Target;
  /** Oldest first; the last one committed this revision. */
  readonly history: readonly HistoryEntry[];
}

/** A Revision resource, decoded. */
export interface RevisionRecord extends RevisionPayload {
  readonly number: number;
}

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
  readonly dependsOn: readonly NodeKey[];
  /** The cloud accepted it, but a create or update did not finish. */
  readonly unfinished: boolean;
  /** Replaced or condemned, its deletion still owed. */
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
}

export const emptyState: PriorState = { resources: [], pending: [] };

/** The kinds that carry the transaction: they have no life in a cloud. */
export function isRecordKind(kind: string): boolean {
  return kind === "Transaction" || kind === "Revision";
}

/** Recorded resources that exist in a cloud, without those that are condemned. */
export function cloudResources(prior: PriorState): RecordedResource[] {
  return inCloud(prior).filter(({ deleting }) => !deleting);
}

/**
 * What Pulumi itself has replaced, and deletes in whatever pass comes next: nothing is planned with it. The
 * same id may be recorded a second time, as find-or-create gives a resource to its own successor.
 */
export function condemnedResources(prior: PriorState): RecordedResource[] {
  return inCloud(prior).filter(({ deleting }) => deleting);
}

function inCloud({ resources }: PriorState): RecordedResource[] {
  return resources.filter(({ type, kind }) => type === "resource" && !isRecordKind(kind));
}

export function recordedSpec(resource: RecordedResource): JsonObject {
  return (resource.outputs["spec"] ?? resource.inputs["spec"] ?? {}) as JsonObject;
}

export function recordedIdentity(resource: RecordedResource): Identity {
  return resource.inputs["who"] as Identity;
}
