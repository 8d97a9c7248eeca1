import assert from "node:assert/strict";
import { metricTable } from "../../src/controller/metric-table.js";
import { Metrics } from "../../src/controller/metrics.js";
import { KeyedQueue } from "../../src/controller/queue.js";
import { FakeClock } from "../support/fake-clock.js";

/** The lines of our own metrics, without comments and buckets. */
async function lines(metrics: Metrics): Promise<string[]> {
  const { body } = await metrics.text();
  return body
    .split("\n")
    .filter((line) => line.startsWith("capstan_") && !line.includes("_bucket"));
}

async function valueOf(metrics: Metrics, series: string): Promise<number | undefined> {
  const line = (await lines(metrics)).find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

describe("metricTable", () => {
  it("names its metrics as Prometheus wants them", () => {
    for (const { type, name, labels } of Object.values(metricTable)) {
      assert.match(name, /^capstan_[a-z]+(_[a-z]+)*$/);
      assert.equal(name.endsWith("_total"), type === "counter", `${name} is a ${type}`);
      const isDuration = /(?<!_timestamp)_seconds$/.test(name);
      assert.equal(isDuration, type === "histogram", `${name} is a ${type}`);
      for (const label of labels) assert.match(label, /^[a-z]+$/);
    }
  });

  it("has no label of unbounded values, unless series for each cluster were asked for", () => {
    const bounded = [
      "state",
      "result",
      "direction",
      "class",
      "phase",
      "provider",
      "call",
      "outcome",
    ];
    const all = [...bounded, "resource", "verb", "kind", "version", "node"];
    for (const definition of Object.values(metricTable)) {
      const allowed = "perCluster" in definition ? [...all, "cluster", "certificate"] : all;
      for (const label of definition.labels) assert.ok(allowed.includes(label), label);
    }
  });
});

describe("Metrics", () => {
  it("starts with what it is, and not leading", async () => {
    const metrics = new Metrics({ version: "1.2.3" });
    const node = process.version;
    assert.equal(await valueOf(metrics, `capstan_build_info{version="1.2.3",node="${node}"}`), 1);
    assert.equal(await valueOf(metrics, "capstan_leader"), 0);
    metrics.leads(true);
    assert.equal(await valueOf(metrics, "capstan_leader"), 1);
    metrics.leadershipLost();
    assert.equal(await valueOf(metrics, "capstan_leadership_lost_total"), 1);
  });

  it("tells when certificates of each cluster expire, and forgets what is not there any more", async () => {
    const metrics = new Metrics({ version: "1.2.3", perCluster: true });
    const series = (certificate: string) =>
      `capstan_certificate_expiry_timestamp_seconds{cluster="default/prod",certificate="${certificate}"}`;
    const ca = { name: "ca", expiresAtMs: 2_000_000 } as const;
    metrics.certificates("default/prod", [ca, { name: "kubeconfig", expiresAtMs: 1_000_000 }]);
    assert.equal(await valueOf(metrics, series("ca")), 2_000);
    assert.equal(await valueOf(metrics, series("kubeconfig")), 1_000);
    metrics.certificates("default/prod", [ca]);
    assert.equal(await valueOf(metrics, series("kubeconfig")), undefined);
    metrics.leads(false);
    assert.equal(await valueOf(metrics, series("ca")), undefined);
    const plain = new Metrics({ version: "1.2.3" });
    plain.certificates("default/prod", [ca]);
    assert.equal(await valueOf(plain, series("ca")), undefined);
  });

  it("shows how the process itself fares", async () => {
    const { body, contentType } = await new Metrics({ version: "1" }).text();
    assert.match(body, /^process_resident_memory_bytes \d/m);
    assert.match(contentType, /^text\/plain; version=0\.0\.4/);
  });

  it("reads the queue, and counts what came of the work", async () => {
    const metrics = new Metrics({ version: "1" });
    const clock = new FakeClock(0, "manual");
    const queue = new KeyedQueue({ clock, random: () => 0, observer: metrics.queue });
    metrics.watchQueue(() => ({ ...queue.state(), engines: { waiting: 2, lastMoveAtMs: 0 } }));
    for (const key of ["a", "b", "c"]) queue.add(key);
    clock.advance(2_000);
    const never = new AbortController().signal;
    queue.done(await queue.take(never), { kind: "failed" });
    await queue.take(never);
    const found = await lines(metrics);
    assert.deepEqual(
      found.filter((line) => /queue|reconcile/.test(line)),
      [
        'capstan_queue_depth{state="ready"} 1',
        'capstan_queue_depth{state="delayed"} 1',
        'capstan_queue_depth{state="working"} 1',
        'capstan_queue_depth{state="failing"} 1',
        "capstan_queue_wait_seconds_sum 4",
        "capstan_queue_wait_seconds_count 2",
        'capstan_reconcile_total{result="failed"} 1',
        'capstan_reconcile_seconds_sum{result="failed"} 0',
        'capstan_reconcile_seconds_count{result="failed"} 1',
      ],
    );
  });

  it("counts engines while they run, and how they ended", async () => {
    const metrics = new Metrics({ version: "1" });
    await metrics.duringPass(async () => {
      assert.equal(await valueOf(metrics, "capstan_engine_processes"), 1);
    });
    await metrics.duringPass(
      async () => "stop",
      () => "interrupted",
    );
    const broken = metrics.duringPass(() => Promise.reject(new Error("no")));
    await assert.rejects(broken, /no/);
    assert.equal(await valueOf(metrics, "capstan_engine_processes"), 0);
    for (const result of ["succeeded", "interrupted", "failed"]) {
      assert.equal(await valueOf(metrics, `capstan_passes_total{result="${result}"}`), 1, result);
      assert.equal(await valueOf(metrics, `capstan_pass_seconds_count{result="${result}"}`), 1);
    }
  });

  it("sums drift and phases over clusters, and forgets clusters that are no more", async () => {
    const metrics = new Metrics({ version: "1" });
    metrics.drift("default/a", { missing: 2 });
    metrics.drift("default/b", { missing: 1, extra: 1 });
    metrics.drift("default/a", { missing: 0 });
    metrics.phase("default/a", "Running");
    metrics.phase("default/b", "Running");
    metrics.phase("default/b", "Failed");
    assert.equal(await valueOf(metrics, 'capstan_drift_resources{class="missing"}'), 1);
    assert.equal(await valueOf(metrics, 'capstan_drift_found_total{class="missing"}'), 3);
    assert.equal(await valueOf(metrics, 'capstan_clusters{phase="Running"}'), 1);
    metrics.forget("default/b");
    assert.equal(await valueOf(metrics, 'capstan_drift_resources{class="missing"}'), 0);
    assert.equal(await valueOf(metrics, 'capstan_clusters{phase="Failed"}'), 0);
    assert.ok(!(await metrics.text()).body.includes("default/"), "no series for a cluster");
  });

  it("tells nothing of clusters and queues once it leads no more", async () => {
    const metrics = new Metrics({ version: "1", perCluster: true });
    const queue = new KeyedQueue({ clock: new FakeClock(0, "manual"), random: () => 0 });
    queue.add("default/a");
    metrics.leads(true);
    metrics.watchQueue(() => ({ ...queue.state(), engines: { waiting: 2, lastMoveAtMs: 0 } }));
    metrics.phase("default/a", "Running");
    metrics.drift("default/b", { missing: 1 });
    assert.equal(await valueOf(metrics, 'capstan_queue_depth{state="ready"}'), 1);
    assert.equal(await valueOf(metrics, "capstan_engine_runs_waiting"), 2);
    metrics.leads(false);
    assert.equal(await valueOf(metrics, "capstan_engine_runs_waiting"), 0);
    assert.equal(await valueOf(metrics, "capstan_leader"), 0);
    assert.equal(await valueOf(metrics, 'capstan_queue_depth{state="ready"}'), undefined);
    assert.equal(await valueOf(metrics, 'capstan_clusters{phase="Running"}'), 0);
    assert.equal(await valueOf(metrics, 'capstan_drift_resources{class="missing"}'), 0);
    assert.ok(!(await metrics.text()).body.includes("default/"));
  });

  it("has series for each cluster when they are asked for, and takes them away", async () => {
    const metrics = new Metrics({ version: "1", perCluster: true });
    metrics.phase("default/a", "Pending");
    metrics.phase("default/a", "Running");
    metrics.drift("default/a", { extra: 4 });
    const phase = (name: string) => `capstan_cluster_phase{cluster="default/a",phase="${name}"}`;
    assert.equal(await valueOf(metrics, phase("Pending")), 0);
    assert.equal(await valueOf(metrics, phase("Running")), 1);
    const drift = 'capstan_cluster_drift_resources{cluster="default/a",class="extra"}';
    assert.equal(await valueOf(metrics, drift), 4);
    metrics.forget("default/a");
    assert.ok(!(await metrics.text()).body.includes("default/a"));
  });

  it("counts transactions, calls, watches and events", async () => {
    const metrics = new Metrics({ version: "1" });
    metrics.transactionEnded("back", "incomplete");
    metrics.cloudCalled({ provider: "local", call: "create", outcome: "throttled", tookMs: 250 });
    metrics.apiCalled({ resource: "machines.cluster.k8s.io", verb: "update", outcome: "conflict" });
    metrics.watchRestarted("Machine");
    metrics.eventsDropped(3);
    const wanted = {
      'capstan_transactions_total{direction="back",result="incomplete"}': 1,
      'capstan_cloud_calls_total{provider="local",call="create",outcome="throttled"}': 1,
      'capstan_cloud_call_seconds_sum{provider="local",call="create"}': 0.25,
      'capstan_api_calls_total{resource="machines.cluster.k8s.io",verb="update",outcome="conflict"}': 1,
      'capstan_watch_restarts_total{kind="Machine"}': 1,
      capstan_events_dropped_total: 3,
    };
    for (const [series, value] of Object.entries(wanted)) {
      assert.equal(await valueOf(metrics, series), value, series);
    }
  });
});
