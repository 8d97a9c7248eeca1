import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { KubeConfig } from "@kubernetes/client-node";
import { isCapstanError, messageOf } from "../api/error.js";
import { observeApiCalls } from "../kube/api-calls.js";
import { KubeApi } from "../kube/api.js";
import { serverOf } from "../kube/connection.js";
import { eventsInApiServer } from "../kube/event-store.js";
import { EventRecorder } from "../kube/events.js";
import { IdentityCache } from "../kube/identity-cache.js";
import { KubeSource } from "../kube/kube-source.js";
import { Leadership, leaseIdentity, type LeaseNews, type Term } from "../kube/lease.js";
import { leaseClock } from "../kube/lease-clock.js";
import { defaultLeaseTiming } from "../kube/lease-steps.js";
import { leaseInApiServer, leaseName } from "../kube/lease-store.js";
import { ObjectCache } from "../kube/object-cache.js";
import { statusOf } from "../kube/requests.js";
import { SecretCache } from "../kube/secret-cache.js";
import type { Redact } from "../kube/redaction.js";
import type { InfrastructureProvider } from "../provider/port.js";
import type { EngineGuard } from "../engine/pulumi/engine-options.js";
import { fencedApi } from "./fenced-api.js";
import { buildController, type ControllerSettings, type Watched } from "./build-controller.js";
import type { Controller } from "./controller.js";
import { allSinks, kubeEventSink, logSink, metricsSink, countedSource } from "./event-sinks.js";
import { Health } from "./health.js";
import type { Log } from "./log.js";
import { Metrics } from "./metrics.js";
import { serveOperations } from "./serve.js";
import { EngineWatchdog } from "./watchdog.js";

interface ControllerManagerOptions {
  readonly settings: ControllerSettings;
  readonly config: KubeConfig;
  readonly providers: readonly InfrastructureProvider[];
  /** Called at the begin of each term of leading. */
  readonly openWorkspace: () => Promise<Watched["opened"]>;
  /** Of the Lease. */
  readonly leaseNamespace: string;
  /** Where metrics and probes are served; nowhere without. */
  readonly metricsAddress: string | undefined;
  /** Also series for each cluster. */
  readonly clusterMetrics: boolean;
  /** The release. */
  readonly version: string;
  readonly log: Log;
  /** Takes secrets out of what others may read. */
  readonly redact: Redact;
  /** What was told to end with a lost lease has not: ends the process at once. */
  readonly overrun: () => void;
}

/** An API server that is away when a manager starts is asked again after so long. */
const askAgainMs = 1_000;
const syncPollMs = 100;
/** For the last Events of a process that ends. */
const flushMs = 3_000;

/**
 * What a controller needs of its process, as in Kubernetes' controller-runtime: a manager starts the caches and
 * waits until they are in sync, serves metrics and probes, runs for leader, runs the controller while it is
 * elected, and stops all of it in order.
 */
export class ControllerManager {
  private readonly api: KubeApi;
  private readonly cache: ObjectCache;
  private readonly secrets: SecretCache;
  private readonly identities: IdentityCache;
  private readonly events: EventRecorder;
  private readonly metrics: Metrics;
  private readonly health: Health;
  private readonly identity = leaseIdentity(
    hostname(),
    process.pid,
    randomBytes(4).toString("hex"),
  );
  /** While it is elected. */
  private controller: Controller | undefined;
  private watchdog: EngineWatchdog | undefined;

