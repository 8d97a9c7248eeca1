import assert from "node:assert/strict";
import { leaseClock } from "../../src/kube/lease-clock.js";
import {
  defaultLeaseTiming,
  type LeaseRecord,
  type LeaseSituation,
  type LeaseStep,
  nextLeaseStep,
  viewAfter,
} from "../../src/kube/lease-steps.js";

const timing = defaultLeaseTiming;

function record(change: Partial<LeaseRecord> = {}): LeaseRecord {
  return {
    uid: "lease",
    version: "1",
    holder: "other",
    durationMs: 15_000,
    transitions: 3,
    ...change,
  };
}

const mine = record({ holder: "me" });
const released = record({ holder: "" });
const unknown: LeaseSituation["view"] = undefined;

describe("nextLeaseStep", () => {
  const cases: readonly {
    readonly name: string;
    readonly view: LeaseSituation["view"];
    readonly heldSinceMs?: number;
    readonly nowMs: number;
    readonly want: LeaseStep;
  }[] = [
    {
      name: "looks before anything else",
      view: unknown,
      nowMs: 99_000,
      want: { kind: "wait", ms: 0, holder: "" },
    },
    {
      name: "makes a lease where there was never one",
      view: viewAfter(undefined, undefined, 5_000),
      nowMs: 5_000,
      want: { kind: "create" },
    },
    {
      name: "does not make one while the holder of one that vanished may still count on it",
      view: viewAfter(viewAfter(undefined, record(), 1_000), undefined, 5_000),
      nowMs: 19_500,
      want: { kind: "wait", ms: 500, holder: "" },
    },
    {
      name: "makes one after that",
      view: viewAfter(viewAfter(undefined, record(), 1_000), undefined, 5_000),
      nowMs: 20_000,
      want: { kind: "create" },
    },
    {
      name: "makes one at once where a released one vanished",
      view: viewAfter(viewAfter(undefined, released, 1_000), undefined, 5_000),
      nowMs: 5_000,
      want: { kind: "create" },
    },
    {
      name: "takes a released lease at once",
      view: viewAfter(undefined, released, 5_000),
      nowMs: 5_000,
      want: { kind: "take", why: "released", from: released },
    },
    {
      name: "takes back its own, whose write was never answered",
      view: viewAfter(undefined, mine, 5_000),
      nowMs: 5_000,
      want: { kind: "take", why: "ours", from: mine },
    },
    {
      name: "waits for another's, and looks again soon",
      view: viewAfter(undefined, record(), 5_000),
      nowMs: 6_000,
      want: { kind: "wait", ms: 1_000, holder: "other" },
    },
    {
      name: "waits until the last moment",
      view: viewAfter(undefined, record(), 5_000),
      nowMs: 19_999,
      want: { kind: "wait", ms: 1, holder: "other" },
    },
    {
      name: "takes what it has not seen change for the whole duration",
      view: viewAfter(undefined, record(), 5_000),
      nowMs: 20_000,
      want: { kind: "take", why: "expired", from: record() },
    },
    {
      name: "keeps waiting while it sees renewals",
      view: viewAfter(viewAfter(undefined, record(), 5_000), record({ version: "2" }), 18_000),
      nowMs: 20_000,
      want: { kind: "wait", ms: 1_000, holder: "other" },
    },
    {
      name: "counts from the first sight of a record, not from the last",
      view: viewAfter(viewAfter(undefined, record(), 5_000), record(), 18_000),
      nowMs: 20_000,
      want: { kind: "take", why: "expired", from: record() },
    },
    {
      name: "respects a longer lease than its own",
      view: viewAfter(undefined, record({ durationMs: 60_000 }), 5_000),
      nowMs: 64_500,
      want: { kind: "wait", ms: 500, holder: "other" },
    },
    {
      name: "is not rushed by a record that says zero",
      view: viewAfter(undefined, record({ durationMs: 0 }), 5_000),
      nowMs: 19_500,
      want: { kind: "wait", ms: 500, holder: "other" },
    },
    {
      name: "as holder rests between renewals",
      view: viewAfter(undefined, mine, 5_000),
      heldSinceMs: 5_000,
      nowMs: 7_000,
      want: { kind: "wait", ms: 1_000, holder: "me" },
    },
    {
      name: "as holder renews",
      view: viewAfter(undefined, mine, 5_000),
      heldSinceMs: 5_000,
      nowMs: 8_000,
      want: { kind: "renew", from: mine },
    },
    {
      name: "as holder gives up at the deadline, whatever the record says",
      view: viewAfter(undefined, mine, 5_000),
      heldSinceMs: 5_000,
      nowMs: 13_000,
      want: { kind: "lose", reason: "not renewed for 8 s" },
    },
    {
      name: "as holder gives up when another has it",
      view: viewAfter(undefined, record(), 5_000),
      heldSinceMs: 5_000,
      nowMs: 5_500,
      want: { kind: "lose", reason: "other has it" },
    },
    {
      name: "as holder makes it again when somebody deleted it",
      view: viewAfter(viewAfter(undefined, mine, 5_000), undefined, 5_500),
      heldSinceMs: 5_000,
      nowMs: 5_500,
      want: { kind: "create" },
    },
  ];
  for (const { name, view, heldSinceMs, nowMs, want } of cases) {
    it(name, () => {
      const situation = { me: "me", timing, view, heldSinceMs };
      const now =
        heldSinceMs === undefined
          ? { steadyMs: nowMs, cautiousMs: NaN }
          : { steadyMs: NaN, cautiousMs: nowMs };
      assert.deepEqual(nextLeaseStep(situation, now), want);
    });
  }
});

describe("leaseClock", () => {
  /** The cautious clock's readings while the two others show these. */
  function readings(
    shown: readonly { readonly steady: number; readonly wall: number }[],
  ): number[] {
    let now = { steady: 0, wall: 1_000_000 };
    const clock = leaseClock(
      () => now.steady,
      () => now.wall,
    );
    return shown.map((next) => {
      now = { steady: next.steady, wall: 1_000_000 + next.wall };
      return clock.cautiousMs();
    });
  }

  it("moves as both clocks do", () => {
    const shown = [0, 10, 5_000].map((ms) => ({ steady: ms, wall: ms }));
    assert.deepEqual(readings(shown), [0, 10, 5_000]);
  });

  it("moves on by a suspension, which the steady clock does not see", () => {
    const shown = [
      { steady: 100, wall: 100 },
      { steady: 200, wall: 60_200 },
      { steady: 300, wall: 60_300 },
    ];
    assert.deepEqual(readings(shown), [100, 60_200, 60_300]);
  });

  it("does not go back when the wall clock is set back, and sees a suspension after that", () => {
    const shown = [
      { steady: 100, wall: -3_600_000 },
      { steady: 200, wall: -3_599_900 },
      { steady: 300, wall: -3_539_800 },
    ];
    assert.deepEqual(readings(shown), [100, 200, 60_300]);
  });

  it("does not run ahead by the wall clock's rounding, however often it is read", () => {
    const shown = Array.from({ length: 10_000 }, (_, index) => ({
      steady: index / 10,
      wall: Math.round(index / 10),
    }));
    assert.ok((readings(shown).at(-1) ?? 0) <= 1_001);
  });
});
