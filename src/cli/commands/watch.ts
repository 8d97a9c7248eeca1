import { hostname } from "node:os";
import { randomBytes } from "node:crypto";
import { isCapstanError, messageOf } from "../../api/error.js";
import { noteCluster } from "../../engine/cluster-registry.js";
import { withLockedStack } from "../../engine/locked-stack.js";
import { connect, serverOf } from "../../kube/connection.js";
import { KubeApi } from "../../kube/api.js";
import { KubeSource } from "../../kube/kube-source.js";
import { Leadership, type Term } from "../../kube/lease.js";
import { leaseClock } from "../../kube/lease-clock.js";
import { defaultLeaseTiming } from "../../kube/lease-steps.js";
import { leaseInApiServer } from "../../kube/lease-store.js";
import { ObjectCache } from "../../kube/object-cache.js";
import { Controller } from "../../controller/controller.js";
import { KeyedQueue } from "../../controller/queue.js";
import { Turns } from "../../controller/turns.js";
import type { Witness } from "../../controller/witness.js";
import { type CommandContext, type GlobalOptions, openWorkspace } from "../context.js";
import { exitCodes } from "../exit.js";
import type { ConnectionFlags } from "./install.js";

export interface WatchOptions extends GlobalOptions, ConnectionFlags {
  readonly file: readonly string[];
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
}

const leaseName = "capstan-controller";

/** capstan watch: keeps clusters as their objects want them, until it is stopped. */
export async function watchCommand(
  options: WatchOptions,
  context: CommandContext,
): Promise<number> {
  const config = connect({ ...options, env: context.env });
  const api = new KubeApi(config);
  const { stop } = context.interruption;
  const owner = await untilAnswered(() => api.identity(), context);
  let controller: Controller | undefined;
  const cache = new ObjectCache({
    ...{ config, api, random: Math.random },
    onChange: (key) => controller?.onChange(key),
    onTrouble: (kind, error) => context.terminal.error(`watch of ${kind}: ${messageOf(error)}\n`),
  });
  cache.start();
  try {
    await untilSynced(cache, context);
    context.terminal.error(`watching ${serverOf(config)}\n`);
    const source = new KubeSource({ api, cache, providers: context.providers.all, owner });
    const me = `${hostname()}_${process.pid}_${randomBytes(4).toString("hex")}`;
    const leadership = new Leadership({
      store: leaseInApiServer(config, { namespace: options.leaseNamespace, name: leaseName }),
      ...{ me, clock: leaseClock(), timing: defaultLeaseTiming },
      tell: (news) => context.terminal.error(`lease: ${news.kind}\n`),
      overrun: () => process.exit(exitCodes.failed),
    });
    await leadership.run(stop, async (term) => {
      controller = await makeController(options, context, { source, term });
      await controller.run(AbortSignal.any([stop, term.lost]));
      controller = undefined;
    });
  } finally {
    cache.stop();
  }
  return exitCodes.done;
}

async function makeController(
  options: WatchOptions,
  context: CommandContext,
  { source, term }: { readonly source: KubeSource; readonly term: Term },
): Promise<Controller> {
  const { clock, by, interruption, stateDir } = context;
  const { workspace, pulumi } = await openWorkspace(options, context);
  const turns = new Turns(options.engines);
  const kill = AbortSignal.any([interruption.kill, term.lost]);
  const queue = new KeyedQueue({ clock, random: Math.random });
  return new Controller({
    ...{ source, queue, clock, by, random: Math.random },
    providers: context.providers.all,
    concurrency: options.concurrency,
    periodMs: options.period * 1_000,
    timeoutMs: options.timeout * 1_000,
    deadlineMs: options.deadline * 1_000,
    witness: tellIn(context),
    onListingFailure: (provider, error) =>
      context.terminal.error(`cannot list ${provider}: ${messageOf(error)}\n`),
    withStack: (stack, work) =>
      withLockedStack(
        {
          ...{ stack, command: "capstan watch", clock, pulumi, workspace },
          interruption: { stop: interruption.stop, kill },
          inTurn: (run) =>
            turns.take(() => {
              term.assertLeader();
              return run();
            }),
        },
        work,
      ),
    noteCluster: ({ transaction, cluster, stack }, provider) =>
      noteCluster(stateDir, {
        ...{ clusterUid: transaction.clusterUid, cluster, stack, provider: provider.name },
        ...{ backend: workspace.backendKey, notedAtMs: clock.now() },
      }),
    newClusterUid: () => context.newClusterUid(),
  });
}

function tellIn({ terminal }: CommandContext): Witness {
  return (key, happening) => {
    const about =
      "error" in happening
        ? happening.error.message
        : happening.kind === "run"
          ? happening.event.kind
          : "";
    terminal.error(`${key}: ${happening.kind} ${about}\n`);
  };
}

const askAgainMs = 1_000;

/** An API server may be away when a controller starts. */
async function untilAnswered<T>(ask: () => Promise<T>, context: CommandContext): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isCapstanError(error) || !error.retryable) throw error;
      context.terminal.error(`${error.message}; asked again\n`);
      await context.clock.sleep(askAgainMs, context.interruption.stop);
    }
  }
}

async function untilSynced(cache: ObjectCache, context: CommandContext): Promise<void> {
  while (!cache.isSynced) await context.clock.sleep(100, context.interruption.stop);
}
