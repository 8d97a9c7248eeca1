import { NodeReports } from "../../src/engine/run/node-reports.js";
import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { CapstanError } from "../../src/api/error.js";
import { Controller } from "../../src/controller/controller.js";
import { KeyedQueue } from "../../src/controller/queue.js";
import type { WorkEngine } from "../../src/controller/reconciler-options.js";
import type { ReconcileEvent } from "../../src/controller/reconcile-event.js";
import { emptyState } from "../../src/records/prior-state.js";
import { type CertificateReport, noCertificates } from "../../src/source/certificate-report.js";
import type { ClusterSource } from "../../src/source/cluster-source.js";
import type { ClusterView } from "../../src/source/cluster-view.js";
import type { Intent } from "../../src/source/intent.js";
import { FakeClock } from "../support/fake-clock.js";
import { localProvider } from "../support/manifests.js";

const paused = (reason: string): Intent => ({ kind: "paused", reason, digest: `paused ${reason}` });
const remove: Intent = { kind: "remove", digest: "remove" };

/** Clusters that are asked for by a test, and what was shown and let go of them. */
class IntentsSource implements ClusterSource {
  readonly owner = "test";
  readonly intents = new Map<string, Intent>();
  readonly shown: string[] = [];
  readonly released: string[] = [];
  /** Whether somebody has written over what was shown. */
  isOverwritten = false;
  certificates = noCertificates;
  onShow: (key: string) => void = () => {};

  keys(): string[] {
    return [...this.intents.keys()];
  }

  intentOf(key: string): Intent {
    const intent = this.intents.get(key);
    if (key === "default/defect") throw new TypeError("a defect");
    return intent ?? { kind: "absent", digest: "absent" };
  }

  claim(): Promise<void> {
    return Promise.resolve();
  }

  show(key: string, { message }: ClusterView): Promise<void> {
    this.shown.push(`${key} ${message ?? ""}`);
    this.onShow(key);
    return Promise.resolve();
  }

  noteKept(): void {
    // No test asks.
  }

  isShown(): boolean {
    return !this.isOverwritten;
  }

