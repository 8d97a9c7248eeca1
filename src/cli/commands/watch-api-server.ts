import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { KubeConfig } from "@kubernetes/client-node";
import { CapstanError, isCapstanError, messageOf } from "../../api/error.js";
import type { Controller } from "../../controller/controller.js";
import { countedProvider } from "../../controller/counted-provider.js";
import { fencedProvider } from "../../controller/fenced-provider.js";
import { Health } from "../../controller/health.js";
import { createLog, type Log } from "../../controller/log.js";
import { Metrics } from "../../controller/metrics.js";
import { scrubber } from "../../controller/secrets.js";
import { type Operations, serveOperations } from "../../controller/serve.js";
import {
  allSinks,
  redactingSource,
  kubeEventSink,
  logSink,
  metricsSink,
} from "../../controller/event-sinks.js";
import { observeApiCalls } from "../../kube/api-calls.js";
import { KubeApi } from "../../kube/api.js";
import { connect, serverOf } from "../../kube/connection.js";
import { eventsInApiServer } from "../../kube/event-store.js";
import { EventRecorder } from "../../kube/events.js";
import { keepConnections } from "../../kube/kept-connections.js";
import { KubeSource } from "../../kube/kube-source.js";
import { Leadership, type LeaseNews, type Term } from "../../kube/lease.js";
import { leaseClock } from "../../kube/lease-clock.js";
import { defaultLeaseTiming } from "../../kube/lease-steps.js";
import { leaseInApiServer, leaseName } from "../../kube/lease-store.js";
import { ObjectCache } from "../../kube/object-cache.js";
import { type CommandContext, openWorkspace } from "../context.js";
import { exitCodes } from "../exit.js";
import { packageVersion } from "../version.js";
import { makeController, type WatchOptions } from "./watch-controller.js";

/** capstan watch: keeps the clusters of an API server as their objects want them, until it is stopped. */
export async function watchApiServer(
  options: WatchOptions,
  context: CommandContext,
): Promise<number> {
  const { env } = context;
  refuseOwnPassphrase(options, env);
  const config = keepConnections(connect({ ...options, env }));
  const replica = new Replica(options, context, config);
  const served =
    options.metricsAddress === undefined
      ? undefined
      : await serveOperations(options.metricsAddress, replica);
  try {
    if (served !== undefined) replica.log.info(`serves metrics and probes on ${served.address}`);
    await replica.work();
  } finally {
    await served?.close();
  }
  return exitCodes.done;
}

/**
 * A passphrase that is made in the state folder is gone with a pod's, and with it the state that it has
 * encrypted in a backend that stays. Throws BAD_USAGE.
 */
function refuseOwnPassphrase({ backend }: WatchOptions, env: NodeJS.ProcessEnv): void {
  const given = env["PULUMI_CONFIG_PASSPHRASE"] ?? env["PULUMI_CONFIG_PASSPHRASE_FILE"];
  if (backend === undefined || given !== undefined) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message:
      "cannot watch with a backend and no passphrase: each replica would make one of its own",
    hint: "set PULUMI_CONFIG_PASSPHRASE_FILE to a file that all replicas have (docs/state.md)",
  });
}

/** One of the processes that may lead: it knows all objects, and works on them while it leads. */
class Replica implements Operations {
  readonly log: Log;
  private readonly api: KubeApi;
  private readonly counts: Metrics;
  private readonly health: Health;
  private readonly me = `${hostname()}_${process.pid}_${randomBytes(4).toString("hex")}`;
  private readonly events: EventRecorder;
  private readonly cache: ObjectCache;
  private controller: Controller | undefined;

  constructor(
    private readonly options: WatchOptions,
    private readonly context: CommandContext,
    private readonly config: KubeConfig,
  ) {
    const { clock, env, terminal } = context;
    this.log = createLog({
      level: options.logLevel,
      env,
      pretty: terminal.live && !context.json,
      write: (line) => terminal.error(line),
    });
    this.api = new KubeApi(config);
    this.counts = new Metrics({
      version: packageVersion(),
      perCluster: options.clusterMetrics === true,
    });
    this.health = new Health(clock);
    this.health.waitFor("objects");
    this.events = new EventRecorder({
      store: eventsInApiServer(config, this.me),
      clock,
      scrub: scrubber(env),
      dropped: (count) => this.counts.eventsDropped(count),
      onError: (error) => this.log.debug(`an Event was not told: ${messageOf(error)}`),
    });
    this.cache = new ObjectCache({
      config,
      api: this.api,
      random: Math.random,
      onChange: (key) => this.controller?.onChange(key),
      onError: (kind, error) => {
        this.counts.watchRestarted(kind);
        this.log.warn(`the watch of ${kind} objects begins anew`, {}, error);
      },
    });
  }

