import assert from "node:assert/strict";
import pc from "picocolors";
import { widthOf } from "../../src/cli/fit.js";
import {
  type HistoryItem,
  historyReport,
  recordedMachines,
  targetOfTransaction,
} from "../../src/cli/history-report.js";
import { revisionDifferenceText } from "../../src/cli/difference-text.js";
import { historyText, transactionText } from "../../src/cli/history-text.js";
import { nodeKey } from "../../src/graph/graph.js";
import { compareTargets } from "../../src/plan/compare/compare.js";
import { emptyState } from "../../src/records/prior-state.js";
import { assertGolden } from "../support/golden.js";
import { cluster, machine, machineDeployment, type Manifest } from "../support/manifests.js";
import { RecordedHistory, targetOf } from "../support/recorded-history.js";

const start = Date.UTC(2026, 0, 2);
const now = start + 60 * 60_000;
const plain = { colors: pc.createColors(false), columns: Infinity };

const noted: Manifest = {
  ...cluster(),
  metadata: { name: "prod", annotations: { "example.com/note": "not for everybody" } },
};
const controlPlane = machine("cp-0", { controlPlane: "1.34.2", size: "medium" });
const first = targetOf([cluster(), controlPlane, machineDeployment("workers", 2)]);
const second = targetOf([
  noted,
  controlPlane,
  machine("db-0"),
  machineDeployment("workers", 3, { diskGib: 40, kubelet: "1.34.1" }),
]);

const failure =
  "cannot create LocalHost workers-af5f5222-2-1: local cloud: \u001b[31mquota of 3 machines is exhausted\ncannot create LocalHost db-0-1: local cloud: the same";
const lines = [
  "~ in place Machine workers-0: kubelet 1.34.2 -> 1.34.1, diskGib 20 -> 40",
  "+ create Machine db-0: kubelet 1.34.2",
];

/** A creation, a change that failed and was taken back, the same again, and a scaling in flight. */
const { state } = new RecordedHistory(start)
  .commit({ target: first, summary: { create: 5, lines: ["+ create Machine cp-0"] } })
  .fail(
    { target: second, summary: { create: 2, update: 2, lines } },
    { kind: "rolledBack", failure },
  )
  .commit({ target: first, direction: "back", summary: { update: 1, delete: 1 } })
  .commit({ target: second, by: "bob@desk", summary: { create: 2, update: 2, delete: 1, lines } })
  .begin({ target: first, by: "bob@desk", summary: { delete: 2 } });
const report = historyReport("default.prod", state);

function itemOf(number: number): HistoryItem {
  const item = report.items.find((one) => one.number === number);
  assert.ok(item !== undefined);
  return item;
}

function shown(number: number, columns = Infinity): string {
  const target = targetOfTransaction(state, number);
  const machines = target === undefined ? undefined : recordedMachines(target);
  return transactionText(report, itemOf(number), machines, { columns, nowMs: now });
}

