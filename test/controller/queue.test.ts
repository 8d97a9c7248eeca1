import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { KeyedQueue, type QueueObserver, type WorkOutcome } from "../../src/controller/queue.js";
import { FakeClock } from "../support/fake-clock.js";

const never = new AbortController().signal;
const done: WorkOutcome = { kind: "done" };
const failed: WorkOutcome = { kind: "failed" };

function queueAt(clock: FakeClock, observer: QueueObserver = {}): KeyedQueue {
  return new KeyedQueue({ clock, random: () => 0, observer });
}

async function advance(clock: FakeClock, ms: number): Promise<void> {
  clock.advance(ms);
  await turn();
}

/** The keys that can be taken now, in order; each is handed back as done. */
async function takeAll(queue: KeyedQueue): Promise<string[]> {
  const keys = [];
  while (queue.state().ready > 0) {
    const key = await queue.take(never);
    queue.done(key, done);
    keys.push(key);
  }
  return keys;
}

describe("KeyedQueue", () => {
  let clock: FakeClock;
  beforeEach(() => {
    clock = new FakeClock(0, "manual");
  });

  it("gives keys in the order in which they came, each once", async () => {
    const queue = queueAt(clock);
    for (const key of ["b", "a", "b", "c", "a"]) queue.add(key);
    assert.deepEqual(await takeAll(queue), ["b", "a", "c"]);
  });

  it("gives a key that was added while it was worked on once more, after the others", async () => {
    const queue = queueAt(clock);
    queue.add("a");
    const key = await queue.take(never);
    queue.add("b");
    queue.add("a");
    queue.add("a");
    assert.equal(queue.state().ready, 1, "not while it is worked on");
    queue.done(key, done);
    assert.deepEqual(await takeAll(queue), ["b", "a"]);
  });

  it("lets namespaces take turns, however many clusters of one wait", async () => {
    const queue = queueAt(clock);
    for (const key of ["a/1", "a/2", "a/3", "b/1", "a/4", "b/2"]) queue.add(key);
    queue.remove("a/2");
    assert.deepEqual(await takeAll(queue), ["a/1", "b/1", "a/3", "b/2", "a/4"]);
  });

  it("keeps a tenth of its workers for namespaces of which none is worked on", async () => {
    const queue = queueAt(clock);
    const stop = new AbortController();
    const ends = new Map<string, () => void>();
    const work = queue.work(20, stop.signal, (key) => {
      return new Promise((end) => ends.set(key, () => end(done)));
    });
    for (let number = 0; number < 30; number += 1) queue.add(`a/${number}`);
    await turn();
    assert.deepEqual([ends.size, queue.state().ready], [18, 12]);
    for (const key of ["b/1", "b/2", "c/1", "d/1"]) queue.add(key);
    await turn();
    const others = () => [...ends.keys()].filter((key) => !key.startsWith("a/"));
    assert.deepEqual(others(), ["b/1", "c/1"]);
    // Whoever is done makes room for those of whom none is worked on.
    ends.get("a/0")?.();
    await turn();
    assert.deepEqual(others(), ["b/1", "c/1", "d/1"]);
    stop.abort();
    for (const end of ends.values()) end();
    await work;
  });

  it("serves those who ask in the order in which they asked", async () => {
    const queue = queueAt(clock);
    const [first, second] = [queue.take(never), queue.take(never)];
    queue.add("a");
    queue.add("b");
    assert.deepEqual(await Promise.all([first, second]), ["a", "b"]);
  });

  it("adds a key after a while; the earliest time counts", async () => {
    const queue = queueAt(clock);
    queue.addAfter("a", 5_000);
    queue.addAfter("b", 3_000);
    queue.addAfter("a", 1_000);
    queue.addAfter("a", 9_000);
    await advance(clock, 999);
    assert.deepEqual(await takeAll(queue), []);
    await advance(clock, 1);
    assert.deepEqual(await takeAll(queue), ["a"]);
    await advance(clock, 60_000);
    assert.deepEqual(await takeAll(queue), ["b"], "the other times of a are forgotten");
  });

  it("keeps a wait that is longer than a timer can be", async () => {
    const queue = queueAt(clock);
    queue.addAfter("a", 100 * 86_400_000);
    await advance(clock, 3_600_000);
    assert.equal(queue.state().delayed, 1);
    assert.ok(clock.slept.every((ms) => ms <= 3_600_000));
    for (let hour = 0; hour < 2_400; hour++) await advance(clock, 3_600_000);
    assert.deepEqual(await takeAll(queue), ["a"]);
  });

  it("tries what failed again by itself, later each time, until it is done", async () => {
    const queue = queueAt(clock);
    queue.add("a");
    const starts: number[] = [];
    for (const waitMs of [1_000, 2_000, 4_000]) {
      queue.done(await queue.take(never), failed);
      assert.equal(queue.state().failing, 1);
      await advance(clock, waitMs - 1);
      assert.equal(queue.state().ready, 0);
      await advance(clock, 1);
      starts.push(clock.now());
    }
    assert.deepEqual(starts, [1_000, 3_000, 7_000]);
    queue.done(await queue.take(never), done);
    assert.equal(queue.state().failing, 0);
    queue.add("a");
    queue.done(await queue.take(never), failed);
    await advance(clock, 1_000);
    assert.equal(queue.state().ready, 1, "it starts anew");
  });

  it("does not forget failures over a retry that was asked for", async () => {
    const queue = queueAt(clock);
    queue.add("a");
    queue.done(await queue.take(never), failed);
    await advance(clock, 1_000);
    queue.done(await queue.take(never), { kind: "retryAfter", ms: 0 });
    assert.equal(queue.state().ready, 0, "never at once");
    await advance(clock, 100);
    queue.done(await queue.take(never), failed);
    await advance(clock, 1_999);
    assert.equal(queue.state().ready, 0);
    await advance(clock, 1);
    assert.equal(queue.state().ready, 1);
  });

  it("keeps the wait of a failed key that is added, not that of one whose goal has changed", async () => {
    const queue = queueAt(clock);
    queue.add("a");
    const key = await queue.take(never);
    queue.add("a");
    queue.addAfter("a", 10);
    queue.done(key, failed);
    queue.add("a");
    queue.addAfter("a", 0);
    await advance(clock, 999);
    assert.equal(queue.state().ready, 0);
    queue.addChanged("a");
    assert.deepEqual(await takeAll(queue), ["a"]);
    await advance(clock, 600_000);
    assert.deepEqual(await takeAll(queue), [], "the retry went with it");
  });

  it("forgets a key that is removed", async () => {
    const queue = queueAt(clock);
    queue.add("a");
    queue.addAfter("b", 10);
    queue.remove("a");
    queue.remove("b");
    await advance(clock, 1_000);
    assert.deepEqual(await takeAll(queue), []);
  });

  it("refuses a key that was not taken", () => {
    const queue = queueAt(clock);
    queue.add("a");
    assert.throws(() => queue.done("a", done), /handed back without being taken/);
  });

  it("lets who no longer waits go, and gives the key to the next", async () => {
    const queue = queueAt(clock);
    const leaving = new AbortController();
    const first = queue.take(leaving.signal);
    const second = queue.take(never);
    leaving.abort(new Error("shut down"));
    await assert.rejects(first, /shut down/);
    queue.add("a");
    assert.equal(await second, "a");
  });

  it("works on what is there, and at the end awaits those that work", async () => {
    const observed: string[] = [];
    const queue = queueAt(clock, {
      taken: (key, waitedMs) => observed.push(`taken ${key} after ${waitedMs}`),
      worked: (key, { kind }, tookMs) => observed.push(`${kind} ${key} in ${tookMs}`),
      threw: (key, error) => observed.push(`threw ${key} ${String(error)}`),
    });
    const stop = new AbortController();
    const gates = new Map<string, () => void>();
    const work = queue.work(2, stop.signal, async (key) => {
      await new Promise<void>((open) => gates.set(key, open));
      if (key === "b") throw new Error("no");
      return done;
    });
    for (const key of ["a", "b", "c"]) queue.add(key);
    await turn();
    assert.deepEqual([...gates.keys()], ["a", "b"], "two at a time");
    await advance(clock, 7);
    gates.get("b")?.();
    await turn();
    stop.abort();
    queue.add("d");
    let isOver = false;
    void work.then(() => (isOver = true));
    await turn();
    assert.equal(isOver, false);
    gates.get("a")?.();
    gates.get("c")?.();
    await work;
    assert.deepEqual(observed, [
      "taken a after 0",
      "taken b after 0",
      "threw b Error: no",
      "failed b in 7",
      "taken c after 7",
      "done a in 7",
      "done c in 0",
    ]);
    assert.equal(queue.state().ready, 1, "d is not begun");
  });

  it("knows the work that has not got on for longest, whenever it began", async () => {
    const queue = queueAt(clock);
    for (const key of ["a", "b"]) queue.add(key);
    for (const _key of ["a", "b"]) await queue.take(never);
    clock.advance(7_200_000);
    queue.progressed("a");
    queue.progressed("of nobody");
    assert.deepEqual(
      [queue.state().quietestWorkAtMs, queue.state().lastMoveAtMs],
      [0, 7_200_000],
      "b has been quiet",
    );
    queue.progressed("b");
    assert.equal(queue.state().quietestWorkAtMs, 7_200_000);
    queue.done("a", done);
    queue.done("b", done);
    assert.equal(queue.state().quietestWorkAtMs, undefined);
  });

  it("says what it holds", async () => {
    const queue = queueAt(clock);
    for (const key of ["a", "b", "c"]) queue.add(key);
    queue.addAfter("d", 100);
    await advance(clock, 5);
    await queue.take(never);
    assert.deepEqual(queue.state(), {
      ready: 2,
      delayed: 1,
      working: 1,
      failing: 0,
      oldestReadyAtMs: 0,
      quietestWorkAtMs: 5,
      lastMoveAtMs: 5,
    });
  });
});
