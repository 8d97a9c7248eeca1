import type { KeyAlgorithm } from "../api/key-algorithm.js";
import type { Json, JsonObject } from "../api/json.js";
import type { NodeKey } from "../graph/graph.js";
import type { Identity, LookupQuestion, PreflightFinding } from "../provider/port.js";
import type { Target } from "../records/target.js";
import type { PlannedLeftover } from "./leftovers.js";
import type { Step, ChangedField } from "./step.js";
import type { PassedPoint, TransactionRecord } from "../records/transaction.js";
import type { MachineOwner } from "../sets/expanded.js";
import type { MachineVersions } from "../api/types.js";

/** A transaction without its target, which the plan holds beside it, and without keys, which no plan holds. */
export type PlannedTransaction = Omit<TransactionRecord, "target" | "keys">;

/** A resource with this cluster's UID, so made by an earlier apply, that is to be removed. */
export interface OrphanedResource {
  readonly id: string;
  readonly who: Identity;
  /** It was there before: it loses our marks and stays. */
  readonly letGo?: true;
}

/** A resource that is not as it is recorded, and why a plan does not touch it. */
export interface IgnoredDrift {
  readonly key: NodeKey;
  readonly because: "report" | "ignore" | "frozen" | "overBudget";
}

/** Why the look that a plan was made from is implausible. */
export interface Hold {
  readonly reason: string;
  /** Says which answer of the cloud it is: the same as in `capstan drift`. */
  readonly fingerprint: string;
  /** Why it is believed all the same: a person says so, or the cloud has proven to be the right one. */
  readonly believed?: "person" | "proven";
}

/** The last transaction, which did not get to its commit. */
interface OpenTransactionNote extends Pick<
  TransactionRecord,
  "number" | "direction" | "goal" | "by"
> {
  /** The living process that works on it now, as people read it; absent: none is known, as to the command that holds the lock. */
  readonly worker?: string;
}

/**
 * What a transaction will do, and why. `plan` prints this value and `up` applies the same one. JSON data.
 *
 * `empty`, `steps` and `open` say different things. A plan without steps need not be empty: an open
 * transaction may only have to be committed, changed objects only to be recorded. An open transaction
 * need not be the one that the plan is about: that is so when `open.number` is `transaction.number`; if
 * it is not, the plan takes its place.
 */
export interface RemainingPlan {
  /** "<namespace>/<name>". */
  readonly cluster: string;
  /** The Pulumi stack that holds its records. */
  readonly stack: string;
  /** The provider's name. */
  readonly provider: string;
  /** One member begins the cluster and every other host joins it, so none is made before that one serves. */
  readonly oneBegins: boolean;
  /** Number of the last committed revision; 0 for none. */
  readonly fromRevision: number;
  /** The one that leads to the target: the open one, or a new one that is not recorded yet. */
  readonly transaction: PlannedTransaction;
  readonly target: Target;
  /** Tells whether a recorded transaction leads to the same target. */
  readonly targetDigest: string;

  /**
   * What is done: creations and updates in dependency order, then deletions. A host that is replaced has two,
   * under two keys. What is in `orphaned` goes without a step: it has no record.
   */
  readonly steps: readonly Step[];
  /** How each step can be taken back, in the order of the steps. */
  readonly undo: readonly StepUndo[];
  /** Hosts that go, and whose they were: what decides when each may. Those that are gone already are not here. */
  readonly leaving: readonly LeavingHost[];
  /** What an apply that broke off left alive, in no record and wanted by nothing: removed or let go first. */
  readonly orphaned: readonly OrphanedResource[];
  /**
   * Records to read again from the cloud before the first pass. Of no use to tell drift: unfinished
   * records are here although the cloud may agree with them.
   */
  readonly stale: readonly NodeKey[];

  /** Hosts that a point of no return of the transaction is told by: beyond it, forward only. */
  readonly pointsOfNoReturn: readonly NodeKey[];
  /** With what an open transaction is beyond its point of no return already. */
  readonly passed: readonly PassedPoint[];
  /**
   * Nodes that stay as they are recorded although the target wants them otherwise: of a plan back, what another party has changed; of a request
   * that changes records alone, every node but its own.
   */
  readonly left: readonly NodeKey[];

  /**
   * The same changes for people, unchanged ones too; what is done is decided by `steps` alone. A replaced
   * host, and a machine that takes the place of another, are one line here.
   */
  readonly infrastructure: readonly InfrastructureChange[];
  readonly machines: readonly MachineChange[];
  /** What else is alive in the cloud with the cluster's marks and that nobody knows. Told, never touched. */
  readonly unrecorded: readonly string[];

  /** The last transaction, when it did not get to its commit. Absent: nothing is open. */
  readonly open?: OpenTransactionNote;
  /**
   * Nothing to do: no steps, nothing orphaned, nothing open, no record to clear, and the objects are
   * those of the last revision. An apply of it records nothing.
   */
  readonly empty: boolean;
  /** What has drifted and is left as it is; absent: nothing. */
  readonly ignoredDrift?: readonly IgnoredDrift[];
  /** What it was made from is implausible; unless it is believed nobody carries it out. Never on an empty plan. */
  readonly held?: Hold;
  /** What its provider found to stand against it before anything is changed; absent: nothing, or nobody asked. */
  readonly foreseen?: readonly PreflightFinding[];
  /** The algorithm that the Cluster asks for by now, of keys that were made before and stay; absent: it asks as before. */
  readonly laterKeys?: KeyAlgorithm;
  /** What its provider has looked up that the last transaction did not have, or had otherwise; absent: nothing. */
  readonly lookedUp?: readonly LookupChange[];
  /** Of a destroy: what controllers in the cluster have made, lowest wave first; absent: nothing was found, or nobody has looked. */
  readonly leftovers?: readonly PlannedLeftover[];
  /** This is one stage of several: a control plane goes one minor version at a time. */
  readonly stage?: StageNote;
}

