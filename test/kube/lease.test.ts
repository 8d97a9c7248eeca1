import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { Leadership, leaseIdentity, type LeaseStore } from "../../src/kube/lease.js";
import { leaseClock } from "../../src/kube/lease-clock.js";
import { defaultLeaseTiming, type LeaseTiming } from "../../src/kube/lease-steps.js";
import { FakeClock } from "../support/fake-clock.js";
import { failsWith } from "../support/errors.js";
import { Contender, type Fate, LeaseWorld, relapse } from "./lease-world.js";

const timing = defaultLeaseTiming;
const swift: Fate = { toServerMs: 5, backMs: 5, lost: "no" };
const overrun = () => assert.ok(false, "nothing was to overrun");
const noStore: LeaseStore = {
  read: () => Promise.reject(new Error("no server")),
  create: () => Promise.reject(new Error("no server")),
  replace: () => Promise.reject(new Error("no server")),
};

function kindsOf({ news }: Contender): string[] {
  return news.map(({ kind }) => kind);
}

describe("Leadership", () => {
  let world: LeaseWorld;
  beforeEach(() => {
    world = new LeaseWorld(timing);
  });

  it("leads at once where nobody does, and renews every few seconds", async () => {
    const one = new Contender(world, "one");
    await world.run(1_000);
    assert.deepEqual(one.news, [{ kind: "leading", transitions: 0 }]);
    assert.equal(world.record?.holder, "one");
    const before = Number(world.record?.version);
    await world.run(30_000);
    assert.equal(Number(world.record?.version) - before, 10);
    assert.ok(one.leadership.leads());
  });

  it("follows the one that leads, and takes over when nothing is heard of it any more", async () => {
    const one = new Contender(world, "one");
    await world.run(1_000);
    const other = new Contender(world, "other");
    await world.run(60_000);
    assert.deepEqual(other.news, [{ kind: "following", holder: "one" }]);
    one.kill();
    const killedAtMs = world.clock.now();
    await world.run(20_000);
    assert.deepEqual(other.news.at(-1), { kind: "leading", transitions: 1 });
    const first = world.deeds.find(({ who }) => who === "other");
    const waitedMs = (first?.atMs ?? 0) - killedAtMs;
    assert.ok(waitedMs >= timing.durationMs - timing.renewEveryMs, `after ${waitedMs} ms`);
    assert.ok(waitedMs <= timing.durationMs + 2_000, `after ${waitedMs} ms`);
  });

  it("hands over in a second after a graceful end, when its work has ended", async () => {
    const one = new Contender(world, "one");
    await world.run(1_000);
    const other = new Contender(world, "other");
    await world.run(5_000);
    one.shutdown.abort();
    await world.run(3_000);
    await one.done;
    assert.deepEqual(kindsOf(one), ["leading", "released"]);
    assert.deepEqual(kindsOf(other), ["following", "leading"]);
    const endedAtMs = world.ended[0]?.atMs ?? NaN;
    const first = world.deeds.find(({ who }) => who === "other")?.atMs ?? NaN;
    assert.ok(first >= endedAtMs && first - endedAtMs <= 1_500, `${first - endedAtMs} ms later`);
  });

  it("keeps its lease while work takes long to end", async () => {
    const one = new Contender(world, "one", () => swift, 1, false);
    await world.run(1_000);
    const other = new Contender(world, "other");
    one.shutdown.abort();
    await world.run(120_000);
    assert.deepEqual(kindsOf(other), ["following"]);
    assert.equal(one.overruns, 0);
  });

  it("loses, and has everything ended before its lease is over, while the server is away", async () => {
    const one = new Contender(world, "one");
    await world.run(10_000);
    world.isServerUp = false;
    const awayAtMs = world.clock.now();
    await world.run(20_000);
    assert.ok(kindsOf(one).includes("lost"));
    assert.ok(!one.leadership.leads());
    const endedAtMs = world.ended[0]?.atMs ?? Infinity;
    assert.ok(endedAtMs - awayAtMs <= timing.durationMs - timing.safetyMs, `${endedAtMs}`);
    assert.equal(one.overruns, 0);
    world.isServerUp = true;
    await world.run(5_000);
    assert.deepEqual(one.news.at(-1), { kind: "leading", transitions: 0 }, "it is still its own");
  });

  it("survives a server that is away for less than the deadline", async () => {
    const one = new Contender(world, "one");
    await world.run(10_000);
    world.isServerUp = false;
    await world.run(timing.renewDeadlineMs - timing.renewEveryMs - 500);
    world.isServerUp = true;
    await world.run(10_000);
    assert.ok(!kindsOf(one).includes("lost"));
    assert.ok(kindsOf(one).includes("trouble"), "it says so");
  });

  it("calls for the end of what does not end by itself before the lease does", async () => {
    const one = new Contender(world, "one", () => swift, 1, false);
    await world.run(10_000);
    world.isServerUp = false;
    const awayAtMs = world.clock.now();
    await world.run(timing.durationMs, 50);
    assert.equal(one.overruns, 1);
    assert.ok(world.clock.now() - awayAtMs <= timing.durationMs);
  });

  it("refuses to act after it was stopped and goes on, before any timer of its runs", async () => {
    const one = new Contender(world, "one");
    await world.run(10_000);
    const other = new Contender(world, "other");
    await world.run(5_000);
    one.pause();
    await world.run(40_000);
    assert.deepEqual(kindsOf(other), ["following", "leading"]);
    one.goOn();
    await world.run(20_000);
    assert.equal(relapse(world.deeds), undefined);
    assert.deepEqual(kindsOf(one), ["leading", "lost", "following"]);
  });

  it("counts an answer that comes after its lease has ended as none", async () => {
    let backMs = 5;
    const one = new Contender(world, "one", () => ({ ...swift, backMs }));
    await world.run(10_000);
    backMs = 60_000;
    await world.run(12_000);
    assert.ok(kindsOf(one).includes("lost"), "what was not heard of was not renewed");
  });

  it("makes its lease again when somebody deletes it, and nobody else takes it", async () => {
    const one = new Contender(world, "one");
    const other = new Contender(world, "other");
    await world.run(10_000);
    world.record = undefined;
    await world.run(30_000);
    const leader = world.deeds[0]?.who;
    assert.ok(world.deeds.every(({ who, term }) => who === leader && term === 1));
    assert.equal(world.read()?.holder, leader);
    assert.ok(!kindsOf(one).concat(kindsOf(other)).includes("lost"));
  });

  it("gives up at once when somebody else has written himself in", async () => {
    const one = new Contender(world, "one");
    await world.run(10_000);
    world.write({ holder: "thief", durationMs: 15_000, transitions: 9, renewedAtMs: 0 });
    await world.run(timing.renewEveryMs + 500);
    assert.ok(
      one.news.some((news) => news.kind === "lost" && news.reason === "thief has it"),
      JSON.stringify(one.news),
    );
  });

  it("ends, released, when its work ends by itself or throws", async () => {
    for (const work of [async () => undefined, () => Promise.reject(new Error("broken"))]) {
      const records: string[] = [];
      const store: LeaseStore = {
        read: async () => world.read(),
        create: async (lease) => world.write(lease),
        replace: async (_, lease) => world.write(lease),
      };
      const leadership = new Leadership({
        store,
        me: "one",
        clock: leaseClock(),
        timing,
        overrun,
        tell: ({ kind }) => records.push(kind),
      });
      const run = leadership.run(new AbortController().signal, work);
      await run.catch((error: unknown) => records.push(String(error)));
      assert.deepEqual(records.slice(0, 2), ["leading", "released"]);
      assert.equal(world.record?.holder, "");
      assert.equal(leadership.leads(), false);
    }
  });

  it("contends again when its work ends because it was refused", async () => {
    const clock = new FakeClock(0, "manual");
    const told: string[] = [];
    const stop = new AbortController();
    let terms = 0;
    let stoppedMs = 0;
    const run = new Leadership({
      store: {
        read: async () => world.read(),
        create: async (lease) => world.write(lease),
        replace: async (_, lease) => world.write(lease),
      },
      me: "one",
      timing,
      overrun,
      tell: ({ kind }) => told.push(kind),
      clock: {
        ...leaseClock(
          () => clock.now() + stoppedMs,
          () => clock.now() + stoppedMs,
        ),
        sleep: (ms, signal) => clock.sleep(ms, signal),
      },
    }).run(stop.signal, async (term) => {
      if (++terms === 2) return stop.abort();
      // As after a stop of the whole process: time has passed, and no timer has run.
      stoppedMs = 60_000;
      assert.throws(() => term.assertLeader(), failsWith("NOT_LEADER"));
      assert.ok(term.lost.aborted, "what runs is told at once");
      term.assertLeader();
    });
    for (let round = 0; round < 20 && terms < 2; round++) {
      await turn();
      clock.advance(1_000);
    }
    await run;
    assert.deepEqual(told, ["leading", "lost", "leading", "released"]);
  });

  it("leaves at once when it is told to before it leads", async () => {
    const stop = new AbortController();
    const leadership = new Leadership({
      store: noStore,
      me: "one",
      clock: leaseClock(),
      timing,
      overrun,
    });
    const run = leadership.run(stop.signal, () => assert.fail("it never leads"));
    stop.abort();
    await run;
  });

  const refused: readonly Partial<LeaseTiming>[] = [
    { renewDeadlineMs: 14_000 },
    { renewEveryMs: 8_000 },
    { safetyMs: 7_000 },
  ];
  for (const change of refused) {
    it(`refuses times that do not fit: ${JSON.stringify(change)}`, () => {
      const options = { store: noStore, me: "one", clock: leaseClock(), overrun };
      assert.throws(
        () => new Leadership({ ...options, timing: { ...timing, ...change } }),
        failsWith("BAD_USAGE", /do not fit/),
      );
    });
  }
});

describe("leaseIdentity", () => {
  it("names the pod or host, the process, and chance", () => {
    assert.equal(leaseIdentity("capstan-7d-x2x", 1, "4f2a"), "capstan-7d-x2x_1_4f2a");
  });
});
