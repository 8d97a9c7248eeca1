import assert from "node:assert/strict";
import { eventsInApiServer } from "../../src/kube/event-store.js";
import type { EventRequest } from "../../src/kube/event-names.js";
import { EventRecorder } from "../../src/kube/events.js";
import { systemClock } from "../../src/provider/clock.js";
import { until } from "../scenario/until.js";
import { ApiServer } from "../support/api-server.js";

interface EventItem {
  readonly note: string;
  readonly type: string;
  readonly reason: string;
  readonly action: string;
  readonly reportingController: string;
  readonly reportingInstance: string;
  readonly eventTime: string;
  readonly regarding: { readonly kind: string; readonly name: string; readonly uid?: string };
  readonly series?: { readonly count: number; readonly lastObservedTime: string };
}

describe("Events in an API server", () => {
  let server: ApiServer;
  let namespaces = 0;
  let namespace: string;
  let stop: AbortController;
  let running: Promise<void>[];
  let troubles: string[];

  before(async () => {
    server = await ApiServer.start();
  });
  after(() => server.stop());

  beforeEach(async () => {
    namespace = `events-${++namespaces}`;
    await server.apply(`{ apiVersion: v1, kind: Namespace, metadata: { name: ${namespace} } }`);
    stop = new AbortController();
    running = [];
    troubles = [];
  });
  afterEach(async () => {
    stop.abort();
    await Promise.all(running);
  });

  function recorder(instance: string): EventRecorder {
    const made = new EventRecorder({
      store: eventsInApiServer(server.config, instance),
      clock: systemClock,
      redact: (note) => note,
      patchEveryMs: 200,
      onError: (error) => troubles.push(String(error)),
    });
    running.push(made.run(stop.signal));
    return made;
  }

  function happening(change: Partial<EventRequest> = {}): EventRequest {
    return {
      regarding: {
        apiVersion: "cluster.k8s.io/v1alpha1",
        kind: "Cluster",
        namespace,
        name: "prod",
        uid: "11111111-2222",
      },
      type: "Warning",
      reason: "DriftFound",
      action: "Replace",
      note: "host web-1 is gone",
      ...change,
    };
  }

  async function events(): Promise<EventItem[]> {
    const args = ["get", "events.events.k8s.io", "-n", namespace, "-o", "json"];
    const { code, stdout, stderr } = await server.kubectl(...args);
    assert.equal(code, 0, stderr);
    return (JSON.parse(stdout) as { items: EventItem[] }).items;
  }

  it("has all that people and machines look for", async () => {
    recorder("capstan-0").record(happening());
    await until("the Event", async () => (await events()).length === 1);
    const [event] = await events();
    const { eventTime, regarding, ...rest } = event ?? ({} as EventItem);
    assert.deepEqual(
      {
        note: rest.note,
        type: rest.type,
        reason: rest.reason,
        action: rest.action,
        by: rest.reportingController,
        instance: rest.reportingInstance,
      },
      {
        note: "host web-1 is gone",
        type: "Warning",
        reason: "DriftFound",
        action: "Replace",
        by: "capstan.dev/controller",
        instance: "capstan-0",
      },
    );
    assert.ok(Math.abs(Date.parse(eventTime) - Date.now()) < 30_000, eventTime);
    assert.deepEqual([regarding.kind, regarding.uid], ["Cluster", "11111111-2222"]);
    const { stdout } = await server.kubectl("get", "events", "-n", namespace);
    assert.match(stdout, /Warning +DriftFound +cluster\/prod +host web-1 is gone/);
    assert.deepEqual(troubles, []);
  });

  it("is one series, whoever tells it and however often he was started", async () => {
    const first = recorder("capstan-0");
    for (let count = 0; count < 5; count++) first.record(happening());
    await until("a series", async () => (await events())[0]?.series?.count === 5);
    const second = recorder("capstan-1");
    second.record(happening());
    await until("a longer series", async () => (await events())[0]?.series?.count === 6);
    second.record(happening());
    await until("a longer series", async () => (await events())[0]?.series?.count === 7);
    assert.equal((await events()).length, 1);
    assert.deepEqual(troubles, []);
  });

  it("takes the longest note, reason and name there can be", async () => {
    const { regarding } = happening();
    recorder("i".repeat(300)).record(
      happening({
        note: "ü".repeat(3_000),
        reason: "R".repeat(200),
        action: "A".repeat(200),
        regarding: { ...regarding, name: `${"a".repeat(120)}.${"b".repeat(120)}` },
      }),
    );
    await until("the Event", async () => (await events()).length === 1);
    assert.deepEqual(troubles, []);
  });

  it("gives up what belongs to a namespace that is not there, and goes on", async () => {
    const { regarding } = happening();
    const made = recorder("capstan-0");
    made.record(happening({ regarding: { ...regarding, namespace: "nowhere" } }));
    made.record(happening());
    await until("the other Event", async () => (await events()).length === 1);
    assert.equal(troubles.length, 1);
    assert.equal(made.waiting, 0);
  });
});
