import { messageOf } from "../../api/error.js";
import { Controller } from "../../controller/controller.js";
import type { LogLevel } from "../../controller/log.js";
import { KeyedQueue, type QueueObserver } from "../../controller/queue.js";
import { Semaphore } from "../../provider/semaphore.js";
import type { EventSink } from "../../controller/reconcile-event.js";
import { noteCluster } from "../../engine/cluster-registry.js";
import { withLockedStack } from "../../engine/locked-stack.js";
import type { Workspace } from "../../engine/workspace.js";
import type { ClusterSource } from "../../source/cluster-source.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { type CommandContext, type GlobalOptions, noticeTo } from "../context.js";
import type { ConnectionFlags } from "./install.js";

export interface WatchOptions extends GlobalOptions, ConnectionFlags {
  /** Manifests to watch instead of an API server. */
  readonly file: readonly string[];
  /** Delete clusters that these manifests no longer hold. */
  readonly prune?: boolean;
  /** Seconds between two looks for drift. */
  readonly period: number;
  /** Engine processes at the same time. */
  readonly engines: number;
  /** Clusters that are worked on at the same time. */
  readonly concurrency: number;
  readonly timeout: number;
  readonly deadline: number;
  /** Namespace of the Lease. */
  readonly leaseNamespace: string;
  /** Where metrics and probes are served; nowhere without. */
  readonly metricsAddress?: string;
  /** Also series for each cluster. */
  readonly clusterMetrics?: boolean;
  readonly logLevel: LogLevel;
}

/** What a source of clusters brings along. */
export interface Watched {
  readonly source: ClusterSource;
  readonly sink: EventSink;
  readonly opened: { readonly workspace: Workspace; readonly pulumi: string };
  /** Of one who leads others: what ends it at once, and throws when it leads no more. */
  readonly term?: { readonly lost: AbortSignal; assertLeader(): void };
  /** The providers as they are to be called; those of the command without. */
  readonly providers?: readonly InfrastructureProvider[];
  /** Around each engine run. */
  readonly duringPass?: <T>(run: () => Promise<T>) => Promise<T>;
  readonly queueObserver?: QueueObserver;
}

/** The controller of one source: everything about it that does not depend on where clusters are described. */
export function makeController(
  options: WatchOptions,
  context: CommandContext,
  watched: Watched,
): { readonly controller: Controller; readonly queue: KeyedQueue } {
  const { source, sink, opened, term, providers = context.providers.all } = watched;
  const { duringPass = <T>(run: () => Promise<T>) => run(), queueObserver: observer } = watched;
  const { clock, by, interruption, stateDir } = context;
  const { workspace, pulumi } = opened;
  const semaphore = new Semaphore(options.engines);
  const kill =
    term === undefined ? interruption.kill : AbortSignal.any([interruption.kill, term.lost]);
  const aloneSinceMs = clock.now();
  const queue = new KeyedQueue({
    clock,
    random: Math.random,
    ...(observer !== undefined && { observer }),
  });
  const controller = new Controller({
    source,
    queue,
    clock,
    by,
    sink,
    random: Math.random,
    providers,
    concurrency: options.concurrency,
    periodMs: options.period * 1_000,
    timeoutMs: options.timeout * 1_000,
    deadlineMs: options.deadline * 1_000,
    onListingFailure: (provider, error) =>
      context.terminal.error(`cannot list ${provider}: ${messageOf(error)}\n`),
    withStack: (stack, work) =>
      withLockedStack(
        {
          stack,
          command: "capstan watch",
          clock,
          pulumi,
          workspace,
          interruption: { stop: interruption.stop, kill },
          notice: noticeTo(context),
          ...(term !== undefined && { aloneSinceMs }),
          inTurn: (run) =>
            semaphore.take(() => {
              term?.assertLeader();
              return duringPass(run);
            }),
        },
        work,
      ),
    noteCluster: ({ transaction, cluster, stack }, provider) =>
      noteCluster(stateDir, {
        clusterUid: transaction.clusterUid,
        cluster,
        stack,
        provider: provider.name,
        backend: workspace.backendKey,
        notedAtMs: clock.now(),
      }),
    newClusterUid: () => context.newClusterUid(),
  });
  return { controller, queue };
}