  constructor(private readonly options: ControllerManagerOptions) {
    const { config, log, redact, version, clusterMetrics, settings } = options;
    const { clock } = settings;
    this.api = new KubeApi(config);
    this.metrics = new Metrics({ version, perCluster: clusterMetrics });
    this.health = new Health(clock);
    this.health.waitFor("objects");
    this.events = new EventRecorder({
      store: eventsInApiServer(config, this.identity),
      clock,
      redact,
      dropped: (count) => this.metrics.eventsDropped(count),
      onError: (error) => log.debug(`an Event was not told: ${messageOf(error)}`),
    });
    const watching = { config, api: this.api, random: Math.random };
    this.secrets = new SecretCache({
      ...watching,
      // Cluster API's own clusters have Secrets of such names, too.
      onChange: (key) => {
        if (this.cache.clusterOf(key).cluster !== undefined) this.controller?.onChange(key);
      },
      onError: (error) => this.watchBroke("Secret", error),
    });
    this.identities = new IdentityCache({
      ...watching,
      providers: options.providers,
      onChange: () => {
        for (const key of this.cache.keys()) this.controller?.onChange(key);
      },
      onError: (kind, error) => this.watchBroke(kind, error),
    });
    this.cache = new ObjectCache({
      ...watching,
      onChange: (key) => this.controller?.onChange(key),
      onError: (kind, error) => this.watchBroke(kind, error),
    });
  }

  /** Of the present term, or of the last one; nobody writes before the first. */
  private assertLeader: () => void = () => undefined;

  private watchBroke(kind: string, error: unknown): void {
    const { log } = this.options;
    const told = `the watch of ${kind} objects begins anew`;
    this.metrics.watchRestarted(kind);
    // A server that has just learnt of a kind says when to ask again: nothing is wrong with it.
    if (isThrottled(error)) log.info(`${told}: ${messageOf(error)}`);
    else log.warn(told, {}, error);
  }

  /** Until the interruption's stop; resolves when everything that it started has ended. */
  async start(): Promise<void> {
    const { metricsAddress, log } = this.options;
    const { metrics, health } = this;
    const operations = {
      metrics: () => metrics.text(),
      whyNotAlive: () => health.whyNotAlive(),
      whyNotReady: () => health.whyNotReady(),
    };
    const served =
      metricsAddress === undefined ? undefined : await serveOperations(metricsAddress, operations);
    try {
      if (served !== undefined) log.info(`serves metrics and probes on ${served.address}`);
      await this.run(this.options.settings.interruption.stop);
    } finally {
      await served?.close();
    }
  }

  private async run(stop: AbortSignal): Promise<void> {
    const { config, log, providers, redact, settings } = this.options;
    const { clock } = settings;
    const { api, cache, secrets, identities, events } = this;
    const unobserve = this.observeApi();
    // Also by an error: whoever started it is then told, and no Event is left behind.
    const ended = new AbortController();
    const telling = events.run(AbortSignal.any([stop, ended.signal]));
    try {
      const owner = await this.untilAnswered(() => api.identity());
      await this.untilInstalled();
      cache.start();
      secrets.start();
      identities.start();
      await this.untilSynced();
      log.info(`watches ${serverOf(config)}`);
      const source = new KubeSource({
        api: fencedApi(api, () => this.assertLeader()),
        cache,
        secrets,
        identities,
        clock,
        providers,
        owner,
        redact,
      });
      await this.leadership().run(stop, (term) => this.lead(term, source));
    } catch (error) {
      if (!stop.aborted) throw error;
    } finally {
      ended.abort();
      await telling;
      await events.flush(AbortSignal.timeout(flushMs));
      cache.stop();
      secrets.stop();
      identities.stop();
      unobserve();
    }
  }

  /** Counts every call to the API server, until the function that it answers is called. */
  private observeApi(): () => void {
    const server = this.options.config.getCurrentCluster()?.server ?? "";
    return observeApiCalls(server, (call) => {
      this.metrics.apiCalled(call);
      if (call.outcome === "unreachable") this.health.missed();
      else this.health.reached();
    });
  }

  private leadership(): Leadership {
    const { config, leaseNamespace: namespace, overrun } = this.options;
    return new Leadership({
      store: leaseInApiServer(config, { namespace, name: leaseName }),
      me: this.identity,
      clock: leaseClock(),
      timing: defaultLeaseTiming,
      renewed: (leftMs) => this.watchdog?.extend(leftMs),
      tell: (news) => this.tellLease(news),
      overrun,
    });
  }

