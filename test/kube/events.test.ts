import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { eventName, type EventRequest, fitNote } from "../../src/kube/event-names.js";
import {
  EventRecorder,
  EventRefused,
  type EventStore,
  type StoredEvent,
} from "../../src/kube/events.js";
import { FakeClock } from "../support/fake-clock.js";

const hourMs = 3_600_000;

function happening(change: Partial<EventRequest> = {}): EventRequest {
  return {
    regarding: {
      apiVersion: "cluster.k8s.io/v1alpha1",
      kind: "Cluster",
      namespace: "default",
      name: "prod",
      uid: "0000-1111",
    },
    type: "Warning",
    reason: "DriftFound",
    action: "Replace",
    note: "host web-1 is gone",
    ...change,
  };
}

/** Events in memory, and every call as a line. */
class MemoryEvents implements EventStore {
  readonly events = new Map<string, StoredEvent & { readonly note: string }>();
  readonly calls: string[] = [];
  /** Thrown by the next calls, one each; "lost" does what was asked first. */
  readonly faults: (Error | "lost")[] = [];

  async create(name: string, { note }: EventRequest, atMs: number): Promise<boolean> {
    return this.call(`create ${note}`, () => {
      if (this.events.has(name)) return false;
      this.events.set(name, { note, atMs, count: 1 });
      return true;
    });
  }

  async find(name: string): Promise<StoredEvent | undefined> {
    return this.call("find", () => this.events.get(name));
  }

  async patchSeries(name: string, _: unknown, { count }: { count: number }): Promise<boolean> {
    return this.call(`series ${count}`, () => {
      const event = this.events.get(name);
      if (event !== undefined) this.events.set(name, { ...event, count });
      return event !== undefined;
    });
  }

  counts(): Record<string, number> {
    return Object.fromEntries([...this.events.values()].map(({ note, count }) => [note, count]));
  }

  private call<Answer>(line: string, answer: () => Answer): Answer {
    this.calls.push(line);
    const fault = this.faults.shift();
    if (fault === undefined) return answer();
    if (fault === "lost") answer();
    throw fault === "lost" ? new Error("connection reset") : fault;
  }
}

describe("eventName", () => {
  it("is the same for the same happening within a window, and another after it", () => {
    const names = new Set<string>();
    for (let ms = 0; ms < 10 * hourMs; ms += 60_000) names.add(eventName(happening(), ms));
    assert.ok(names.size === 10 || names.size === 11, `${names.size}`);
  });

  it("differs by object, reason, note and what is done", () => {
    const { regarding } = happening();
    const all = [
      happening(),
      happening({ note: "host web-2 is gone" }),
      happening({ reason: "DriftCorrected" }),
      happening({ action: "Report" }),
      happening({ type: "Normal" }),
      happening({ regarding: { ...regarding, uid: "another life" } }),
    ];
    assert.equal(new Set(all.map((each) => eventName(each, 0))).size, all.length);
  });

  it("fits into the name of an object, however long that of its object is", () => {
    const { regarding } = happening();
    const long = `${"a".repeat(235)}-${"b".repeat(17)}`;
    const name = eventName(happening({ regarding: { ...regarding, name: long } }), 0);
    assert.match(name, /^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$/);
    assert.ok(name.length <= 253 && !name.includes("-."), name);
  });
});

describe("fitNote", () => {
  it("leaves short notes alone, and cuts long ones between characters", () => {
    assert.equal(fitNote("é".repeat(512)), "é".repeat(512));
    const cut = fitNote("é".repeat(600));
    assert.ok(Buffer.byteLength(cut) <= 1_024 && cut.endsWith("é..."), cut.slice(-5));
  });
});

