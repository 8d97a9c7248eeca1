import assert from "node:assert/strict";
import {
  boundedLines,
  entryOf,
  historyWith,
  maxEntries,
  maxSummaryLines,
  maxTargetCharacters,
  previousRevision,
  targetOfRevision,
} from "../../src/records/history.js";
import type { Ending, HistoryEntry, RevisionRecord } from "../../src/records/transaction.js";
import type { Target } from "../../src/records/target.js";
import { cluster, machine } from "../support/manifests.js";
import { targetOf } from "../support/recorded-history.js";

const small = targetOf([cluster(), machine("web", { size: "small" })]);
const large = targetOf([cluster(), machine("web", { size: "large" })]);

/** A target that takes about so many characters: tags are in its object, its machine and its node. */
function heavy(characters: number): Target {
  const note = "x".repeat(characters / 3);
  return targetOf([cluster(), machine("web", { tags: { note } })]);
}

function entry(number: number, target?: Target, ending: Ending = { kind: "committed" }) {
  const about: Parameters<typeof entryOf>[0] = {
    number,
    direction: "forward",
    by: "ann@laptop",
    startedAtMs: number,
    summary: { create: 1, update: 0, delete: 0, lines: ["+ create"] },
  };
  const told: HistoryEntry = entryOf(about, number + 1, ending);
  return target === undefined ? told : { ...told, target };
}

/** A revision that was committed last, with what it kept of the past; its own entry holds no target. */
function revision(number: number, target: Target, past: readonly HistoryEntry[] = []) {
  return { number, target, history: [...past, entry(number)] } satisfies RevisionRecord;
}

function told(entries: readonly HistoryEntry[]): string[] {
  return entries.map(
    ({ number, ending, target }) =>
      `${number} ${ending.kind}${target === undefined ? "" : " with target"}`,
  );
}

describe("what a revision keeps of the past", () => {
  it("a first one keeps nothing but what has just ended", () => {
    assert.deepEqual(told(historyWith(undefined, [entry(1)])), ["1 committed"]);
  });

  it("a later one keeps the target of the one it takes the place of", () => {
    const kept = historyWith(revision(1, small), [entry(2)]);
    assert.deepEqual(told(kept), ["1 committed with target", "2 committed"]);
    assert.deepEqual(kept[0]?.target, small);
  });

  it("keeps what did not get to a commit, in order, without targets", () => {
    const failure = "cannot create LocalHost web: no";
    const kept = historyWith(revision(1, small), [
      entry(2, undefined, { kind: "rolledBack", failure }),
      entry(3, undefined, { kind: "superseded", failure }),
      entry(4),
    ]);
    assert.deepEqual(told(kept), [
      "1 committed with target",
      "2 rolledBack",
      "3 superseded",
      "4 committed",
    ]);
    assert.deepEqual(kept[1]?.ending, { kind: "rolledBack", failure });
  });

  it("drops the oldest entries beyond the bound", () => {
    const past = Array.from({ length: maxEntries }, (_, index) => entry(index + 1));
    const kept = historyWith(revision(maxEntries + 1, small, past), [entry(maxEntries + 2)]);
    assert.equal(kept.length, maxEntries);
    assert.deepEqual(
      [kept[0]?.number, kept.at(-1)?.number],
      [3, maxEntries + 2],
      "the oldest two are gone",
    );
    assert.deepEqual(kept.at(-2)?.target, small);
  });

  it("drops the oldest targets beyond the bound on characters, and keeps their entries", () => {
    const third = heavy(maxTargetCharacters * 0.4);
    const past = [entry(1, third), entry(2, third)];
    const kept = historyWith(revision(3, third, past), [entry(4)]);
    assert.deepEqual(told(kept), [
      "1 committed",
      "2 committed with target",
      "3 committed with target",
      "4 committed",
    ]);
    assert.ok(JSON.stringify(kept).length <= maxTargetCharacters * 1.01);
  });

  it("keeps a target that fits behind one that does not no more: the newest ones count", () => {
    const past = [entry(1, small), entry(2, heavy(maxTargetCharacters * 0.9))];
    const kept = historyWith(revision(3, heavy(maxTargetCharacters * 0.5), past), [entry(4)]);
    assert.deepEqual(told(kept), [
      "1 committed",
      "2 committed",
      "3 committed with target",
      "4 committed",
    ]);
  });

  it("never drops the newest target, however large: a rollback has to have somewhere to go", () => {
    const huge = heavy(maxTargetCharacters * 2);
    const kept = historyWith(revision(2, huge, [entry(1, small)]), [entry(3)]);
    assert.deepEqual(told(kept), ["1 committed", "2 committed with target", "3 committed"]);
  });
});

describe("where a rollback can go", () => {
  const kept = revision(4, small, [
    entry(1, large),
    entry(2, undefined, { kind: "rolledBack", failure: "no" }),
    entry(3, small),
  ]);

  it("finds the target of every revision that is kept, the present one included", () => {
    const found = [1, 2, 3, 4, 5].map((number) => targetOfRevision(kept, number));
    assert.deepEqual(found, [large, undefined, small, small, undefined]);
    assert.equal(targetOfRevision(undefined, 1), undefined);
  });

  it("goes past revisions that are as the present one is", () => {
    assert.equal(previousRevision(kept), 1);
  });

  it("goes to one that differs in what machines share alone, as another release compiles it", () => {
    const before = {
      ...small,
      nodes: small.nodes.map((node) => {
        const { serviceDomain: _, ...spec } = node.spec;
        return node.kind === "LocalNetwork" ? { ...node, spec } : node;
      }),
    };
    assert.equal(previousRevision(revision(2, small, [entry(1, before)])), 1);
  });

  it("goes past one in which the same was shared under another name", () => {
    const renamed = JSON.parse(
      JSON.stringify(small).replaceAll("LocalNetwork/network", "LocalNetwork/network-0a1b2c3d"),
    ) as Target;
    const before = {
      ...renamed,
      nodes: renamed.nodes.map((node) =>
        node.kind === "LocalNetwork" ? { ...node, name: "network-0a1b2c3d" } : node,
      ),
    };
    assert.equal(previousRevision(revision(2, small, [entry(1, before)])), undefined);
  });

  it("goes nowhere from a first revision, or when no other target is kept", () => {
    assert.equal(previousRevision(undefined), undefined);
    assert.equal(previousRevision(revision(1, small)), undefined);
    assert.equal(previousRevision(revision(2, small, [entry(1)])), undefined);
  });
});

describe("the lines of a summary", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index}`);

  it("are kept up to the bound", () => {
    assert.deepEqual(boundedLines(lines(maxSummaryLines)), lines(maxSummaryLines));
  });

  it("are counted beyond it", () => {
    const bounded = boundedLines(lines(maxSummaryLines + 10));
    assert.equal(bounded.length, maxSummaryLines);
    assert.equal(bounded.at(-1), "... and 11 more");
    assert.equal(bounded.at(-2), `line ${maxSummaryLines - 2}`);
  });
});
