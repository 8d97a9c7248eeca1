import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { type DriftBaseline, ClusterState } from "../../src/controller/cluster-state.js";
import type { JudgedDrift, JudgedItem } from "../../src/drift/judge.js";
import { emptyState } from "../../src/records/prior-state.js";
import type { ClusterView } from "../../src/source/cluster-view.js";

const view: ClusterView = { phase: "Running", records: emptyState, isSettled: true, nowMs: 1 };
const later: ClusterView = { phase: "Updating", records: emptyState, isSettled: false, nowMs: 2 };
const baseline: DriftBaseline = { digest: "d1", observedDigest: "o1" };
const unmet = { failures: [], machines: [] };
const attempt = { digest: "d1", message: "no quota", isTakenBack: true, unmet };

function settledState(): ClusterState {
  const state = new ClusterState();
  state.asked({ kind: "want", digest: "d1" });
  state.settled(view, baseline);
  return state;
}

describe("ClusterState", () => {
  it("knows nothing at first", () => {
    const state = new ClusterState();
    assert.deepEqual(
      [state.digest, state.isRunning, state.view, state.baseline, state.failedAttempt],
      [undefined, false, undefined, undefined, undefined],
    );
    assert.deepEqual(state.drift, { sinceMs: {} });
  });

  describe("when nothing is left to do", () => {
    it("has the view and what later looks are held against", () => {
      const state = settledState();
      assert.equal(state.view, view);
      assert.equal(state.baseline, baseline);
    });

    for (const { name, happens, shows } of [
      { name: "another view", happens: (state: ClusterState) => state.shown(later), shows: later },
      { name: "an error", happens: (state: ClusterState) => state.unsettled(), shows: view },
      {
        name: "a failed attempt",
        happens: (state: ClusterState) => void state.failed(attempt, 0),
        shows: view,
      },
      {
        name: "a pause",
        happens: (state: ClusterState) => state.asked({ kind: "paused", digest: "paused" }),
        shows: view,
      },
      {
        name: "a removal",
        happens: (state: ClusterState) => state.asked({ kind: "remove", digest: "remove" }),
        shows: view,
      },
    ]) {
      it(`is settled no more after ${name}`, () => {
        const state = settledState();
        happens(state);
        assert.equal(state.baseline, undefined);
        assert.equal(state.view, shows);
      });
    }

    it("stays settled when the same or something else is wanted: a look tells", () => {
      const state = settledState();
      for (const digest of ["d1", "d2"]) state.asked({ kind: "want", digest });
      assert.equal(state.baseline, baseline);
      assert.equal(state.digest, "d2");
    });

    it("is not settled without a view", () => {
      const state = new ClusterState();
      state.unsettled();
      assert.equal(state.view, undefined);
    });
  });

  describe("of an attempt that failed", () => {
    for (const { name, before, digest, want } of [
      { name: "begins with half a minute", before: 0, digest: "d1", want: [1, 30_000] },
      { name: "doubles while the same is asked for", before: 3, digest: "d1", want: [4, 240_000] },
      { name: "begins anew for something else", before: 3, digest: "d2", want: [1, 30_000] },
      { name: "ends at half an hour", before: 20, digest: "d1", want: [21, 1_800_000] },
    ]) {
      it(name, () => {
        const state = new ClusterState();
        for (let times = 0; times < before; times += 1) state.failed(attempt, 0);
        const failed = state.failed({ ...attempt, digest }, 1_000);
        assert.deepEqual([failed.failures, failed.untilMs - 1_000], want);
        assert.deepEqual([failed.message, failed.isTakenBack], ["no quota", true]);
        assert.equal(state.failedAttempt, failed);
      });
    }

    it("holds it until its time is over, and counts it from there", () => {
      const state = new ClusterState();
      const failed = state.failed(attempt, 0);
      assert.equal(state.heldAttempt(failed.untilMs - 1), failed);
      assert.equal(state.heldAttempt(failed.untilMs), undefined);
      assert.equal(state.failed(attempt, failed.untilMs).failures, 2);
    });

    for (const { name, intent, isKept } of [
      { name: "the same is wanted", intent: { kind: "want", digest: "d1" }, isKept: true },
      { name: "something else is wanted", intent: { kind: "want", digest: "d2" }, isKept: false },
      { name: "it is paused", intent: { kind: "paused", digest: "paused" }, isKept: true },
      { name: "its objects are wrong", intent: { kind: "invalid", digest: "d2" }, isKept: false },
    ] as const) {
      it(`${isKept ? "keeps" : "forgets"} it when ${name}`, () => {
        const state = new ClusterState();
        const failed = state.failed(attempt, 0);
        state.asked(intent);
        assert.equal(state.failedAttempt, isKept ? failed : undefined);
      });
    }

    it("forgets it once what was asked for is there", () => {
      const state = new ClusterState();
      state.failed(attempt, 0);
      state.succeeded();
      assert.equal(state.failedAttempt, undefined);
      assert.equal(state.failed(attempt, 0).failures, 1);
    });
  });

  describe("while it is worked on", () => {
    const reason = new CapstanError({ code: "CANCELLED", source: "user", message: "superseded" });

    it("breaks work off when something else is asked for", async () => {
      const state = new ClusterState();
      const work = state.whileRunning(async (superseded) => {
        assert.equal(state.isRunning, true);
        state.superseded(reason);
        superseded.throwIfAborted();
      });
      await assert.rejects(work, reason);
      assert.equal(state.isRunning, false);
    });

    it("does not break off the next work", async () => {
      const state = new ClusterState();
      assert.equal(await state.whileRunning(async () => "first"), "first");
      state.superseded(reason);
      const isAborted = await state.whileRunning(async (superseded) => superseded.aborted);
      assert.deepEqual([isAborted, state.isRunning], [false, false]);
    });
  });

  describe("of drift", () => {
    const judged = (fingerprint: string, kind: "frozen" | "ignore"): JudgedDrift => {
      const item = { item: { class: "missing" }, decision: { kind } } as JudgedItem;
      const report = { fingerprint } as JudgedDrift["report"];
      const memory = { sinceMs: { [fingerprint]: 1 } };
      return { report, items: [item], memory } as unknown as JudgedDrift;
    };

    it("tells what is new, once, and that it is over, and remembers every look", () => {
      const state = new ClusterState();
      const looks = [
        { seen: judged("none", "ignore"), isNews: false },
        { seen: judged("a", "frozen"), isNews: true },
        { seen: judged("a", "frozen"), isNews: false },
        { seen: judged("b", "frozen"), isNews: true },
        { seen: judged("none", "ignore"), isNews: true },
        { seen: judged("none", "ignore"), isNews: false },
      ];
      for (const { seen, isNews } of looks) {
        assert.equal(state.driftSeen(seen), isNews);
        assert.equal(state.drift, seen.memory);
      }
    });
  });

  describe("of who writes over what is shown", () => {
    it("puts it right at once, then later, and does not count what it has not put right yet", () => {
      const state = new ClusterState();
      assert.equal(state.overwritten(1_000), 0);
      assert.equal(state.overwritten(1_050), 1_000);
      assert.equal(state.overwritten(1_100), undefined);
      assert.equal(state.overwritten(2_100), 2_000);
    });
  });

  it("tells of a certificate once for each threshold, and of other Secrets once for each set of them", () => {
    const state = new ClusterState();
    const ca = { name: "ca", expiresAtMs: 1 } as const;
    const seen = (withinDays?: 60 | 30, ...conflicts: string[]) =>
      state.certificatesSeen({
        expiries: [withinDays === undefined ? ca : { ...ca, withinDays }],
        conflicts,
      });
    const nothing = { expiries: [], conflicts: [] };
    assert.deepEqual(seen(), nothing);
    assert.deepEqual(seen(60), { expiries: [{ ...ca, withinDays: 60 }], conflicts: [] });
    assert.deepEqual(seen(60), nothing);
    assert.deepEqual(seen(30, "a/b"), {
      expiries: [{ ...ca, withinDays: 30 }],
      conflicts: ["a/b"],
    });
    assert.deepEqual(seen(30, "a/b"), nothing);
    assert.deepEqual(seen(30), nothing);
    assert.deepEqual(seen(30, "a/b"), { expiries: [], conflicts: ["a/b"] });
  });
});
