import { NodeReports } from "../engine/run/node-reports.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { EngineGuard, Interruption } from "../engine/pulumi/engine-options.js";
import { withLockedStack } from "../engine/pulumi/locked-stack.js";
import type { Workspace } from "../engine/backend/workspace.js";
import { openWorkload } from "../kube/open-workload.js";
import type { Term } from "../kube/lease.js";
import { clusterUidOf, ownerMarkOf } from "../records/cluster-uid.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { answeringProvider } from "./answering-provider.js";
import { Controller, type ControllerOptions } from "./controller.js";
import { type CloudCall, countedProvider } from "./counted-provider.js";
import { EngineLine } from "./engine-line.js";
import { fencedProvider } from "./fenced-provider.js";
import { KeyedQueue, type QueueObserver } from "./queue.js";

/** What a controller is run with, wherever its clusters are described. */
export interface ControllerSettings extends Pick<
  ControllerOptions,
  "clock" | "by" | "concurrency" | "periodMs" | "timeoutMs" | "deadlineMs" | "onListingFailure"
> {
  /** Random UUIDs. */
  readonly newUuid: () => string;
  readonly interruption: Interruption;
  /** Engine processes at the same time. */
  readonly engines: number;
  /** Told what goes on beside the work on clusters. */
  readonly notice: (text: string) => void;
}

/** What a source of clusters brings along. */
export interface Watched extends Pick<ControllerOptions, "source" | "sink" | "providers"> {
  readonly opened: { readonly workspace: Workspace; readonly pulumi: string };
  /** Of one who leads others. */
  readonly term?: Term;
  /** Of one who leads others. */
  readonly guard?: EngineGuard;
  /** Around each engine run. */
  readonly duringPass?: <T>(run: () => Promise<T>) => Promise<T>;
  readonly queueObserver?: QueueObserver;
  /** Told of every call to a cloud how it ended. */
  readonly onCall?: (call: CloudCall) => void;
  /** Told how long a run has waited for its engine. */
  readonly onEngine?: (waitedMs: number) => void;
}

/** A controller and what it works with. */
interface BuiltController {
  readonly controller: Controller;
  readonly queue: KeyedQueue;
  readonly engineLine: EngineLine;
  /** The only way of the controller and its engines to a cloud. */
  readonly providers: readonly InfrastructureProvider[];
}

/**
 * The controller of one source, whose engines run a few at a time, each under the lock of its stack. Whoever has a term
 * changes clouds while it lasts and not a moment longer: that is no choice of the caller's.
 */
export function buildController(settings: ControllerSettings, watched: Watched): BuiltController {
  const { clock, interruption, engines, notice, newUuid, ...options } = settings;
  const { source, sink, term, guard, queueObserver: observer } = watched;
  const providers = watched.providers.map((provider) => asControlled(provider, watched));
  const { duringPass = <T>(run: () => Promise<T>) => run() } = watched;
  const { workspace, pulumi } = watched.opened;
  const ownerMark = ownerMarkOf(source.owner, () => workspace.stateName("makes"));
  const engineLine = new EngineLine(omitUndefined({ engines, clock, onBegin: watched.onEngine }));
  const kill =
    term === undefined ? interruption.kill : AbortSignal.any([interruption.kill, term.lost]);
  const queue = new KeyedQueue(omitUndefined({ clock, random: Math.random, observer }));
  const controller = new Controller({
    ...options,
    source,
    queue,
    clock,
    sink: (key, event) => {
      queue.progressed(key);
      sink(key, event);
    },
    providers,
    openWorkload,
    nodeReports: new NodeReports(openWorkload, true),
    random: Math.random,
    withStack: (stack, work) =>
      withLockedStack(
        omitUndefined({
          stack,
          command: "capstan watch",
          owner: source.owner,
          clock,
          pulumi,
          workspace,
          providers: { all: providers },
          interruption: { stop: interruption.stop, kill },
          notice,
          term: term?.place,
          guard,
          inTurn: (run) =>
            engineLine.inTurn(stack, () => {
              term?.assertLeader();
              return duringPass(run);
            }),
        }),
        work,
      ),
    newClusterUid: () => clusterUidOf(newUuid(), ownerMark),
    newDigestKey: newUuid,
    ownerMark,
  });
  return { controller, queue, engineLine, providers };
}

/** Whose calls all end, are counted, and change a cloud only within the term. */
function asControlled(
  provider: InfrastructureProvider,
  { term, onCall }: Watched,
): InfrastructureProvider {
  const answering = answeringProvider(provider);
  const counted = onCall === undefined ? answering : countedProvider(answering, onCall);
  return term === undefined ? counted : fencedProvider(counted, () => term.assertLeader());
}