  givenKeys(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  certificatesOf(): CertificateReport {
    return this.certificates;
  }

  release(key: string): Promise<void> {
    this.released.push(key);
    this.intents.delete(key);
    return Promise.resolve();
  }

  forget(): Promise<void> {
    return Promise.resolve();
  }
}

describe("Controller", () => {
  let clock: FakeClock;
  let source: IntentsSource;
  let queue: KeyedQueue;
  let controller: Controller;
  let happenings: [string, ReconcileEvent][];
  /** Stacks at which work hangs, or breaks, instead of coming to an end. */
  let hanging: Set<string>;
  let breaking: Set<string>;
  let stop: AbortController;
  let running: Promise<void> | undefined;

  beforeEach(() => {
    clock = new FakeClock(0, "manual");
    source = new IntentsSource();
    [hanging, breaking, happenings] = [new Set(), new Set(), []];
    stop = new AbortController();
    running = undefined;
    queue = new KeyedQueue({ clock, random: () => 0 });
    const engine = { readState: () => Promise.resolve({ ...emptyState, foreign: [] }) };
    controller = new Controller({
      source,
      queue,
      clock,
      by: "test",
      random: () => 0.5,
      concurrency: 4,
      periodMs: 30_000,
      timeoutMs: 1_000,
      deadlineMs: 1_000,
      providers: [localProvider()],
      sink: (key, event) => happenings.push([key, event]),
      onListingFailure: () => {},
      withStack: (stack, work) => {
        if (hanging.has(stack)) return new Promise(() => {});
        const message = "cannot lock the stack";
        if (!breaking.has(stack)) return work(engine as unknown as WorkEngine);
        return Promise.reject(new CapstanError({ code: "LOCKED", source: "user", message }));
      },
      openWorkload: () => Promise.reject(new Error("no cluster is asked")),
      nodeReports: new NodeReports(() => Promise.reject(new Error("no cluster is asked"))),
      newClusterUid: () => "uid",
      newDigestKey: () => "key",
      ownerMark: undefined,
    });
  });
  afterEach(async () => {
    stop.abort(new Error("over"));
    if (hanging.size === 0) await running;
  });

  async function pass(ms: number, stepMs = 100): Promise<void> {
    for (let passed = 0; passed <= ms; passed += stepMs) {
      for (let times = 0; times < 4; times += 1) await turn();
      clock.advance(stepMs);
    }
    for (let times = 0; times < 4; times += 1) await turn();
  }

  async function begin(): Promise<void> {
    running = controller.run(stop.signal);
    await pass(0);
  }

  it("works on every cluster that there is when it begins", async () => {
    for (const name of ["a", "b", "c"]) source.intents.set(`default/${name}`, remove);
    await begin();
    assert.deepEqual(source.released.sort(), ["default/a", "default/b", "default/c"]);
  });

  it("reads what changes in a burst once it is over, and works on it once", async () => {
    await begin();
    for (let number = 0; number < 10; number += 1) {
      source.intents.set("default/a", paused(`reason ${number}`));
      controller.onChange("default/a");
    }
    assert.deepEqual(source.shown, []);
    await pass(1_000);
    assert.deepEqual(source.shown, ["default/a reason 9"]);
  });

  it("does nothing when what is asked for has not changed", async () => {
    source.intents.set("default/a", paused("once"));
    await begin();
    const worked = happenings.length;
    for (let number = 0; number < 10; number += 1) {
      controller.onChange("default/a");
      await pass(500);
    }
    assert.equal(source.shown.length, 1);
    assert.equal(happenings.length, worked);
  });

  it("gets all others done while some hang", async () => {
    for (let number = 0; number < 60; number += 1) source.intents.set(`default/c${number}`, remove);
    for (const stack of ["default.c0", "default.c7", "default.c31"]) hanging.add(stack);
    await begin();
    await pass(2_000);
    assert.equal(source.released.length, 57);
    assert.equal(queue.state().working, 3);
  });

  it("tries what fails again later each time, and all others at once", async () => {
    for (let number = 0; number < 20; number += 1) source.intents.set(`default/c${number}`, remove);
    breaking.add("default.c3");
    await begin();
    await pass(60_000);
    assert.equal(source.released.length, 19);
    const failures = happenings.filter(([, { kind }]) => kind === "failed").length;
    assert.ok(failures >= 4 && failures <= 7, `${failures} tries in a minute`);
    breaking.clear();
    source.intents.set("default/new", remove);
    controller.onChange("default/new");
    await pass(70_000);
    assert.deepEqual(source.keys(), []);
  });

  it("survives a defect at one cluster, which is put off like a failure", async () => {
    source.intents.set("default/defect", remove);
    await begin();
    controller.onChange("default/defect");
    source.intents.set("default/a", remove);
    controller.onChange("default/a");
    await pass(10_000);
    assert.deepEqual(source.released, ["default/a"]);
    assert.equal(queue.state().failing, 1);
  });

  it("shows again what somebody has written over", async () => {
    source.intents.set("default/a", paused("hands off"));
    await begin();
    source.isOverwritten = true;
    source.onShow = () => (source.isOverwritten = false);
    controller.onChange("default/a");
    await pass(1_000);
    assert.equal(source.shown.length, 2);
  });

  it("shows again what could not be shown, although nobody tells of it any more", async () => {
    source.intents.set("default/a", paused("hands off"));
    source.isOverwritten = true;
    source.onShow = () => (source.isOverwritten = source.shown.length < 2);
    await begin();
    await pass(3_000);
    assert.equal(source.shown.length, 2);
  });

  it("does not race with somebody who writes over it each time", async () => {
    source.intents.set("default/a", paused("hands off"));
    source.isOverwritten = true;
    source.onShow = (key) => controller.onChange(key);
    await begin();
    await pass(60_000);
    assert.ok(source.shown.length <= 9, `${source.shown.length} times in a minute`);
    assert.ok(source.shown.length >= 4, "it gave in");
  });

  it("remembers nothing of clusters that are gone", async () => {
    for (let number = 0; number < 30; number += 1) source.intents.set(`default/c${number}`, remove);
    await begin();
    for (let number = 0; number < 30; number += 1) controller.onChange(`default/c${number}`);
    await pass(2_000);
    const { ready, delayed, working, failing } = queue.state();
    assert.deepEqual([ready, delayed, working, failing], [0, 0, 0, 0]);
    assert.equal(happenings.filter(([, { kind }]) => kind === "forgotten").length, 30);
  });

  it("ends when it is told to, and at once when it was told before", async () => {
    await begin();
    stop.abort(new Error("over"));
    await running;
    source.intents.set("default/a", remove);
    controller.onChange("default/a");
    await pass(1_000);
    await controller.run(stop.signal);
    assert.deepEqual(source.released, []);
  });
});
