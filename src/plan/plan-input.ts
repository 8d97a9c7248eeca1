import type { Desired } from "../api/types.js";
import type { Target } from "../records/target.js";
import type { Annotations } from "../api/update-policy.js";
import type { Removal } from "../api/protection.js";
import type { CloudIdentity, InfrastructureProvider, Lookups, Observed } from "../provider/port.js";
import type { ExternalSights, ObservedResources } from "./observation.js";
import type { NodeKey } from "../graph/graph.js";
import type { PriorState } from "../records/prior-state.js";
import type { GivenUp, TransactionGoal } from "../records/transaction.js";

/** Where somebody wants a cluster to go: to what objects say, or to a graph that was recorded. */
export type PlanGoal =
  | {
      readonly kind: "objects";
      readonly desired: Desired;
      /** Machines of sets that somebody deleted: they go, and their sets make others. */
      readonly discarded?: readonly string[];
      /** Delete marks on the objects of derived Machines, by their names. */
      readonly deleteMarks?: Readonly<Record<string, Annotations>>;
    }
  | { readonly kind: "recorded"; readonly target: Target };

/** What somebody has said may be lost, beside what the Cluster itself allows. */
export interface RemovalConsent {
  readonly allow?: readonly Removal[];
  /** Names of protected objects that are being deleted and whose annotation was taken away since. */
  readonly released?: readonly string[];
}

/** What the plan is made from. Everything that is not a pure function of it is in here. */
export interface PlanInput {
  /** What may be lost. "accepted": this very graph was asked about when it was planned for first. */
  readonly removal?: RemovalConsent | "accepted";
  readonly planGoal: PlanGoal;
  readonly provider: InfrastructureProvider;
  readonly prior: PriorState;
  readonly observedResources: ObservedResources;
  /** Alive or gone resources with the cluster's marks that the state does not know. */
  readonly unrecorded: readonly Observed[];
  /** New members of an open upgrade that have never served; absent: the cluster was not asked, or did not answer. */
  readonly unjoinedMembers?: ReadonlySet<NodeKey>;
  /** Others beside them that bear the marks of recorded ones; absent: nothing. */
  readonly copies?: readonly Observed[];
  /** The cloud that was looked at; absent where the provider cannot tell. */
  readonly cloud?: CloudIdentity;
  /** Used when the state holds no transaction yet. */
  readonly newClusterUid: string;
  readonly nowMs: number;
  readonly owner: string;
  /** What is asked for. */
  readonly goal: TransactionGoal;
  /** "<user>@<host>". */
  readonly by: string;
  /** How long the transaction may take. */
  readonly deadlineMs: number;
  /** Random text, for a cluster without a transaction. */
  readonly newDigestKey?: string;
  /** Stages of an upgrade that the same command has brought about; none without. */
  readonly stagesBefore?: number;
  /** Why the last transaction was not finished, for history. */
  readonly failure?: string;
  /** Resources that whoever asks has given up, beside those that the records name; absent: none. */
  readonly givenUp?: GivenUp | undefined;
  /** Manifests that were named with a verb which leads elsewhere: what holds Machines now, and what becomes of data; absent: none were. */
  readonly told?: Desired | undefined;
  /** Manifests that led to what there is, where everything goes: they tell of data that no record tells of; absent: no more than records do. */
  readonly ledBy?: Desired | undefined;
  /** What a run lets go by its own plan, before a record of its begin tells of that; absent: none. */
  readonly letGo?: readonly NodeKey[] | undefined;
  /** What the provider has looked up for the objects; absent: nothing. Of a recorded graph its own answers count. */
  readonly lookups?: Lookups;
  /** What is not ours and used, as the cloud shows it; absent: nobody has looked. */
  readonly externals?: ExternalSights;
  /** What was pinned of it counts no more: somebody wants what the cloud shows now. */
  readonly refreshesExternals?: boolean;
  /** Keys are given: a cluster that has none recorded gets a transaction for them, whatever else is to be done. */
  readonly givesKeys?: boolean;
}
