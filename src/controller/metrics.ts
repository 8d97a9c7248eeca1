import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import { omitUndefined } from "../api/omit-undefined.js";
import type { CertificateExpiry } from "../source/certificate-report.js";
import type { CloudCall } from "./counted-provider.js";
import { type MetricDefinition, type MetricName, metricTable } from "./metric-table.js";
import type { WorkState } from "./health.js";
import type { QueueObserver } from "./queue.js";
import { type Counts, LabelCounts } from "./label-counts.js";

interface MetricsOptions {
  /** The release. */
  readonly version: string;
  /** Also series for each cluster, which somebody with very many clusters may not want to keep. */
  readonly perCluster?: boolean;
}

type PassResult = "succeeded" | "failed" | "interrupted";
type TransactionDirection = "forward" | "back" | "destroy";
export type TransactionResult = "succeeded" | "failed" | "incomplete";

/** A request to the API server as it was answered. */
interface ApiCallResult {
  readonly resource: string;
  readonly verb: string;
  readonly outcome: string;
}

type MetricOf<Definition> = Definition extends { readonly type: "counter" }
  ? Counter
  : Definition extends { readonly type: "histogram" }
    ? Histogram
    : Gauge;
type MetricSet = { readonly [Name in MetricName]: MetricOf<(typeof metricTable)[Name]> };

/** What the controller counts, in a registry of its own. */
export class Metrics {
  readonly registry = new Registry();
  /** To be given to the queue. */
  readonly queue: QueueObserver = {
    taken: (_key, waitedMs) => this.metrics.queueWait.observe(waitedMs / 1000),
    worked: (_key, { kind }, tookMs) => {
      this.metrics.reconciles.inc({ result: kind });
      this.metrics.reconcileSeconds.observe({ result: kind }, tookMs / 1000);
    },
  };

  private readonly metrics: MetricSet;
  private readonly perCluster: boolean;
  private readonly drifted = new LabelCounts();
  private readonly phases = new LabelCounts();
  /** The certificates of each cluster for which there are series. */
  private readonly expiring = new Map<string, readonly string[]>();
  private workState: (() => WorkState) | undefined;

  constructor(options: MetricsOptions) {
    this.perCluster = options.perCluster ?? false;
    this.metrics = metricsIn(this.registry, this.perCluster);
    this.metrics.buildInfo.set({ version: options.version, node: process.version }, 1);
    collectDefaultMetrics({ register: this.registry });
  }

