/** One metric, as docs/operations.md lists it. */
export interface MetricDefinition {
  readonly type: "counter" | "gauge" | "histogram";
  readonly name: string;
  readonly help: string;
  readonly labels: readonly string[];
  /** Of a histogram, seconds. */
  readonly buckets?: readonly number[];
  /** Only where it was asked for. */
  readonly perCluster?: true;
}

/** From a look that finds nothing to do to a wave of hosts that boot. */
const workBuckets = [0.01, 0.05, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const callBuckets = [0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Every metric of the controller. Labels are few and of few values: no cluster (unless it was asked
 * for), no machine, no message.
 */
export const metricTable = {
  buildInfo: {
    type: "gauge",
    name: "capstan_build_info",
    help: "Always 1; the labels say what runs.",
    labels: ["version", "node"],
  },
  leader: {
    type: "gauge",
    name: "capstan_leader",
    help: "1 while this process leads, otherwise 0.",
    labels: [],
  },
  leadershipLost: {
    type: "counter",
    name: "capstan_leadership_lost_total",
    help: "How often this process lost its lease without releasing it.",
    labels: [],
  },
  queueDepth: {
    type: "gauge",
    name: "capstan_queue_depth",
    help: "Clusters in the queue by state: ready, delayed, working, failing.",
    labels: ["state"],
  },
  queueWait: {
    type: "histogram",
    name: "capstan_queue_wait_seconds",
    help: "How long clusters that were ready waited for a worker.",
    labels: [],
    buckets: workBuckets,
  },
  reconciles: {
    type: "counter",
    name: "capstan_reconcile_total",
    help: "Reconciles by result: done, retryAfter, failed.",
    labels: ["result"],
  },
  reconcileSeconds: {
    type: "histogram",
    name: "capstan_reconcile_seconds",
    help: "How long reconciles took, by result.",
    labels: ["result"],
    buckets: workBuckets,
  },
  passes: {
    type: "counter",
    name: "capstan_passes_total",
    help: "Runs of the engine by result: succeeded, failed, interrupted.",
    labels: ["result"],
  },
  passSeconds: {
    type: "histogram",
    name: "capstan_pass_seconds",
    help: "How long runs of the engine took, by result.",
    labels: ["result"],
    buckets: workBuckets,
  },
  engines: {
    type: "gauge",
    name: "capstan_engine_processes",
    help: "Engines that run now.",
    labels: [],
  },
  enginesAwaited: {
    type: "gauge",
    name: "capstan_engine_runs_waiting",
    help: "Runs that wait for an engine.",
    labels: [],
  },
  engineWait: {
    type: "histogram",
    name: "capstan_engine_wait_seconds",
    help: "How long runs waited for an engine.",
    labels: [],
    buckets: workBuckets,
  },
  transactions: {
    type: "counter",
    name: "capstan_transactions_total",
    help: "Transactions that ended, by direction (forward, back, destroy) and result (succeeded, failed, incomplete).",
    labels: ["direction", "result"],
  },
  clusters: {
    type: "gauge",
    name: "capstan_clusters",
    help: "Clusters by phase.",
    labels: ["phase"],
  },
  drift: {
    type: "gauge",
    name: "capstan_drift_resources",
    help: "Resources of all clusters that differ from their record, by class.",
    labels: ["class"],
  },
  driftFound: {
    type: "counter",
    name: "capstan_drift_found_total",
    help: "Differences from the record that were found since the start, by class.",
    labels: ["class"],
  },
  cloudCalls: {
    type: "counter",
    name: "capstan_cloud_calls_total",
    help: "Calls to clouds by provider, call (as the port names it: locate, create, update, remove, inventory, console and others) and outcome (ok, unknown, gone, throttled, unanswered, cancelled, failed).",
    labels: ["provider", "call", "outcome"],
  },
  cloudSeconds: {
    type: "histogram",
    name: "capstan_cloud_call_seconds",
    help: "How long calls to clouds took, by provider and call.",
    labels: ["provider", "call"],
    buckets: callBuckets,
  },
  apiCalls: {
    type: "counter",
    name: "capstan_api_calls_total",
    help: "Requests to the API server by resource, verb and outcome (ok, conflict, absent, denied, expired, throttled, refused, failed, unreachable).",
    labels: ["resource", "verb", "outcome"],
  },
  watchRestarts: {
    type: "counter",
    name: "capstan_watch_restarts_total",
    help: "Watches that were opened again after a failure, by kind.",
    labels: ["kind"],
  },
  eventsDropped: {
    type: "counter",
    name: "capstan_events_dropped_total",
    help: "Events that were not sent because too many were waiting.",
    labels: [],
  },
  clusterDrift: {
    type: "gauge",
    name: "capstan_cluster_drift_resources",
    help: "As capstan_drift_resources, for each cluster.",
    labels: ["cluster", "class"],
    perCluster: true,
  },
  clusterPhase: {
    type: "gauge",
    name: "capstan_cluster_phase",
    help: "1 for the phase that the cluster is in.",
    labels: ["cluster", "phase"],
    perCluster: true,
  },
  certificateExpiry: {
    type: "gauge",
    name: "capstan_certificate_expiry_timestamp_seconds",
    help: "When a cluster's certificate expires (ca, etcd, frontProxy, kubeconfig), as seconds since 1970.",
    labels: ["cluster", "certificate"],
    perCluster: true,
  },
} as const satisfies Record<string, MetricDefinition>;

export type MetricName = keyof typeof metricTable;
