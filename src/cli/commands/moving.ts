import type { connect } from "../../kube/connection.js";
import type { ClusterObjects } from "../../kube/cluster-objects.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import type { CommandContext, GlobalOptions } from "../context.js";
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

/** One stack on its way. */
export interface Move {
  readonly stack: string;
  /** "<namespace>/<name>" of its Cluster. */
  readonly cluster: string;
  readonly provider: InfrastructureProvider;
  readonly objects: ClusterObjects;
  /** The API server, as the owner of stacks. */
  readonly server: string;
  readonly serverUrl: string;
  readonly options: MoveOptions;
  readonly context: CommandContext;
  readonly config: ReturnType<typeof connect>;
}

/** What became of a move, for people and for programs. */
export interface Moved {
  /** Of the transaction that made it so; absent where it was so before. */
  readonly transaction?: number;
  readonly text: string;
}

/** A step on the way, for people. */
export function tellStep({ stack, context }: Move, text: string): void {
  if (!context.json) context.terminal.write(`${stack}: ${text}\n`);
}