  /** Runs the controller for one term, with a watchdog that ends its engines where it cannot. */
  private async lead(term: Term, source: KubeSource): Promise<void> {
    const { overrun } = this.options;
    // Also what ends late has to ask.
    this.assertLeader = () => term.assertLeader();
    const watchdog = await EngineWatchdog.start(overrun);
    this.watchdog = watchdog;
    watchdog.extend(term.leftMs());
    try {
      await this.control(term, source, watchdog);
    } finally {
      this.watchdog = undefined;
      watchdog.close();
    }
  }

  private async control(term: Term, source: KubeSource, guard: EngineGuard): Promise<void> {
    const { options, metrics } = this;
    const { settings, log } = options;
    const opened = await options.openWorkspace();
    const { controller, queue, engineLine } = buildController(settings, {
      source: countedSource(source, metrics),
      opened,
      term,
      guard,
      sink: allSinks([
        logSink(log.with({ leader: this.identity })),
        metricsSink(metrics),
        kubeEventSink(this.events, (key, about) => source.regarding(key, about)),
      ]),
      providers: options.providers,
      onCall: (call) => metrics.cloudCalled(call),
      onEngine: (waitedMs) => metrics.engineWaited(waitedMs),
      duringPass: (run) => metrics.duringPass(run),
      queueObserver: metrics.queue,
    });
    metrics.watchQueue(() => ({ ...queue.state(), engines: engineLine.state() }));
    this.health.watchQueue(() =>
      this.controller === controller
        ? { ...queue.state(), engines: engineLine.state() }
        : undefined,
    );
    this.controller = controller;
    const ended = AbortSignal.any([settings.interruption.stop, term.lost]);
    await controller.run(ended).finally(() => {
      this.controller = undefined;
      // What ended late has shown clusters again.
      metrics.leads(false);
    });
  }

  private tellLease(news: LeaseNews): void {
    const { metrics, identity } = this;
    const { log } = this.options;
    if (news.kind !== "trouble") metrics.leads(news.kind === "leading");
    switch (news.kind) {
      case "leading":
        return log.info("leads", { leader: identity });
      case "following":
        return log.info("follows", { leader: news.holder });
      case "lost":
        metrics.leadershipLost();
        return log.error(`leads no more: ${news.reason}`);
      case "released":
        return log.info("has handed the lease back");
      case "trouble":
        return log.debug(`cannot reach the lease: ${messageOf(news.error)}`);
    }
  }

  private async untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
    const { log, settings } = this.options;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!isCapstanError(error) || !error.retryable) throw error;
        log.warn("asks the API server again in a moment", {}, error);
        await settings.clock.sleep(askAgainMs, settings.interruption.stop);
      }
    }
  }

  /** Without our kinds there is nothing to watch: that is said once, and waited for. */
  private async untilInstalled(): Promise<void> {
    const { log, settings, config } = this.options;
    const { clock, interruption } = settings;
    if (await this.untilAnswered(() => this.api.servesOurKinds())) return;
    log.warn(`${serverOf(config)} does not know our kinds; waits for capstan install`);
    // An API server that has just learnt of a kind asks for patience before it serves it.
    while (!(await this.api.servesOurKinds().catch(unlessFinal))) {
      await clock.sleep(askAgainMs, interruption.stop);
    }
  }

  private async untilSynced(): Promise<void> {
    const { clock, interruption } = this.options.settings;
    const isSynced = () => this.cache.isSynced && this.secrets.isSynced && this.identities.isSynced;
    while (!isSynced()) await clock.sleep(syncPollMs, interruption.stop);
    this.health.synced("objects");
  }
}

function unlessFinal(error: unknown): false {
  if (isCapstanError(error) && error.retryable) return false;
  throw error;
}

/** Whether the API server has asked for a pause. */
function isThrottled(error: unknown): boolean {
  return error instanceof Error && statusOf(error.cause) === 429;
}
