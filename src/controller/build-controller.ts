import { NodeReports } from "../engine/run/node-reports.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { EngineGuard, Interruption } from "../engine/pulumi/engine.js";
import { withLockedStack } from "../engine/pulumi/locked-stack.js";
import type { Workspace } from "../engine/backend/workspace.js";
import { openWorkload } from "../kube/open-workload.js";
import type { Term } from "../kube/lease.js";
import { clusterUidOf, ownerMarkOf } from "../records/cluster-uid.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { turnOf } from "../provider/fair-line.js";
import { Semaphore } from "../provider/semaphore.js";
import { Controller, type ControllerOptions } from "./controller.js";
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
}

/** A controller and what it works with. */
interface BuiltController {
  readonly controller: Controller;
  readonly queue: KeyedQueue;
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
  const providers = withinTerm(watched);
  const { duringPass = <T>(run: () => Promise<T>) => run() } = watched;
  const { workspace, pulumi } = watched.opened;
  const ownerMark = ownerMarkOf(source.owner, () => workspace.stateName("makes"));
  const semaphore = new Semaphore(engines);
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
            semaphore.take(() => {
              term?.assertLeader();
              return duringPass(run);
            }, turnOf(stack)),
        }),
        work,
      ),
    newClusterUid: () => clusterUidOf(newUuid(), ownerMark),
    newDigestKey: newUuid,
    ownerMark,
  });
  return { controller, queue, providers };
}

function withinTerm({ providers, term }: Watched): readonly InfrastructureProvider[] {
  if (term === undefined) return providers;
  return providers.map((provider) => fencedProvider(provider, () => term.assertLeader()));
}
