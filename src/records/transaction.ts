import type { Annotations } from "../api/update-policy.js";
import type { KeyRing } from "../bootstrap/certificates/key-ring.js";
import type { Target, TargetMachine } from "./target.js";
import type { NodeKey } from "../graph/graph.js";
import type { CloudIdentity } from "../provider/port.js";
import type { JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { KeyStage } from "../api/key-stage.js";
import type { OwnerMove } from "../sets/moves.js";

/** Version of what Transaction and Revision hold. A newer one is refused, an older one migrated. */
export const stateSchemaVersion = 5;

/** Highest incarnation ever planned, by "<machine>-<hash>". */
export type Spent = Readonly<Record<string, number>>;

/** Why resources serve nobody any more that may well run, by their keys. */
export type GivenUp = Readonly<Record<NodeKey, string>>;

/** Where a transaction goes: to what somebody asked for, or back to the last committed revision. */
export type Direction = "forward" | "back";

/**
 * What somebody asked a transaction for. It is recorded at the begin, so that the same words lead to the same
 * target however often they are interrupted. JSON data.
 */
export type TransactionGoal =
  /** To what objects say; with `moves`, which machines get another owner on the way. */
  | { readonly kind: "up"; readonly moves?: readonly OwnerMove[] }
  /** The cloud's resources of a cluster whose state is lost get records; nothing changes in the cloud. */
  | { readonly kind: "adopt" }
  /** To the recorded graph of an earlier revision; `named`: its number was given. */
  | { readonly kind: "rollback"; readonly to: number; readonly named: boolean }
  /** To nothing, on request. */
  | { readonly kind: "destroy" }
  /** From one owner to another; nothing changes in the cloud. Without owners in records of early releases. */
  | { readonly kind: "move"; readonly to?: string; readonly from?: string }
  /** A Machine is no longer ours: its host stays in the cloud without our marks. */
  | { readonly kind: "forget"; readonly machine: string }
  /** A host that was there before gets our marks and a record, and nothing else: it serves a Machine from then on. */
  | { readonly kind: "import"; readonly machine: string; readonly id: string }
  /** Every host is replaced by one that is made with the next keys. */
  | { readonly kind: "rotateKeys"; readonly to: KeyStage }
  /** What another transaction has begun is taken back. */
  | { readonly kind: "takeBack" };

/**
 * Whether a request changes records and ownership tags alone. Its plan holds its own adoptions, imports and releases, and no other step;
 * what differs from the target beside them waits for the next `up`. Pure.
 */
export function changesRecordsOnly({ kind }: TransactionGoal): boolean {
  return kind === "adopt" || kind === "import" || kind === "forget" || kind === "move";
}

/** What a transaction is about, for people: counts of steps, and a line for each change. */
export interface ChangeSummary {
  readonly create: number;
  /** Absent: none. */
  readonly adopt?: number;
  /** Hosts that were there before; absent: none. */
  readonly import?: number;
  /** Machines that get another owner; absent: none. */
  readonly move?: number;
  /** What is let go; absent: nothing. `delete` does not count it. */
  readonly forget?: number;
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

/** A transaction that is over. Kept in Revision, oldest first, within bounds (src/records/history). */
export interface HistoryEntry {
  readonly number: number;
  readonly direction: Direction;
  /** Absent in records of early releases. */
  readonly goal?: TransactionGoal;
  /** "<user>@<host>". */
  readonly by: string;
  readonly startedAtMs: number;
  readonly endedAtMs: number;
  readonly summary: ChangeSummary;
  readonly ending: Ending;
  /** Of committed ones, until the bound on bytes drops it: what `rollback --to` goes to. */
  readonly target?: Target;
  /** Digest of the objects that it wanted; absent in records of early releases. */
  readonly objectsDigest?: string;
}

/** What a Transaction resource holds encrypted. */
export interface TransactionPayload {
  readonly target: Target;
  readonly spent: Spent;
  readonly direction: Direction;
  /** What was asked for; "up" or "takeBack", by its direction, in records of early releases. */
  readonly goal: TransactionGoal;
  /** What closes the way back, as the plan that was accepted says; absent in records of early releases. */
  readonly pointsOfNoReturn?: readonly PointOfNoReturn[];
  /** What the plans since the last revision change so that only a new one takes it back: a rollback replaces nothing else. */
  readonly compensable: readonly NodeKey[];
  /**
   * Of those that are changed: the fields that only a new one takes back. Any field of what is not in it, which
   * was gone and is made again, or stands in a record of an early release.
   */
  readonly compensableFields?: Readonly<Record<NodeKey, readonly string[]>>;
  /**
   * What the plans since the last revision make or change: a way back has to see it serve, whoever finishes it. Absent:
   * nothing, or a record of an early release.
   */
  readonly touched?: readonly NodeKey[];
  /**
   * What its own plan changes in place. A record tells by `updatedBy` which transaction was the last to come to the end of such a
   * change: until then a resource that does not run may only be stopped for it. Absent: nothing, or a record of an early release.
   */
  readonly updates?: readonly NodeKey[];
  /**
   * Recorded resources that others take the place of for what befell them, each with why: none of them serves again, whatever
   * is asked for next, until a way back to the revision wants it. Absent: nothing, or a record of an early release.
   */
  readonly givenUp?: GivenUp;
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
  /**
   * What earlier targets of this life of the cluster wanted and this one does not, hosts apart, whose names are spent.
   * What is in no target and not here was made by somebody who went on from these records. Absent: nothing.
   */
  readonly superseded?: readonly NodeKey[];
  /** Ids of what bore the marks of a recorded resource beside it: nobody here has made that. Absent: nothing. */
  readonly copies?: readonly string[];
  /**
   * Ids of recorded resources that it deletes and wants no more, by their keys: what bears the marks of one under another id is a
   * copy, also when it comes while this is carried out and its original is gone. Absent: none, or a record of an early release.
   */
  readonly deletedIds?: Readonly<Record<NodeKey, string>>;
  /** Not to be deleted once it is no longer wanted: it loses its marks and stays. */
  readonly letGo?: readonly NodeKey[];
  /** Of those what changes before this one have made that were never committed: a way back deletes it. Absent: nothing. */
  readonly uncommitted?: readonly NodeKey[];
  /**
   * What Machines were annotated with about their deletion by a change that is taken back, or was, by those of their hosts that go. The revision
   * tells what they were annotated with before. Absent: no such host goes.
   */
  readonly heldAs?: Readonly<Record<NodeKey, NonNullable<Annotations>>>;
  /**
   * The same of hosts that were to go already when the first change since the revision began: a way back holds them by it, too, whatever a change
   * has said since that wanted them again. Absent: there were none.
   */
  readonly heldBefore?: Readonly<Record<NodeKey, NonNullable<Annotations>>>;
  /** With what those have gone beyond their point of no return: it stays so until a commit. */
  readonly crossed?: readonly PassedPoint[];
  /** A plain `pulumi up` began it: one pass does it all, and another one may go on with it. */
  readonly inline?: true;
  /** What its manifests take from the program that gave it: names, sorted. Absent: nothing. */
  readonly programValues?: readonly string[];
  /** Where the resources are: a look at any other cloud says nothing about them. Absent: nobody could tell. */
  readonly cloud?: CloudIdentity;
  /**
   * What the cluster's members trust: made before the first host that is made with it, kept for as long as a target
   * names it. Absent where hosts take no user data, and in records of early releases.
   */
  readonly keys?: KeyRing;
  /** Which of the keys hosts were made with that are wanted or recorded; not in it: the first ones. */
  readonly hostKeys?: Readonly<Record<NodeKey, KeyStage>>;
}

/** One thing of a transaction that cannot be taken back once the cloud shows it done. */
export type PointOfNoReturn =
  /** The control plane of a newer minor version, told by these fields of the host, or by its being there. */
  | {
      readonly kind: "version";
      readonly machine: string;
      readonly host: NodeKey;
      /** "1.35.0". */
      readonly version: string;
      readonly fields: readonly string[];
    }
  /** A change that could only be undone by a new resource, without what the old one stores. */
  | {
      readonly kind: "data";
      readonly host: NodeKey;
      /** Whose host it is; absent for what machines share. */
      readonly machine?: string;
      /** The fields that it changes, with the values that they get. */
      readonly fields: JsonObject;
      readonly reason: string;
    }
  /** The control plane of the revision goes: too few of its hosts are left to have a majority. */
  | { readonly kind: "quorum"; readonly members: readonly NodeKey[]; readonly needed: number };

/** With what an uncommitted transaction is past its point of no return. */
export type PassedPoint =
  | {
      readonly kind: "version";
      readonly machine: string;
      /** The host that it was seen on. */
      readonly host: NodeKey;
      /** "1.35.0". */
      readonly version: string;
    }
  | Extract<PointOfNoReturn, { kind: "data" }>
  | (Extract<PointOfNoReturn, { kind: "quorum" }> & { readonly left: number });

/** A Transaction resource, decoded. */
export interface TransactionRecord extends TransactionPayload {
  readonly number: number;
  readonly clusterUid: string;
  /** Who may change the stack: "files" or an API server. */
  readonly owner: string;
  readonly startedAtMs: number;
  /** The last revision that was committed when this was last written; absent: none, or an early release. */
  readonly committed?: number;
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

/** Where a goal leads: to what somebody asked for, or back to the revision. */
export function directionOf({ kind }: TransactionGoal): Direction {
  return kind === "takeBack" ? "back" : "forward";
}

/** A Transaction resource, decoded: of its inputs, those in clear and the decrypted payload. Pure. */
export function transactionIn(inputs: JsonObject, payload: TransactionPayload): TransactionRecord {
  const { committed } = inputs;
  return omitUndefined<TransactionRecord>({
    number: Number(inputs["number"]),
    clusterUid: String(inputs["clusterUid"]),
    owner: String(inputs["owner"]),
    startedAtMs: Number(inputs["startedAtMs"]),
    committed: committed === undefined ? undefined : Number(committed),
    ...payload,
  });
}

/**
 * The revision of a stack that lost its record, as by a plain `pulumi destroy` that was interrupted. There was something before, so
 * there is no way back to nothing: what the last transaction wanted stands for it. A destroy of ours goes on as one. Pure.
 */
export function lostRevision(
  transaction: TransactionRecord | undefined,
): RevisionRecord | undefined {
  if (transaction?.committed === undefined || transaction.goal.kind === "destroy") return undefined;
  return { number: transaction.committed, target: transaction.target, history: [] };
}
