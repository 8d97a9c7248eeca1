import assert from "node:assert/strict";
import { type Rollback, rollbackOf } from "../../../src/plan/goal/rollback.js";
import type { TransactionGoal } from "../../../src/records/transaction.js";
import { cluster, machine } from "../../support/manifests.js";
import { RecordedHistory, targetOf } from "../../support/recorded-history.js";

const small = targetOf([cluster(), machine("web")]);
const large = targetOf([cluster(), machine("web", { size: "large" })]);
const lost = { kind: "rolledBack", failure: "lost" } as const;
const unnamed: TransactionGoal = { kind: "rollback", to: 1, named: false };
const named: TransactionGoal = { ...unnamed, named: true };

/** Two revisions, the second of other objects. */
const two = () => new RecordedHistory(0).commit({ target: small }).commit({ target: large });

function shown(way: Rollback): string {
  switch (way.kind) {
    case "to":
      return `to ${way.number}${way.named ? ", named" : ""}`;
    case "reached":
      return `reached ${way.to}`;
    default:
      return way.kind;
  }
}

describe("what the word rollback means", () => {
  const cases: { name: string; given: RecordedHistory; to?: number; want: string }[] = [
    {
      name: "nothing, of one revision",
      given: new RecordedHistory(0).commit({ target: small }),
      want: "none",
    },
    { name: "the revision before", given: two(), want: "to 1" },
    { name: "the one that is named", given: two(), to: 2, want: "to 2, named" },
    {
      name: "what is open is taken back",
      given: two().begin({ target: small }),
      want: "takeBack",
    },
    {
      name: "a destroy is taken back",
      given: two().begin({ target: small, goal: { kind: "destroy" } }),
      want: "takeBack",
    },
    {
      name: "the same again while it is under way",
      given: two().begin({ target: small, goal: unnamed }),
      want: "to 1",
    },
    {
      name: "the same again where it stays to be reached, as it failed",
      given: two()
        .fail({ target: small, goal: unnamed }, lost)
        .commit({ target: large, direction: "back" }),
      want: "to 1",
    },
    {
      name: "the same again while its failure is taken back",
      given: two()
        .fail({ target: small, goal: unnamed }, lost)
        .begin({ target: large, direction: "back" }),
      want: "to 1",
    },
    {
      name: "to stay where it has led",
      given: two().commit({ target: small, goal: unnamed }),
      want: "reached 1",
    },
    {
      name: "another word takes one to a named revision back",
      given: two().begin({ target: small, goal: named }),
      want: "takeBack",
    },
    {
      name: "after one to a named revision, the revision before",
      given: two().commit({ target: small, goal: named }),
      want: "to 2",
    },
    {
      name: "what was taken back is finished",
      given: two().fail({ target: small }, lost).commit({ target: large, direction: "back" }),
      want: "finish",
    },
  ];
  for (const { name, given, to, want } of cases) {
    it(name, () => assert.equal(shown(rollbackOf(given.state, to)), want));
  }
});
