import assert from "node:assert/strict";
import { progressOf, type ProgressQuestion } from "../../src/sets/progress.js";
import {
  revisionAnnotation,
  revisionHistoryAnnotation,
  revisionOf,
  setsToForget,
} from "../../src/sets/revisions.js";
import { availabilityOf, deploymentStatusOf, isComplete } from "../../src/sets/status.js";
import { findNewSet, sameTemplate, type TemplatedSet } from "../../src/sets/template.js";
import { isNodeAvailable } from "../../src/workload/node-readiness.js";

describe("availability", () => {
  const since = (readySinceMs: number) =>
    availabilityOf({ ready: true, readySinceMs }, 10, 100_000);

  it("begins after minReadySeconds, not with them", () => {
    assert.deepEqual(since(89_999), { kind: "available" });
    assert.deepEqual(since(90_000), { kind: "tooSoon", remainingMs: 1 });
    assert.deepEqual(since(95_000), { kind: "tooSoon", remainingMs: 5_001 });
  });

  it("comes when it was said to come", () => {
    const answer = since(95_000);
    assert.ok(answer.kind === "tooSoon");
    const later = availabilityOf(
      { ready: true, readySinceMs: 95_000 },
      10,
      100_000 + answer.remainingMs,
    );
    assert.equal(later.kind, "available");
  });

  it("needs to be ready, and to know since when only where that matters", () => {
    assert.equal(availabilityOf({ ready: false, readySinceMs: 0 }, 0, 1).kind, "notReady");
    assert.equal(availabilityOf({ ready: true }, 0, 1).kind, "available");
    assert.equal(availabilityOf({ ready: true }, 1, 1).kind, "readySinceUnknown");
  });

  it("of a Node goes by its first Ready condition", () => {
    const ready = { type: "Ready", status: "True", lastTransitionTime: "1970-01-01T00:00:01Z" };
    const node = { status: { conditions: [ready, { ...ready, status: "False" }] } };
    assert.equal(isNodeAvailable(node, 1, 2_001), true);
    assert.equal(isNodeAvailable(node, 1, 2_000), false);
    assert.equal(
      isNodeAvailable({ status: { conditions: node.status.conditions.toReversed() } }, 0, 2_001),
      false,
    );
  });
});

describe("status of a deployment", () => {
  const machine = (name: string, available: boolean, deleting = false) => ({
    name,
    ready: true,
    available,
    deleting,
  });
  const status = deploymentStatusOf([
    {
      name: "old",
      isNew: false,
      replicas: 2,
      machines: [machine("a", true), machine("b", true, true)],
    },
    { name: "new", isNew: true, replicas: 3, machines: [machine("c", false)] },
  ]);

  it("counts", () => {
    assert.deepEqual(status, {
      replicas: 3,
      updatedReplicas: 1,
      readyReplicas: 3,
      availableReplicas: 1,
      unavailableReplicas: 4,
    });
  });

  it("is complete when everything is new and available, and was looked at", () => {
    const done = { replicas: 2, updatedReplicas: 2, availableReplicas: 2 };
    const about = { desired: 2, status: done, generation: 4, observedGeneration: 4 };
    assert.equal(isComplete(about), true);
    assert.equal(isComplete({ ...about, observedGeneration: 3 }), false);
    assert.equal(isComplete({ ...about, status: { ...done, replicas: 3 } }), false);
    assert.equal(isComplete({ ...about, desired: 1 }), false);
  });
});

describe("progress", () => {
  const asked: ProgressQuestion = {
    complete: false,
    paused: false,
    lastProgressAtMs: 1_000,
    progressDeadlineSeconds: 60,
    nowMs: 61_000,
  };

  it("has until its deadline, and not longer", () => {
    assert.deepEqual(progressOf(asked), { kind: "progressing", remainingMs: 0 });
    assert.deepEqual(progressOf({ ...asked, nowMs: 61_001 }), {
      kind: "deadlineExceeded",
      overdueMs: 1,
    });
  });

  it("has no deadline when it is complete or paused", () => {
    assert.deepEqual(progressOf({ ...asked, nowMs: 99_000, complete: true }), { kind: "complete" });
    assert.deepEqual(progressOf({ ...asked, nowMs: 99_000, paused: true }), { kind: "paused" });
  });
});

describe("revisions", () => {
  const revised = (revision?: string, history?: string) => ({
    annotations: {
      ...(revision !== undefined && { [revisionAnnotation]: revision }),
      ...(history !== undefined && { [revisionHistoryAnnotation]: history }),
    },
  });

  it("are numbered one above all old ones", () => {
    assert.deepEqual(revisionOf({}, []), { revision: 1 });
    assert.deepEqual(revisionOf(revised(), [revised("3"), revised("1"), revised("nonsense"), {}]), {
      revision: 4,
    });
  });

  it("never fall", () => {
    assert.deepEqual(revisionOf(revised("7"), [revised("3")]), { revision: 7 });
  });

  it("remember what they were when a set becomes new again", () => {
    assert.deepEqual(revisionOf(revised("1"), [revised("2")]), { revision: 3, history: "1" });
    assert.deepEqual(revisionOf(revised("3", "1"), [revised("4")]), {
      revision: 5,
      history: "1,3",
    });
    assert.deepEqual(revisionOf(revised("5", "1,3"), [revised("4")]), {
      revision: 5,
      history: "1,3",
    });
  });

  it("keep the newest old sets, and every one that has or may have machines", () => {
    const old = (name: string, about: object = {}) => ({
      name,
      createdAtMs: Number(name.slice(1)),
      replicas: 0,
      existing: 0,
      deleting: false,
      observed: true,
      ...about,
    });
    const sets = [old("s4"), old("s1"), old("s3"), old("s2", { existing: 1 })];
    assert.deepEqual(setsToForget(sets, 1, "v1alpha1"), ["s1", "s3"]);
    assert.deepEqual(setsToForget(sets, 3, "v1alpha1"), ["s1"]);
    assert.deepEqual(setsToForget(sets, 9, "v1alpha1"), []);
    assert.deepEqual(setsToForget(sets, 1, "modern"), ["s1", "s3", "s4"]);
    assert.deepEqual(
      setsToForget(
        [old("s1", { observed: false }), old("s2", { deleting: true }), old("s3", { replicas: 1 })],
        0,
        "v1alpha1",
      ),
      [],
    );
  });
});

describe("templates", () => {
  const spec = { versions: { kubelet: "1.34.1" } };

  it("are the same without what is empty, but not inside what only a provider understands", () => {
    const labels = { app: "a" };
    assert.equal(
      sameTemplate(
        { metadata: { labels, annotations: {} }, spec: { ...spec, taints: [] } },
        { metadata: { labels }, spec },
      ),
      true,
    );
    const provider = (value: object) => ({ spec: { providerSpec: { value } } });
    assert.equal(sameTemplate(provider({ publicAddress: {} }), provider({})), false);
    assert.equal(sameTemplate(provider({ a: 1, b: 2 }), provider({ b: 2, a: 1 })), true);
  });

  it("that several sets share make the oldest new, and the one with most machines today", () => {
    const set = (name: string, createdAtMs: number, replicas: number): TemplatedSet => ({
      name,
      uid: name,
      createdAtMs,
      replicas,
      template: { spec },
    });
    const sets = [set("b", 2, 5), set("a", 2, 5), set("c", 1, 1)];
    assert.equal(findNewSet({ spec }, sets, "v1alpha1")?.name, "c");
    assert.equal(findNewSet({ spec }, sets, "modern")?.name, "a");
    assert.equal(findNewSet({ spec: {} }, sets, "modern"), undefined);
  });
});