function assertFits(text: string, columns: number): void {
  for (const line of text.split("\n")) {
    const bare = line.replace(/\u001b\[\d+m/g, "");
    assert.ok(widthOf(bare) <= columns, `${columns}: ${bare}`);
  }
}

const widths = [20, 24, 40, 60, 80, 100, 200];

describe("history as text", () => {
  it("is a table, newest first, with what a rollback can go to", () => {
    assertGolden("history-list", historyText(report, plain, now));
  });

  it("leaves out columns on narrow terminals, and the failure goes below", () => {
    assertGolden("history-narrow", historyText(report, { ...plain, columns: 60 }, now));
    for (const columns of widths) {
      assertFits(historyText(report, { ...plain, columns }, now), columns);
    }
  });

  it("keeps number, result and what a rollback can go to longest", () => {
    const text = historyText(report, { ...plain, columns: 45 }, now);
    assert.match(text, /^NUMBER +RESULT +ROLLBACK$/m);
    assert.match(text, /^3 +took 2 back +--to 3$/m);
  });

  it("paints whole lines, after they are cut", () => {
    const text = historyText(report, { colors: pc.createColors(true), columns: 60 }, now);
    assertFits(text, 60);
    for (const line of text.split("\n")) {
      const codes = [...line.matchAll(/\u001b\[(\d+)m/g)];
      assert.equal(codes.length % 2, 0, JSON.stringify(line));
    }
    assert.match(text, /\u001b\[32m4 .*present/);
    assert.match(text, /\u001b\[31m2 .*rolled back by 3/);
  });

  it("of a cluster that is not there yet says so", () => {
    const text = historyText(historyReport("default.prod", emptyState), plain, now);
    assert.equal(text, "Cluster default.prod: nothing is recorded\n");
  });

  it("promises no rollback past the point of no return", () => {
    const upgraded = targetOf([
      cluster(),
      machine("cp-0", { controlPlane: "1.35.0" }),
      machineDeployment("workers", 2),
    ]);
    const smaller = targetOf([cluster(), controlPlane]);
    const open = new RecordedHistory(start)
      .commit({ target: smaller })
      .commit({ target: first })
      .begin({ target: upgraded });
    const unsure = historyText(historyReport("default.prod", open.state), plain, now);
    assert.match(
      unsure,
      /^Transaction 3 is not finished: capstan up goes on with it; capstan rollback default\.prod takes it back, unless LocalHost\/cp-0-\S+ runs a control plane of 1\.\d+\.\d+ already\.$/m,
    );
    assert.match(unsure, /^1 .* --to 1 /m);
    const { transaction } = open.state;
    assert.ok(transaction !== undefined);
    const crossed = [
      { kind: "version", machine: "cp-0", host: nodeKey("Host", "cp-0-1"), version: "1.35.0" },
    ] as const;
    const beyond = historyReport("default.prod", {
      ...open.state,
      transaction: { ...transaction, crossed },
    });
    const text = historyText(beyond, plain, now);
    assert.match(text, /^3 .*open, forward .*only forward: Host\/cp-0-1 has a control plane of 1/m);
    assert.match(
      text,
      /^Transaction 3 is not finished: capstan up goes on with it, and there is no way back: /m,
    );
    assert.match(text, /^1 .* older versions /m);
    assert.doesNotMatch(text, /capstan rollback/);
  });

  it("says what to do about an open rollback", () => {
    const open = new RecordedHistory(start)
      .commit({ target: first })
      .fail({ target: second }, { kind: "rolledBack", failure: "no" })
      .begin({ target: first, direction: "back" });
    const text = historyText(historyReport("default.prod", open.state), plain, now);
    assert.match(text, /^3 .*open, takes 2 back/m);
    assert.match(text, /^2 .*rollback 3 unfinished/m);
    assert.match(text, /^Transaction 3 is not finished: capstan rollback default\.prod goes on/m);
  });
});

describe("one transaction as text", () => {
  it("of the failed one has the whole failure and no control characters", () => {
    assertGolden("history-show-failed", shown(2));
    assert.doesNotMatch(shown(2), /\u001b/);
  });

  it("of a committed one has its machines, and each provider spec once", () => {
    assertGolden("history-show", shown(4));
    assertGolden("history-show-narrow", shown(4, 60));
  });

  it("fits", () => {
    // Provider specs are YAML, which cannot be broken anywhere, and a name is a word.
    for (const columns of widths.filter((one) => one >= 40)) {
      for (const { number } of report.items) {
        assertFits(shown(number, columns).split("Provider specs:")[0] ?? "", columns);
      }
    }
  });

  it("says why a rollback cannot go there", () => {
    const { revision } = state;
    assert.ok(revision !== undefined);
    const history = revision.history.map(({ target: _dropped, ...entry }) => entry);
    const without = historyReport("default.prod", { ...state, revision: { ...revision, history } });
    const [oldest] = without.items.toReversed();
    assert.ok(oldest !== undefined);
    const text = transactionText(without, oldest, undefined, { columns: Infinity, nowMs: now });
    assert.match(text, /^Rollback: +no longer: /m);
    assert.match(shown(1), /^Rollback: +capstan rollback default\.prod --to 1$/m);
    assert.match(shown(2), /^Rollback: +no: it was not committed$/m);
    assert.match(shown(4), /^Rollback: +this is the present revision$/m);
  });
});

describe("what two revisions differ in, as text", () => {
  const revisions = { from: 3, to: 4, cluster: "default/prod" };
  const difference = compareTargets(first, second);

  it("is a line for each value of an object, and one for each machine", () => {
    const text = revisionDifferenceText(revisions, difference, plain);
    assertGolden("history-diff", text);
    assert.doesNotMatch(text, /not for everybody/);
    assert.match(text, /^ {2}~ MachineDeployment default\/workers: spec\.replicas 2 -> 3$/m);
  });

  it("fits", () => {
    assertGolden(
      "history-diff-narrow",
      revisionDifferenceText(revisions, difference, { ...plain, columns: 60 }),
    );
    const colors = pc.createColors(true);
    // A path is a word: on a very narrow terminal the terminal breaks it.
    for (const columns of [60, 80, 100]) {
      assertFits(revisionDifferenceText(revisions, difference, { colors, columns }), columns);
    }
  });

  it("says so when there is nothing", () => {
    const text = revisionDifferenceText(revisions, compareTargets(first, first), plain);
    assert.equal(text, "Revisions 3 and 4 of default/prod are the same\n");
  });
});
