import assert from "node:assert/strict";
import { progressAfter, firstProgress, phaseDuring } from "../../src/controller/progress-view.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import type { NodeKey } from "../../src/graph/graph.js";
import { emptyState } from "../../src/records/prior-state.js";
import type { Progress } from "../../src/source/cluster-view.js";
import { firstPlan } from "../support/first-plan.js";
import { cluster, desiredOf, localProvider, machine } from "../support/manifests.js";

const plan = firstPlan(
  desiredOf([cluster(), machine("cp-0", { controlPlane: "1.34.2" })]),
  localProvider(),
);
const [a, b] = ["LocalHost/a", "LocalHost/b"] as NodeKey[] as [NodeKey, NodeKey];
const before: Progress = {
  phase: "Changing",
  transaction: 1,
  direction: "forward",
  wave: 1,
  waves: 2,
  keys: [a, b],
  reason: "hosts",
  startedAtMs: 1,
  deadlineAtMs: 2,
};

describe("doingAtFirst", () => {
  it("names the transaction and what its first wave will do", () => {
    const progress = firstProgress(plan);
    assert.deepEqual(
      [progress.phase, progress.wave, progress.direction],
      ["Beginning", 0, "forward"],
    );
    assert.ok(progress.waves >= 1 && progress.keys.length > 0 && progress.reason !== "");
    assert.equal(progress.transaction, plan.transaction.number);
  });
});

describe("doingAfter", () => {
  for (const { name, event, want } of [
    {
      name: "a pass",
      event: { kind: "pass", number: 2, keys: [b], reason: "workers" },
      want: { phase: "Changing", wave: 2, waves: 2, keys: [b], reason: "workers" },
    },
    {
      name: "a pass that no plan foresaw",
      event: { kind: "pass", number: 3, keys: [b], reason: "again" },
      want: { wave: 3, waves: 3 },
    },
    {
      name: "the beginning of a wait",
      event: { kind: "waiting", keys: [a], reason: "it boots" },
      want: { phase: "Waiting", keys: [a], reason: "it boots", wave: 1 },
    },
    { name: "the end of one wait", event: { kind: "ready", key: a }, want: { keys: [b], wave: 1 } },
    {
      name: "the commit",
      event: { kind: "committed" },
      want: { phase: "Committing", keys: [] },
    },
  ]) {
    it(`follows ${name}`, () => {
      const after = progressAfter(event as unknown as RunEvent, before);
      for (const [key, value] of Object.entries(want)) {
        assert.deepEqual(after[key as keyof Progress], value, key);
      }
    });
  }

  it("turns around with a rollback", () => {
    const back = { ...plan, transaction: { ...plan.transaction, number: 7, direction: "back" } };
    const event = { kind: "rollingBack", plan: back, reason: "no quota" } as unknown as RunEvent;
    const after = progressAfter(event, before);
    assert.deepEqual(
      [after.phase, after.transaction, after.direction, after.reason],
      ["RollingBack", 7, "back", "no quota"],
    );
  });

  it("begins again with a plan under fresh names", () => {
    const fresh = { ...plan, transaction: { ...plan.transaction, number: 8 } };
    const event = { kind: "plannedAnew", plan: fresh, reason: "spent" } as unknown as RunEvent;
    const { phase, transaction, direction, reason } = progressAfter(event, before);
    assert.deepEqual([phase, transaction, direction, reason], ["Beginning", 8, "forward", "spent"]);
  });
});

describe("phaseDuring", () => {
  const fresh = { records: emptyState };
  const made = { records: { ...emptyState, revision: {} as never } };
  for (const { name, progress, view, isDrift, want } of [
    {
      name: "a first creation",
      progress: before,
      view: fresh,
      isDrift: false,
      want: "Provisioning",
    },
    { name: "a change", progress: before, view: made, isDrift: false, want: "Updating" },
    { name: "drift", progress: before, view: made, isDrift: true, want: "Correcting" },
    {
      name: "the way back",
      progress: { ...before, direction: "back" as const },
      view: made,
      isDrift: false,
      want: "RollingBack",
    },
  ]) {
    it(`is ${want} for ${name}`, () => assert.equal(phaseDuring(progress, view, isDrift), want));
  }
});