describe("EventRecorder", () => {
  let clock: FakeClock;
  let store: MemoryEvents;
  let dropped: number;
  let troubles: string[];
  let stop: AbortController;
  let run: Promise<void>;

  function recorder(capacity = 100): EventRecorder {
    const made = new EventRecorder({
      store,
      clock,
      capacity,
      patchEveryMs: 30_000,
      redact: (note) => note.replaceAll("hunter2", "[redacted]"),
      dropped: (count) => (dropped += count),
      onError: (error) => troubles.push(String(error)),
    });
    run = made.run(stop.signal);
    return made;
  }

  async function pass(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      for (let round = 0; round < 4; round++) await turn();
    }
  }

  beforeEach(() => {
    // Away from the end of the window of what is recorded below.
    clock = new FakeClock(5 * hourMs, "manual");
    store = new MemoryEvents();
    dropped = 0;
    troubles = [];
    stop = new AbortController();
  });

  afterEach(async () => {
    stop.abort();
    await run;
  });

  it("sends each happening once", async () => {
    const events = recorder();
    events.record(happening());
    events.record(happening({ note: "host web-2 is gone" }));
    await pass(60_000);
    assert.deepEqual(store.calls, ["create host web-1 is gone", "create host web-2 is gone"]);
    assert.equal(events.waiting, 0);
  });

  it("keeps secrets out of notes", async () => {
    recorder().record(happening({ note: "the cloud refused hunter2" }));
    await pass(2_000);
    assert.deepEqual(Object.keys(store.counts()), ["the cloud refused [redacted]"]);
  });

  it("makes a series of what happens again, told of once in a while", async () => {
    const events = recorder();
    for (let second = 0; second < 90; second++) {
      events.record(happening());
      await pass(1_000);
    }
    await pass(60_000);
    assert.deepEqual(store.counts(), { "host web-1 is gone": 90 });
    assert.ok(store.calls.length <= 5, store.calls.join(", "));
  });

  it("goes on with the series of an earlier life", async () => {
    recorder().record(happening());
    await pass(2_000);
    stop.abort();
    await run;
    stop = new AbortController();
    const events = recorder();
    events.record(happening());
    await pass(2_000);
    assert.deepEqual(store.counts(), { "host web-1 is gone": 2 });
    events.record(happening());
    await pass(40_000);
    assert.deepEqual(store.counts(), { "host web-1 is gone": 3 });
  });

  it("does not count twice what was made although the answer was lost", async () => {
    store.faults.push("lost");
    recorder().record(happening());
    await pass(20_000);
    assert.deepEqual(store.counts(), { "host web-1 is gone": 1 });
    assert.deepEqual(troubles, ["Error: connection reset"]);
  });

  it("tells it anew after the Event has expired", async () => {
    const events = recorder();
    events.record(happening());
    await pass(2_000);
    store.events.clear();
    events.record(happening());
    await pass(60_000);
    assert.deepEqual(Object.keys(store.counts()), ["host web-1 is gone"]);
    assert.equal(events.waiting, 0);
  });

  it("keeps what it could not send while the server is away", async () => {
    const events = recorder();
    for (let index = 0; index < 40; index++) store.faults.push(new Error("away"));
    for (let index = 0; index < 5; index++) events.record(happening({ note: `note ${index}` }));
    await pass(120_000);
    assert.equal(store.events.size, 5);
    assert.equal(dropped, 0);
    assert.ok(store.calls.length <= 120, "at most one try a second");
  });

  it("drops and counts what does not fit, and never what it waits to send", async () => {
    const events = recorder(10);
    for (let index = 0; index < 25; index++) events.record(happening({ note: `note ${index}` }));
    assert.equal(dropped, 15);
    await pass(5_000);
    assert.deepEqual(
      Object.keys(store.counts()),
      [0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `note ${n}`),
    );
  });

  it("remembers a bounded number of happenings", async () => {
    const events = recorder(2);
    for (let index = 0; index < 60; index++) {
      events.record(happening({ note: `note ${index}` }));
      await pass(1_000);
    }
    assert.equal(store.events.size, 60);
    events.record(happening({ note: "note 0" }));
    await pass(1_000);
    assert.equal(store.counts()["note 0"], 2, "found again in the server");
  });

  it("gives up what the server will never take, and says so", async () => {
    store.faults.push(new EventRefused("refused with 422"));
    const events = recorder();
    events.record(happening());
    events.record(happening({ note: "another" }));
    await pass(60_000);
    assert.deepEqual(store.counts(), { another: 1 });
    assert.deepEqual(troubles, ["Error: refused with 422"]);
    assert.equal(events.waiting, 0);
  });

  it("sends what is left at the end of the process", async () => {
    const events = recorder();
    stop.abort();
    await run;
    for (let index = 0; index < 3; index++) events.record(happening({ note: `note ${index}` }));
    await events.flush(new AbortController().signal);
    assert.equal(store.events.size, 3);
    const late = new AbortController();
    late.abort();
    events.record(happening({ note: "too late" }));
    await events.flush(late.signal);
    assert.equal(store.events.size, 3);
  });
});
