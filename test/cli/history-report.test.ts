import assert from "node:assert/strict";
import {
  type HistoryItem,
  historyReport,
  targetOfTransaction,
} from "../../src/cli/history-report.js";
import { maxEntries, maxTargetCharacters, targetOfRevision } from "../../src/records/history.js";
import { emptyState } from "../../src/records/prior-state.js";
import { cluster, machine, machineDeployment } from "../support/manifests.js";
import { RecordedHistory, targetOf } from "../support/recorded-history.js";

const small = targetOf([cluster(), machine("cp-0", { controlPlane: "1.34.2" })]);
const large = targetOf([cluster(), machine("cp-0", { controlPlane: "1.34.2", diskGib: 90 })]);
const lost = { kind: "rolledBack", failure: "cannot create it" } as const;
const dropped = { kind: "superseded", failure: "it was interrupted" } as const;

/** "3 committed kept": one transaction as it is told. */
function told({ number, result, reach, tookBack }: HistoryItem): string {
  const what = "by" in result && result.by !== undefined ? ` by ${result.by}` : "";
  const rest = result.kind === "rolledBack" && !result.done ? " unfinished" : "";
  const took = tookBack === undefined ? "" : ` took ${tookBack} back`;
  return `${number} ${result.kind}${what}${rest}${took}, ${reach}`;
}

describe("the history of a stack", () => {
  const begun = () => new RecordedHistory(0);
  const cases: { name: string; given: RecordedHistory; want: string[] }[] = [
    {
      name: "that is being created",
      given: begun().begin({ target: small }),
      want: ["1 open, never"],
    },
    {
      name: "whose first creation could not be taken back yet",
      given: begun().fail({ target: small }, lost).begin({ target: small, direction: "back" }),
      want: ["2 open took 1 back, never", "1 rolledBack by 2 unfinished, never"],
    },
    {
      name: "that went on twice",
      given: begun().commit({ target: small }).commit({ target: large }),
      want: ["2 committed, present", "1 committed, kept"],
    },
    {
      name: "where a change failed and was taken back",
      given: begun()
        .commit({ target: small })
        .fail({ target: large }, lost)
        .commit({ target: small, direction: "back" })
        .commit({ target: large }),
      want: [
        "4 committed, present",
        "3 committed took 2 back, kept",
        "2 rolledBack by 3, never",
        "1 committed, kept",
      ],
    },
    {
      name: "where taking back took two attempts",
      given: begun()
        .commit({ target: small })
        .fail({ target: large }, lost)
        .fail({ target: small, direction: "back" }, dropped)
        .commit({ target: small, direction: "back" }),
      want: [
        "4 committed took 2 back, present",
        "3 superseded by 4 took 2 back, never",
        "2 rolledBack by 4, never",
        "1 committed, kept",
      ],
    },
    {
      name: "where a rollback gave way to another goal",
      given: begun()
        .commit({ target: small })
        .fail({ target: large }, lost)
        .fail({ target: small, direction: "back" }, dropped)
        .begin({ target: large }),
      want: [
        "4 open, never",
        "3 superseded by 4 took 2 back, never",
        "2 rolledBack by 3 unfinished, never",
        "1 committed, present",
      ],
    },
    {
      name: "where a third target was wanted after an interruption",
      given: begun()
        .commit({ target: small })
        .fail({ target: large }, dropped)
        .commit({ target: large }),
      want: ["3 committed, present", "2 superseded by 3, never", "1 committed, kept"],
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.deepEqual(historyReport("s", given.state).items.map(told), want));
  }

  it("of nothing", () => {
    assert.deepEqual(historyReport("s", emptyState), {
      stack: "s",
      revision: 0,
      worker: { kind: "none" },
      items: [],
    });
  });

  it("that an early release recorded tells the revision, and no more", () => {
    const { state } = begun().commit({ target: small });
    const revision = state.revision && { ...state.revision, history: [] };
    const { items } = historyReport("s", { ...state, ...(revision && { revision }) });
    assert.deepEqual(items, [
      {
        number: 1,
        direction: "forward",
        goal: { kind: "up" },
        result: { kind: "committed" },
        reach: "present",
      },
    ]);
  });

  it("gives the targets of revisions, and of the open transaction", () => {
    const { state } = begun()
      .commit({ target: small })
      .fail({ target: large }, lost)
      .commit({ target: small, direction: "back" })
      .begin({ target: large });
    const targets = [1, 2, 3, 4, 5].map((number) => targetOfTransaction(state, number));
    assert.deepEqual(targets, [small, undefined, small, large, undefined]);
  });
});

describe("the history after 200 transactions", () => {
  const targetWith = (replicas: number) =>
    targetOf([cluster(), machineDeployment("workers", replicas)]);
  // About 40 thousand characters each: not all of a hundred fit.
  const targets = [60, 61].map(targetWith);
  const history = new RecordedHistory(0);
  for (let number = 1; number <= 200; number += 1) {
    const target = targets[number % 2];
    assert.ok(target !== undefined);
    history.commit({ target, summary: { lines: ["~ in place Machine workers-0"] } });
  }
  const { state } = history;
  const { items } = historyReport("s", state);

  it("shows the newest ones, each once", () => {
    const numbers = items.map(({ number }) => number);
    assert.deepEqual(
      numbers,
      Array.from({ length: maxEntries }, (_, index) => 200 - index),
    );
  });

  it("offers exactly the newest targets that there is room for, and no others", () => {
    const kept = items.filter(({ reach }) => reach === "kept");
    const size = JSON.stringify(targets[0]).length;
    assert.ok(kept.length > 2 && kept.length < maxEntries - 1, `${kept.length} of ${size}`);
    assert.ok(kept.length * size <= maxTargetCharacters * 1.1);
    assert.deepEqual(
      items.map(({ reach }) => reach),
      ["present", ...kept.map(() => "kept"), ...items.slice(kept.length + 1).map(() => "dropped")],
    );
    for (const { number, reach } of items) {
      const target = targetOfRevision(state.revision, number);
      assert.deepEqual(target, reach === "dropped" ? undefined : targets[number % 2]);
    }
  });
});
