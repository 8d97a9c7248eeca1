import assert from "node:assert/strict";
import { openTransactionText } from "../../src/cli/open-transaction.js";
import type { TransactionGoal } from "../../src/records/transaction.js";

function textOf(goal: TransactionGoal): string {
  const wayBack = { kind: "free" } as const;
  return openTransactionText({ number: 5, goal, wayBack, stack: "default.prod", revision: 4 });
}

describe("the ways on from an open transaction", () => {
  it("are both told of a rollback without a number, which the same words go on with", () => {
    assert.match(
      textOf({ kind: "rollback", to: 2, named: false }),
      /: capstan rollback default\.prod goes on with it, capstan rollback default\.prod --to 4 takes it back\.$/,
    );
  });

  it("are both told of one with a number", () => {
    assert.match(
      textOf({ kind: "rollback", to: 2, named: true }),
      /--to 2 goes on with it, capstan rollback default\.prod takes it back\.$/,
    );
  });

  it("are one where it leads back itself", () => {
    assert.match(
      textOf({ kind: "takeBack" }),
      /: capstan rollback default\.prod goes on with it\.$/,
    );
  });

  it("are two moves where the owner changes", () => {
    assert.match(
      textOf({ kind: "move", to: "files", from: "3e0f" }),
      /: capstan move default\.prod --to files --out FOLDER goes on with it, capstan move default\.prod --to kubernetes takes it back\.$/,
    );
    assert.match(
      textOf({ kind: "move", to: "3e0f", from: "files" }),
      /--to kubernetes goes on with it, capstan move default\.prod --to files --out FOLDER takes it back\.$/,
    );
    assert.match(textOf({ kind: "move" }), /: capstan move goes on with it\.$/);
  });
});
