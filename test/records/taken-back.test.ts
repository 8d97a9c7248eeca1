import assert from "node:assert/strict";
import { takenBackLike, withObjects } from "../../src/records/taken-back.js";
import type {
  Ending,
  TransactionGoal,
  HistoryEntry,
  RevisionRecord,
} from "../../src/records/transaction.js";
import type { Target } from "../../src/records/target.js";
import { testCluster } from "../support/manifests.js";

/** Targets that differ in nothing but their objects. */
const target = (name: string): Target => ({
  cluster: `default/${testCluster}`,
  provider: "local",
  machines: [],
  nodes: [],
  objects: [{ name }] as unknown as Target["objects"],
});

const committed: Ending = { kind: "committed" };
const failed: Ending = { kind: "rolledBack", failure: "the quota is used up" };
const superseded: Ending = { kind: "superseded", failure: "it was interrupted" };

interface Past {
  readonly objects: string;
  readonly ending?: Ending;
  readonly goal?: TransactionGoal;
}

/** A history whose last entry made the present revision. */
function revisionAfter(past: readonly Past[]): RevisionRecord {
  const history = past.map(({ objects, ending = committed, goal = { kind: "up" } }, index) => {
    const summary = { create: 0, update: 0, delete: 0, lines: [] };
    const direction = goal.kind === "takeBack" ? ("back" as const) : ("forward" as const);
    const times = { startedAtMs: 0, endedAtMs: 0 };
    const entry: HistoryEntry = {
      number: index + 1,
      direction,
      goal,
      by: "a@b",
      ...times,
      summary,
      ending,
    };
    return withObjects(entry, target(objects));
  });
  return { number: past.length, target: target(past.at(-1)?.objects ?? ""), history };
}

const back: TransactionGoal = { kind: "takeBack" };
const rollback: TransactionGoal = { kind: "rollback", to: 1, named: false };
const quota = { number: 2, why: "the quota is used up" };
const left = { number: 2, why: "capstan rollback went to revision 1" };

describe("objects of a transaction that was taken back", () => {
  const cases: { name: string; past: Past[]; planGoal: string; want?: object }[] = [
    {
      name: "are known after an automatic rollback",
      past: [{ objects: "a" }, { objects: "b", ending: failed }, { objects: "a", goal: back }],
      planGoal: "b",
      want: quota,
    },
    {
      name: "are known after capstan rollback",
      past: [{ objects: "a" }, { objects: "b" }, { objects: "a", goal: rollback }],
      planGoal: "b",
      want: left,
    },
    {
      name: "are all that a rollback went back from",
      past: [
        { objects: "a" },
        { objects: "b" },
        { objects: "c" },
        { objects: "a", goal: rollback },
      ],
      planGoal: "b",
      want: left,
    },
    {
      name: "are known after a change of owner",
      past: [
        { objects: "a" },
        { objects: "b", ending: failed },
        { objects: "a", goal: back },
        { objects: "a", goal: { kind: "move" } },
      ],
      planGoal: "b",
      want: quota,
    },
    {
      name: "are anybody's again after a change that was kept",
      past: [
        { objects: "a" },
        { objects: "b", ending: failed },
        { objects: "a", goal: back },
        { objects: "c" },
      ],
      planGoal: "b",
    },
    {
      name: "are not those of one that another took the place of",
      past: [{ objects: "a" }, { objects: "b", ending: superseded }, { objects: "a" }],
      planGoal: "b",
    },
    {
      name: "are not those that the revision has anyway",
      past: [{ objects: "a" }, { objects: "a", ending: failed }, { objects: "a", goal: back }],
      planGoal: "a",
    },
    {
      name: "are not others",
      past: [{ objects: "a" }, { objects: "b", ending: failed }, { objects: "a", goal: back }],
      planGoal: "c",
    },
  ];
  for (const { name, past, planGoal, want } of cases) {
    it(name, () => assert.deepEqual(takenBackLike(target(planGoal), revisionAfter(past)), want));
  }

  it("are not known of an entry that an early release wrote", () => {
    const revision = revisionAfter([
      { objects: "a" },
      { objects: "b", ending: failed },
      { objects: "a", goal: back },
    ]);
    const history = revision.history.map(({ objectsDigest: _new, ...entry }) => entry);
    assert.equal(takenBackLike(target("b"), { ...revision, history }), undefined);
  });
});
