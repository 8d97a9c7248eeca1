import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { CallPace, pacedProvider } from "../../src/provider/call-pace.js";
import type { CallContext } from "../../src/provider/port.js";
import { FakeClock } from "../support/fake-clock.js";
import { failsWith } from "../support/errors.js";
import { localProvider } from "../support/manifests.js";

describe("the pace of calls to one account", () => {
  const turnsOf = async (pace: CallPace, clock: FakeClock, count: number) => {
    const begunMs = clock.now();
    const turns: number[] = [];
    for (let turn = 0; turn < count; turn += 1) {
      await pace.turn();
      turns.push(Math.round(clock.now() - begunMs));
    }
    return turns;
  };

  it("is none without a rate", async () => {
    const clock = new FakeClock();
    assert.deepEqual(await turnsOf(new CallPace(clock), clock, 3), [0, 0, 0]);
    assert.deepEqual(clock.slept, []);
  });

  it("lets so many begin at once, the next ones in turn, and as many again after a while", async () => {
    const clock = new FakeClock();
    const pace = new CallPace(clock, { perSecond: 10, burst: 3 });
    assert.deepEqual(await turnsOf(pace, clock, 6), [0, 0, 0, 100, 200, 300]);
    clock.advance(60_000);
    assert.deepEqual(await turnsOf(pace, clock, 5), [0, 0, 0, 100, 200]);
  });

  it("stands still for everybody, those who wait already too", async () => {
    const clock = new FakeClock(0, "manual");
    const pace = new CallPace(clock, { perSecond: 1, burst: 1 });
    const begun: number[] = [];
    const turns = [1, 2].map(() => pace.turn().then(() => begun.push(clock.now())));
    await turns[0];
    pace.standStill(5_000);
    for (let tick = 0; tick < 6; tick += 1) {
      clock.advance(1_000);
      await new Promise(setImmediate);
    }
    await Promise.all(turns);
    assert.deepEqual(begun, [0, 5_000]);
  });

  it("ends a wait with its signal", async () => {
    const clock = new FakeClock(0, "manual");
    const pace = new CallPace(clock, { perSecond: 1, burst: 1 });
    const abort = new AbortController();
    await pace.turn();
    const waiting = pace.turn(abort.signal);
    abort.abort(new Error("interrupted"));
    await assert.rejects(waiting, /interrupted/);
  });
});

describe("a paced provider", () => {
  const clock = new FakeClock();
  const context: CallContext = {
    clock,
    signal: new AbortController().signal,
    assertEngineAlive: () => {},
  };

  it("waits with every call once one of them was told to", async () => {
    const throttled = new CapstanError({
      code: "CLOUD_THROTTLED",
      source: "cloud",
      message: "slow down",
      retryable: true,
      retryAfterMs: 900,
    });
    const origin = Object.assign(localProvider(), {
      identity: async () => ({ cloud: "one" }),
      owned: async () => {
        throw throttled;
      },
    });
    const paced = pacedProvider(origin, clock);
    await assert.rejects(async () => paced.owned?.(context), failsWith("CLOUD_THROTTLED"));
    assert.deepEqual(await paced.identity?.(context), { cloud: "one" });
    assert.deepEqual(clock.slept, [900]);
  });

  it("is in all else the provider itself", () => {
    const origin = localProvider();
    const paced = pacedProvider(origin, clock);
    assert.deepEqual(paced.machineSpec, origin.machineSpec);
    assert.deepEqual(paced.verdict("LocalHost", {}, {}), { kind: "same" });
    assert.deepEqual([...paced.handlers.keys()], [...origin.handlers.keys()]);
  });
});
