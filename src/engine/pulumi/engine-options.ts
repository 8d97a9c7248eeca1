import type { ResourceLookup } from "../../dynamic/attached-server.js";
import type { Clock } from "../../provider/port.js";
import type { KnownProviders } from "../../records/storage-versions.js";
import type { NotedCluster } from "../../sweep/clusters.js";
import type { Workspace } from "../backend/workspace.js";
import type { LeaseTerm } from "../locks/lease-term.js";
import type { WorkPermit } from "../locks/work-permit.js";
import type { RoomDemand } from "./disk-room.js";

/** Ways to end an engine run early. */
export interface Interruption {
  /** Ask it to stop: no new steps. */
  readonly stop: AbortSignal;
  /** Kill it and everything under it. */
  readonly kill: AbortSignal;
}

/** Ends engines should whoever runs them no longer be able to. */
export interface EngineGuard {
  /** Resolves once it guards an engine that is about to begin. What it throws keeps the engine from beginning. */
  begins(pid: number): Promise<void>;
  ended(pid: number): void;
}

export interface EngineOptions {
  readonly pulumi: string;
  readonly workspace: Workspace;
  /** Whose objects the records hold: they are read in the storage versions of this release. */
  readonly providers: KnownProviders;
  readonly interruption?: Interruption;
  /** The machine's unless given. */
  readonly clock?: Clock;
  onEngine?(pid: number | undefined): void;
  /**
   * Before the first call that may change the cloud or the records: answers the command's permit, where the backend has permits. What
   * it throws keeps that call from being made.
   */
  beforeWork?(): Promise<WorkPermit | undefined>;
  /** Of whoever leads others (rule 5.7): who has locked a stack in an earlier one, on whatever machine, has ended. */
  readonly term?: LeaseTerm;
  /** Of one who leads others. */
  readonly guard?: EngineGuard;
  /** Who changes stacks: locks on what is somebody else's are theirs to judge. Anybody's are looked at without. */
  readonly owner?: string;
  /** Whether it changes stacks, under their locks: then it also restores a state that was cut off. */
  readonly changes?: boolean;
  /** Told what people have to know beside what they asked for. */
  readonly notice?: (text: string) => void;
  /** Begins each engine run when it may; without, at once. */
  readonly inTurn?: <T>(run: () => Promise<T>) => Promise<T>;
}

export interface PassOptions {
  /**
   * When the state is written. "each": before and after every step, so that a SIGKILL loses at most
   * that a step has ended. "end": once, after all steps, also when one has failed or the pass was
   * interrupted; each write holds the whole state, so this is what lets many steps be fast. A
   * SIGKILL then leaves the state as it was before the pass: nothing of it is recorded, not even as
   * pending. Only for passes whose steps are all found again in the cloud by what an earlier,
   * checkpointed pass has recorded.
   */
  readonly checkpoints: "each" | "end";
  /** What the disk of the state must have room for; for taking something back unless given. */
  readonly room?: RoomDemand;
  /**
   * What fails stops only what depends on it. For passes that do nothing but delete: after a creation that
   * failed Pulumi would go on and delete what was to be superseded.
   */
  readonly continues?: boolean;
}

/** Serves the handlers of one engine run; `cancelled` is called when the engine is asked to stop. */
export interface HandlerSession {
  readonly lookup: ResourceLookup;
  cancelled(): void;
  /** Told why the engine cannot begin yet. */
  waiting?(reason: string): void;
}

/** A cluster that a run is about to work on. */
export type ClusterLife = Required<
  Pick<NotedCluster, "cluster" | "clusterUid" | "keeps" | "provider" | "stack">
>;
