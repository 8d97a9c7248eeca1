import assert from "node:assert/strict";
import { type Recovery, RecoveryProgress } from "../../src/engine/run/recovery-progress.js";
import { nodeKey } from "../../src/graph/graph.js";
import type { Plan } from "../../src/plan/plan.js";
import { emptyState, type PriorState } from "../../src/records/prior-state.js";
import { failsWith } from "../support/errors.js";

const key = nodeKey("LocalHost", "web");
const refresh: Recovery = { kind: "refresh", keys: [key], isOwn: false, reason: "it drifted" };
const plan = { stack: "default.demo", steps: [], stale: [key], abandoned: [] } as never as Plan;
const pending: PriorState = {
  ...emptyState,
  pending: [{ type: "updating", urn: "urn", key, kind: "LocalHost", inputs: {} }],
};

describe("a recovery that is decided again", () => {
  let progress: RecoveryProgress;
  beforeEach(() => {
    progress = new RecoveryProgress();
  });

  it("waits for listings once, then is a failure that names it", () => {
    assert.equal(progress.next(refresh, emptyState, plan), "act");
    assert.equal(progress.next(refresh, emptyState, plan), "wait");
    const circles =
      /^cannot recover default\.demo: refresh \(it drifted\) has changed nothing: LocalHost\/web$/;
    assert.throws(() => progress.next(refresh, emptyState, plan), failsWith("BAD_STATE", circles));
  });

  it("is one also when another came between them", () => {
    const settle: Recovery = { kind: "settle", reason: "somebody died" };
    for (const recovery of [refresh, settle, refresh, settle]) {
      progress.next(recovery, emptyState, plan);
    }
    assert.throws(() => progress.next(settle, emptyState, plan), /settle \(somebody died\)/);
  });

  it("goes on while state or plan change, or after a failure", () => {
    assert.equal(progress.next(refresh, emptyState, plan), "act");
    assert.equal(progress.next(refresh, pending, plan), "act");
    assert.equal(progress.next(refresh, pending, { ...plan, stale: [] }), "act");
    progress.forget();
    assert.equal(progress.next(refresh, emptyState, plan), "act");
  });
});
