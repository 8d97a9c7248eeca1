import { CapstanError } from "../../api/error.js";
import type { ClusterObjects } from "../../kube/cluster-objects.js";
import { fileOwner, type HandOver, openHandOver, ownerText } from "../../records/hand-over.js";
import type { StackEngine } from "../../engine/pulumi/engine.js";
import type { Interruption } from "../../engine/pulumi/engine-options.js";
import type { StackState } from "../../engine/backend/state.js";
import type { Clock, InfrastructureProvider } from "../../provider/port.js";
import type { KnownProviders } from "../../records/storage-versions.js";
import type { GlobalOptions } from "../context.js";
import type { ConnectionFlags } from "./install.js";

export interface MoveOptions extends GlobalOptions, ConnectionFlags {
  readonly to: "files" | "kubernetes";
  /** The folder for manifests. */
  readonly out?: string;
  /** Write over files that are there. */
  readonly force?: boolean;
  /** Seconds to wait for a controller. */
  readonly timeout: number;
  readonly leaseNamespace: string;
}

/** One stack on its way, with everything that this is done with. */
export interface Move {
  readonly stack: string;
  /** "<namespace>/<name>" of its Cluster. */
  readonly cluster: string;
  readonly provider: InfrastructureProvider;
  readonly objects: ClusterObjects;
  /** The API server, as the owner of stacks. */
  readonly server: string;
  readonly serverUrl: string;
  readonly options: Pick<MoveOptions, "out" | "force" | "timeout">;
  readonly context: {
    readonly clock: Clock;
    /** "<user>@<host>". */
    readonly by: string;
    readonly interruption: Pick<Interruption, "stop">;
    readonly providers: KnownProviders;
  };
  /** What is recorded now. */
  readonly readState: () => Promise<StackState>;
  /** Whether a controller works on what the API server holds. Throws API_SERVER. */
  readonly isLed: () => Promise<boolean>;
  /** Runs `work` with an engine that may change the stack, under its lock. Throws LOCKED. */
  readonly locked: <T>(work: (engine: StackEngine) => Promise<T>) => Promise<T>;
  /** Notes that the manifests in this folder hold the cluster from now on; absent: no files do. */
  readonly noteManifests: (folder?: string) => void;
  /** Says a step on the way, to people. */
  readonly tell: (text: string) => void;
}

/** What became of a move, for people and for programs. */
export interface Moved {
  /** Of the transaction that made it so; absent where it was so before. */
  readonly transaction?: number;
  readonly text: string;
}

/**
 * The change of owner that a stack is in the middle of. Throws NOT_OWNER where it leads to or from another API server
 * than this one, which holds none of its objects. Pure.
 */
export function handOverHere(
  { cluster, server }: Pick<Move, "cluster" | "server">,
  state: StackState,
): HandOver | undefined {
  const underWay = openHandOver(state);
  const there = underWay?.to === fileOwner ? underWay.from : underWay?.to;
  if (there === undefined || there === server) return underWay;
  throw new CapstanError({
    code: "NOT_OWNER",
    source: "user",
    subject: cluster,
    message: `cannot move ${cluster}: it is on its way to or from ${ownerText(there)}, and this is ${ownerText(server)}`,
    hint: "name that API server with --kubeconfig or --context; nothing was changed",
  });
}
