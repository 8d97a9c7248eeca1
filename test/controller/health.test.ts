import assert from "node:assert/strict";
import { Health, type WorkState } from "../../src/controller/health.js";

import { FakeClock } from "../support/fake-clock.js";

const limits = { stuckAfterMs: 60_000, longestQuietMs: 600_000, unreachableAfterMs: 30_000 };
const idle: WorkState = {
  engines: { waiting: 0, lastMoveAtMs: 0 },
  ready: 0,
  delayed: 0,
  working: 0,
  failing: 0,
  lastMoveAtMs: 0,
  oldestReadyAtMs: undefined,
  quietestWorkAtMs: undefined,
};

describe("Health", () => {
  let clock: FakeClock;
  let health: Health;
  beforeEach(() => {
    clock = new FakeClock(0, "manual");
    health = new Health(clock, limits);
  });

  it("is not ready before everything that it waits for is in sync, but alive", () => {
    health.waitFor("Clusters");
    health.waitFor("Machines");
    health.synced("Clusters");
    assert.deepEqual(health.whyNotReady(), ["Machines not in sync"]);
    assert.deepEqual(health.whyNotAlive(), []);
    health.synced("Machines");
    assert.deepEqual(health.whyNotReady(), []);
  });

  it("is not ready while the API server has been away for long, and never dead of it", () => {
    health.missed();
    clock.advance(20_000);
    health.missed();
    assert.deepEqual(health.whyNotReady(), []);
    clock.advance(10_001);
    assert.deepEqual(health.whyNotReady(), ["the API server has not answered for 30 s"]);
    assert.deepEqual(health.whyNotAlive(), []);
    health.reached();
    assert.deepEqual(health.whyNotReady(), []);
  });

  const cases: readonly {
    readonly name: string;
    readonly state: Partial<WorkState> | undefined;
    readonly nowMs: number;
    readonly want: readonly string[];
  }[] = [
    { name: "nothing to do for days", state: {}, nowMs: 9e8, want: [] },
    { name: "nobody works on it, as on one that follows", state: undefined, nowMs: 9e8, want: [] },
    {
      name: "clusters that have come just now after a long rest",
      state: { ready: 3, oldestReadyAtMs: 899_000 },
      nowMs: 900_000,
      want: [],
    },
    {
      name: "a long queue that moves",
      state: { ready: 900, working: 4, oldestReadyAtMs: 0, lastMoveAtMs: 890_000 },
      nowMs: 900_000,
      want: [],
    },
    {
      name: "a queue that does not move",
      state: { ready: 2, oldestReadyAtMs: 1_000, lastMoveAtMs: 2_000 },
      nowMs: 72_000,
      want: ["the queue has not moved for 70 s although 2 clusters wait"],
    },
    {
      name: "runs that wait for engines which begin and end",
      state: { working: 9, engines: { waiting: 8, lastMoveAtMs: 890_000 } },
      nowMs: 900_000,
      want: [],
    },
    {
      name: "engines that neither begin nor end although runs wait",
      state: { working: 9, engines: { waiting: 8, lastMoveAtMs: 2_000 } },
      nowMs: 72_000,
      want: ["no engine has begun or ended for 70 s although 8 runs wait for one"],
    },
    {
      name: "work that hangs while nobody waits",
      state: { working: 1, quietestWorkAtMs: 100_000 },
      nowMs: 800_000,
      want: ["one reconcile has not got on for 700 s"],
    },
  ];
  for (const { name, state, nowMs, want } of cases) {
    it(`${want.length === 0 ? "does not mind" : "minds"} ${name}`, () => {
      health.watchQueue(() => state && { ...idle, ...state });
      clock.advance(nowMs);
      assert.deepEqual(health.whyNotAlive(), want);
      assert.deepEqual(health.whyNotReady(), want);
    });
  }
});
