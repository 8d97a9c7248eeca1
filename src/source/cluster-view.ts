import type { Kind, SharedKind } from "../api/schema.js";
import type { ClusterPhase, ClusterStatus, DriftStatus, ErrorReason } from "../api/status.js";
import type { Desired } from "../api/types.js";
import type { CheckedHealth } from "../drift/health.js";
import type { NodeKey } from "../graph/graph.js";
import type { ObservedResources } from "../plan/observation.js";
import type { Direction } from "../records/transaction.js";
import type { PriorState } from "../records/prior-state.js";
import type { DeletionWait } from "../workload/drain/deletion-stage.js";
import type { EtcdHealth } from "../workload/etcd/etcd-health.js";
import type { Target, TargetMachine } from "../records/target.js";

/** What the engine is about to do, or has just done. */
export interface Progress {
  /** "Changing", "Waiting", "Recovering", "Committing", "Verifying". */
  readonly phase: string;
  readonly transaction: number;
  readonly direction: Direction;
  /** Counts from 1; 0 before the first. */
  readonly wave: number;
  readonly waves: number;
  readonly keys: readonly NodeKey[];
  readonly reason: string;
  /** Hosts that are to go or to be disturbed, and what each waits for; absent: none waits. */
  readonly leaving?: readonly DeletionWait[];
  readonly startedAtMs: number;
  readonly deadlineAtMs: number;
}

/** What only a person can mend. */
export interface TerminalError {
  readonly reason: NonNullable<ClusterStatus["errorReason"]>;
  readonly message: string;
}

export type FailedOperation = "Create" | "Update" | "Delete";

/** An object that cannot be had as its user asks for it: what failed last, and why. */
export interface ObjectFailure {
  readonly kind: Exclude<Kind, SharedKind>;
  readonly name: string;
  /** Absent where nothing was tried. */
  readonly operation?: FailedOperation;
  readonly reason: ErrorReason;
  readonly message: string;
  readonly atMs: number;
  /** It may heal by itself: told by an Event, and no reason for a person to come. */
  readonly isTransient: boolean;
}

/** What the objects ask for and could not be had. */
export interface Unmet {
  readonly failures: readonly ObjectFailure[];
  /** Absent where the objects make no sense. */
  readonly asked?: Desired;
  /** Machines that are asked for and could not be made: the records do not know them. */
  readonly machines: readonly TargetMachine[];
}

/** Everything that is shown of one cluster. Immutable; each replaces the one before. */
export interface ClusterView {
  readonly phase: ClusterPhase;
  readonly records: PriorState;
  /**
   * Nobody has looked yet: the records are none, and mean nothing. What is shown stays as it is, but
   * for phase, message and trouble.
   */
  readonly isBlind?: boolean;
  /** Absent: the cloud was not looked at, and nothing is said about what runs. */
  readonly observedResources?: ObservedResources;
  /** Of a plan whose transaction is not recorded yet. */
  readonly planned?: Target;
  readonly progress?: Progress;
  readonly drift?: DriftStatus;
  /** How the members of its etcd were when they were asked; absent: nobody has, or can. */
  readonly etcd?: EtcdHealth;
  /** What health checks find among its machines; absent: nobody has looked. */
  readonly health?: readonly CheckedHealth[];
  readonly terminalError?: TerminalError;
  /** Absent: what the objects ask for is there, or nobody has tried yet. */
  readonly unmet?: Unmet;
  /** In the marks of everything that the cloud has of it; absent before the first transaction. */
  readonly clusterUid?: string;
  /** What people should know that heals by itself, e.g. why it waits. */
  readonly message?: string;
  /**
   * No work is under way: what the records do not name is not coming back. Only then are objects that
   * nothing stands behind let go.
   */
  readonly isSettled: boolean;
  readonly nowMs: number;
}