/** With the order of its steps. A run that goes on works it out anew before each pass and needs the next wave only. */
export interface Plan extends RemainingPlan {
  /** What an undisturbed apply does together, in its order; empty when `steps` is. */
  readonly waves: readonly Wave[];
}

/** `move`: only its owner changes, in the records. `import`: it is there and becomes ours. `forget`: it stays in the cloud and is ours no more. `external`: it is not ours and stays as it is. */
export type ChangeKind =
  | "forget"
  | "same"
  | "move"
  | "create"
  | "adopt"
  | "import"
  | "update"
  | "replace"
  | "delete"
  | "external";

/** What becomes of one machine, for people. */
export interface MachineChange {
  readonly machine: string;
  readonly controlPlane: boolean;
  readonly owner?: MachineOwner;
  /** Who owned it before, where that changes; a Machine of its own is named itself. */
  readonly movedFrom?: string;
  readonly kind: ChangeKind;
  /** The machine of an older MachineSet whose place this one takes. */
  readonly supersedes?: string;
  readonly changes: readonly ChangedField[];
  /** It is changed in place, and its pods move away first. */
  readonly drains?: true;
  /** Of what is created, adopted or imported: the inputs that people look at first; absent: the provider names none. */
  readonly inputs?: readonly ResourceInput[];
  /** Of a new host: in what it may differ where the cloud has no room for it, best first; absent: in nothing. */
  readonly alternatives?: readonly (readonly ResourceInput[])[];
  /** All of them, those of the changed fields included. */
  readonly reasons: readonly string[];
  /** Its host's resource, as it is named in the end; of a deleted machine, the last one. */
  readonly host?: NodeKey;
}

/** What becomes of one resource that is no host, for people. */
export interface InfrastructureChange {
  readonly key: NodeKey;
  /** Of what lives with one host: its machine. Absent of what machines share. */
  readonly machine?: string;
  readonly kind: ChangeKind;
  readonly changes: readonly ChangedField[];
  readonly inputs?: readonly ResourceInput[];
  /** All of them, those of the changed fields included. */
  readonly reasons: readonly string[];
}

/** Reasons in one text; empty where it goes without saying. Pure. */
export function reasonText(reasons: readonly string[]): string {
  return reasons.join("; ");
}

/** An answer that is new, or another one than before. */
export interface LookupChange {
  /** Whose question it is, as people know them: "MachineDeployment web". */
  readonly by: readonly string[];
  readonly question: LookupQuestion;
  readonly answer: JsonObject;
  /** What was recorded before; absent: nothing. */
  readonly before?: JsonObject;
}

/** One input of a resource that is to be made. */
export interface ResourceInput {
  readonly path: string;
  readonly value: Json;
}

/** A host that is alive and that the target no longer has, and whose it was. */
export interface LeavingHost {
  readonly host: NodeKey;
  readonly machine: string;
  readonly controlPlane: boolean;
  readonly owner?: MachineOwner;
  /** Milliseconds since the epoch. */
  readonly createdAtMs?: number;
  /** The cloud says that it never will run. */
  readonly failed: boolean;
  /** A control-plane member that signs with other keys than those that hosts are to have. */
  readonly signsOtherwise?: true;
  /** It serves the last committed revision; others are leftovers that were to go anyway. */
  readonly serves: boolean;
}

/** What a stage makes of one unit. */
export interface VersionChange {
  /** "Machine cp-0" or "MachineDeployment workers". */
  readonly unit: string;
  readonly from: MachineVersions;
  readonly to: MachineVersions;
}

/** One step of a chain of upgrades. Each is brought about, and committed, before the next begins. */
export interface Stage {
  readonly changes: readonly VersionChange[];
  /**
   * Versions of every unit that is there now, by unit; what is new comes with the last stage, when it
   * can join. Absent in the last stage: it is what the objects say.
   */
  readonly versions?: Readonly<Record<string, MachineVersions>>;
  /** Why it is a stage of its own; empty for a chain of one. */
  readonly reason: string;
}

/** Where a plan stands in a chain of upgrades over several minor versions. */
export interface StageNote {
  /** Counts from 1; stages that the same `up` has brought about come before it. */
  readonly number: number;
  /** Of all stages, those before it included. */
  readonly count: number;
  /** Why this stage is one of its own. */
  readonly reason: string;
  /** What comes after its commit, each a plan of its own; none of the last stage. */
  readonly later: readonly Stage[];
}

/**
 * Whether a step can be taken back. `reversible`: exactly. `compensable`: by deleting and making
 * again, which only stateless workers and infrastructure survive without loss. `pointOfNoReturn`: not
 * at all; once it has begun, recovery goes forward only. Architecture section 6.
 */
export type UndoClass = "reversible" | "compensable" | "pointOfNoReturn";

/** How one step can be taken back, and why not better. */
export interface StepUndo {
  readonly key: NodeKey;
  readonly step: Step["kind"];
  readonly class: UndoClass;
  /** Empty for what is reversible. */
  readonly reason: string;
}

/** One wave of a plan: what one pass changes, then deletes. */
export interface Wave {
  readonly keys: readonly NodeKey[];
  readonly reason: string;
}

/** From what is lost least to what is lost most. */
export const undoClasses: readonly UndoClass[] = ["reversible", "compensable", "pointOfNoReturn"];