  metrics(): ReturnType<Metrics["text"]> {
    return this.counts.text();
  }

  /** Until it is stopped. */
  async work(): Promise<void> {
    const { stop } = this.context.interruption;
    const server = this.config.getCurrentCluster()?.server ?? "";
    const unobserve = observeApiCalls(server, (call) => {
      this.counts.apiCalled(call);
      if (call.outcome === "unreachable") this.health.missed();
      else this.health.reached();
    });
    this.cache.start();
    const telling = this.events.run(stop);
    try {
      const owner = await this.untilAnswered(() => this.api.identity());
      await this.untilSynced();
      this.log.info(`watches ${serverOf(this.config)}`);
      const { api, cache } = this;
      const { providers } = this.context;
      const source = new KubeSource({ api, cache, providers: providers.all, owner });
      await this.leadership().run(stop, (term) => this.lead(term, source));
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      await telling;
      await this.events.flush(AbortSignal.timeout(flushMs));
      this.cache.stop();
      unobserve();
    }
  }

  whyNotAlive(): readonly string[] {
    return this.health.whyNotAlive();
  }

  whyNotReady(): readonly string[] {
    return this.health.whyNotReady();
  }

  private leadership(): Leadership {
    const { leaseNamespace: namespace } = this.options;
    return new Leadership({
      store: leaseInApiServer(this.config, { namespace, name: leaseName }),
      me: this.me,
      clock: leaseClock(),
      timing: defaultLeaseTiming,
      tell: (news) => this.tellLease(news),
      // Engines live in process groups of their own and see that we are gone.
      overrun: () => process.exit(exitCodes.failed),
    });
  }

  private async lead(term: Term, source: KubeSource): Promise<void> {
    const { context, options, counts: metrics, log } = this;
    const opened = await openWorkspace(options, context);
    const { controller, queue } = makeController(options, context, {
      source: redactingSource(source, metrics, scrubber(context.env)),
      opened,
      term,
      sink: allSinks([
        logSink(log.with({ leader: this.me })),
        metricsSink(metrics),
        kubeEventSink(this.events, (key) => source.regarding(key)),
      ]),
      providers: context.providers.all.map((provider) =>
        fencedProvider(
          countedProvider(provider, (call) => metrics.cloudCalled(call)),
          () => term.assertLeader(),
        ),
      ),
      duringPass: (run) => metrics.duringPass(run),
      queueObserver: metrics.queue,
    });
    metrics.watchQueue(() => queue.state());
    this.health.watchQueue(() => (this.controller === controller ? queue.state() : undefined));
    this.controller = controller;
    await controller.run(AbortSignal.any([context.interruption.stop, term.lost])).finally(() => {
      this.controller = undefined;
      // What ended late has shown clusters again.
      metrics.leads(false);
    });
  }

  private tellLease(news: LeaseNews): void {
    if (news.kind !== "trouble") this.counts.leads(news.kind === "leading");
    switch (news.kind) {
      case "leading":
        return this.log.info("leads", { leader: this.me });
      case "following":
        return this.log.info("follows", { leader: news.holder });
      case "lost":
        this.counts.leadershipLost();
        return this.log.error(`leads no more: ${news.reason}`);
      case "released":
        return this.log.info("has handed the lease back");
      case "trouble":
        return this.log.debug(`cannot reach the lease: ${messageOf(news.error)}`);
    }
  }

  /** An API server may be away when a controller starts. */
  private async untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!isCapstanError(error) || !error.retryable) throw error;
        this.log.warn("asks the API server again in a moment", {}, error);
        await this.context.clock.sleep(askAgainMs, this.context.interruption.stop);
      }
    }
  }

  private async untilSynced(): Promise<void> {
    while (!this.cache.isSynced) {
      await this.context.clock.sleep(syncPollMs, this.context.interruption.stop);
    }
    this.health.synced("objects");
  }
}

const askAgainMs = 1_000;
const syncPollMs = 100;
/** For the last Events of a process that ends. */
const flushMs = 3_000;
