import type { NodeReports } from "../engine/run/node-reports.js";
import type { Engine, StackEngine } from "../engine/pulumi/engine.js";
import type { OpenWorkload } from "../engine/run/workload-cluster.js";
import type { ClusterSource } from "../source/cluster-source.js";
import type { Intent } from "../source/intent.js";
import type { OwnerMark } from "../records/cluster-uid.js";
import type { Clock, InfrastructureProvider } from "../provider/port.js";
import type { EventSink } from "./reconcile-event.js";

/** What is asked of a cluster that shall be there. */
export type Want = Extract<Intent, { kind: "want" }>;

/** What is asked of a cluster some of whose objects are wrong. */
export type WrongWant = Extract<Intent, { kind: "invalid" }>;

/** What work on one stack needs of an engine. */
export type WorkEngine = StackEngine & Pick<Engine, "ensureStack">;

export interface ReconcilerOptions {
  readonly source: ClusterSource;
  /** Their inventories are shared by all clusters. */
  readonly providers: readonly InfrastructureProvider[];
  readonly clock: Clock;
  /** "<user>@<host>", for history. */
  readonly by: string;
  /** How long hosts may take to become ready, and a whole transaction, milliseconds. */
  readonly timeoutMs: number;
  readonly deadlineMs: number;
  /** Nothing new is begun from then on, and what waits stops waiting. */
  readonly stop: AbortSignal;
  readonly sink: EventSink;
  /** Runs work on a stack under its lock. */
  readonly withStack: <T>(stack: string, work: (engine: WorkEngine) => Promise<T>) => Promise<T>;
  /** How to ask a cluster's own API server. */
  readonly openWorkload: OpenWorkload;
  /** What Nodes say, of all clusters. */
  readonly nodeReports: NodeReports;
  newClusterUid(): string;
  newDigestKey(): string;
  /** Of the clusters that it makes; undefined: none. */
  readonly ownerMark: OwnerMark | undefined;
}
