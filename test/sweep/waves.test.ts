import assert from "node:assert/strict";
import { afterWave, type SweepRemoval } from "../../src/sweep/waves.js";

const gone: SweepRemoval = { kind: "gone" };
const blocked: SweepRemoval = { kind: "failed", reason: "it is in use", transient: false };
const throttled: SweepRemoval = { kind: "failed", reason: "slow down", transient: true };

describe("after a wave of removals", () => {
  const table: { name: string; given: SweepRemoval[]; quietMs?: number; want: string }[] = [
    { name: "nothing to remove is done", given: [], want: "done" },
    { name: "everything gone is done", given: [gone, gone], want: "done" },
    {
      name: "what failed is tried again once something went",
      given: [gone, blocked],
      want: "again",
    },
    {
      name: "progress counts, however long it took",
      given: [gone, blocked],
      quietMs: 1e9,
      want: "again",
    },
    {
      name: "no progress is waited out for a moment",
      given: [blocked],
      quietMs: 4_999,
      want: "pause",
    },
    { name: "no progress ends it", given: [blocked, blocked], quietMs: 5_000, want: "stop" },
    { name: "a slow cloud is no blocker", given: [throttled], quietMs: 5_000, want: "pause" },
    {
      name: "one slow answer may hide progress",
      given: [blocked, throttled],
      quietMs: 5_000,
      want: "pause",
    },
    {
      name: "a slow cloud is not waited for for ever",
      given: [throttled],
      quietMs: 600_000,
      want: "stop",
    },
  ];
  for (const { name, given, quietMs = 0, want } of table) {
    it(name, () => {
      const times = { quietMs, patienceMs: 5_000, timeoutMs: 600_000 };
      assert.equal(afterWave(given, times).kind, want);
    });
  }
});
