import { hostname } from "node:os";
import { randomBytes } from "node:crypto";
import { isCapstanError, messageOf } from "../../api/error.js";
import { connect, serverOf } from "../../kube/connection.js";
import { KubeApi } from "../../kube/api.js";
import { KubeSource } from "../../kube/kube-source.js";
import { controllerLease } from "../../kube/leader-sight.js";
import { Leadership } from "../../kube/lease.js";
import { leaseClock } from "../../kube/lease-clock.js";
import { defaultLeaseTiming } from "../../kube/lease-steps.js";
import { leaseInApiServer } from "../../kube/lease-store.js";
import { ObjectCache } from "../../kube/object-cache.js";
import type { Controller } from "../../controller/controller.js";
import type { Witness } from "../../controller/witness.js";
import { type CommandContext, openWorkspace } from "../context.js";
import { exitCodes } from "../exit.js";
import { makeController, type WatchOptions } from "./watch-controller.js";

/** capstan watch: keeps the clusters of an API server as their objects want them, until it is stopped. */
export async function watchApiServer(
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
      store: leaseInApiServer(config, { namespace: options.leaseNamespace, name: controllerLease }),
      ...{ me, clock: leaseClock(), timing: defaultLeaseTiming },
      tell: (news) => context.terminal.error(`lease: ${news.kind}\n`),
      overrun: () => process.exit(exitCodes.failed),
    });
    await leadership.run(stop, async (term) => {
      const opened = await openWorkspace(options, context);
      controller = makeController(options, context, {
        ...{ source, witness: tellIn(context), opened, term },
      });
      await controller.run(AbortSignal.any([stop, term.lost]));
      controller = undefined;
    });
  } finally {
    cache.stop();
  }
  return exitCodes.done;
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