  /** All of it, as Prometheus reads it. */
  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    this.readQueue();
    return { contentType: this.registry.contentType, body: await this.registry.metrics() };
  }

  /** From now on the queue is read whenever the metrics are. */
  watchQueue(state: () => WorkState): void {
    this.workState = state;
  }

  /** One who does not lead knows of no cluster and no queue: the leader's are not counted twice. */
  leads(isLeader: boolean): void {
    this.metrics.leader.set(isLeader ? 1 : 0);
    if (isLeader) return;
    const known = [...this.phases.owners(), ...this.drifted.owners(), ...this.expiring.keys()];
    for (const cluster of known) this.forget(cluster);
    this.workState = undefined;
    this.metrics.queueDepth.reset();
    this.metrics.enginesAwaited.set(0);
  }

  leadershipLost(): void {
    this.metrics.leadershipLost.inc();
  }

  /** Runs an engine and counts it; what throws has failed. */
  async duringPass<Result>(
    run: () => Promise<Result>,
    resultOf: (result: Result) => PassResult = () => "succeeded",
  ): Promise<Result> {
    const { engines, passes, passSeconds } = this.metrics;
    const startedMs = performance.now();
    let result: PassResult = "failed";
    engines.inc();
    try {
      const answer = await run();
      result = resultOf(answer);
      return answer;
    } finally {
      engines.dec();
      passes.inc({ result });
      passSeconds.observe({ result }, (performance.now() - startedMs) / 1000);
    }
  }

  engineWaited(waitedMs: number): void {
    this.metrics.engineWait.observe(waitedMs / 1000);
  }

  transactionEnded(direction: TransactionDirection, result: TransactionResult): void {
    this.metrics.transactions.inc({ direction, result });
  }

  /** What a cluster's last look found, by class; classes that are left out are 0. */
  drift(cluster: string, byClass: Counts): void {
    const { drift, driftFound, clusterDrift } = this.metrics;
    for (const [name, rise] of Object.entries(this.drifted.set(cluster, byClass))) {
      driftFound.inc({ class: name }, rise);
    }
    setAll(drift, "class", this.drifted.totals());
    if (this.perCluster) setAll(clusterDrift, "class", this.drifted.of(cluster), { cluster });
  }

  phase(cluster: string, phase: string): void {
    const { clusters, clusterPhase } = this.metrics;
    this.phases.set(cluster, { [phase]: 1 });
    setAll(clusters, "phase", this.phases.totals());
    if (this.perCluster) setAll(clusterPhase, "phase", this.phases.of(cluster), { cluster });
  }

  /** Until when a cluster's certificates count; those that are left out are not there. */
  certificates(cluster: string, expiries: readonly CertificateExpiry[]): void {
    if (!this.perCluster) return;
    const { certificateExpiry } = this.metrics;
    for (const certificate of this.expiring.get(cluster) ?? []) {
      certificateExpiry.remove({ cluster, certificate });
    }
    for (const { name, expiresAtMs } of expiries) {
      certificateExpiry.set({ cluster, certificate: name }, expiresAtMs / 1000);
    }
    this.expiring.set(
      cluster,
      expiries.map(({ name }) => name),
    );
  }

  /** A cluster that is no more. */
  forget(cluster: string): void {
    this.certificates(cluster, []);
    this.expiring.delete(cluster);
    const { clusters, drift, clusterDrift, clusterPhase } = this.metrics;
    if (this.perCluster) {
      for (const name of Object.keys(this.drifted.of(cluster))) {
        clusterDrift.remove({ cluster, class: name });
      }
      for (const phase of Object.keys(this.phases.of(cluster))) {
        clusterPhase.remove({ cluster, phase });
      }
    }
    this.drifted.forget(cluster);
    this.phases.forget(cluster);
    setAll(drift, "class", this.drifted.totals());
    setAll(clusters, "phase", this.phases.totals());
  }

  cloudCalled({ provider, call, outcome, tookMs }: CloudCall): void {
    this.metrics.cloudCalls.inc({ provider, call, outcome });
    this.metrics.cloudSeconds.observe({ provider, call }, tookMs / 1000);
  }

  apiCalled({ resource, verb, outcome }: ApiCallResult): void {
    this.metrics.apiCalls.inc({ resource, verb, outcome });
  }

  watchRestarted(kind: string): void {
    this.metrics.watchRestarts.inc({ kind });
  }

  eventsDropped(count: number): void {
    this.metrics.eventsDropped.inc(count);
  }

  private readQueue(): void {
    const state = this.workState?.();
    if (state === undefined) return;
    const { ready, delayed, working, failing } = state;
    setAll(this.metrics.queueDepth, "state", { ready, delayed, working, failing });
    this.metrics.enginesAwaited.set(state.engines.waiting);
  }
}

function setAll(gauge: Gauge, label: string, counts: Counts, more: Record<string, string> = {}) {
  for (const [value, count] of Object.entries(counts))
    gauge.set({ ...more, [label]: value }, count);
}

function metricsIn(registry: Registry, perCluster: boolean): MetricSet {
  const made = Object.entries(metricTable).map(([key, definition]: [string, MetricDefinition]) => {
    const isAsked = perCluster || definition.perCluster !== true;
    return [key, metricOf(definition, isAsked ? [registry] : [])];
  });
  return Object.fromEntries(made) as MetricSet;
}

function metricOf(
  definition: MetricDefinition,
  registers: Registry[],
): Counter | Gauge | Histogram {
  const { type, name, help, labels, buckets } = definition;
  const options = { name, help, registers, labelNames: [...labels] };
  switch (type) {
    case "counter":
      return new Counter(options);
    case "gauge":
      return new Gauge(options);
    case "histogram":
      return new Histogram(
        omitUndefined({ ...options, buckets: buckets === undefined ? undefined : [...buckets] }),
      );
  }
}
