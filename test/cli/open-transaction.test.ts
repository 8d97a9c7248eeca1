import assert from "node:assert/strict";
import { openTransactionText } from "../../src/cli/open-transaction.js";
import type { Liveness } from "../../src/engine/locks/process-identity.js";
import { type StackWorker, workerOf } from "../../src/engine/locks/stack-worker.js";
import type { TransactionGoal } from "../../src/records/transaction.js";

const open = { number: 5, wayBack: { kind: "free" }, stack: "default.prod", revision: 4 } as const;

function textOf(goal: TransactionGoal, worker: StackWorker = { kind: "none" }): string {
  return openTransactionText({ ...open, goal, worker });
}

describe("an open transaction", () => {
  const holder = 'ann@laptop (pid 7, "capstan up", since noon)';

  it("is under way where its worker lives: no command goes on with it", () => {
    assert.equal(
      textOf({ kind: "up" }, { kind: "alive", holder }),
      `Transaction 5 is under way: ${holder} works on it.`,
    );
  });

  it("says whose lock is in the way where nothing can tell whether that one lives", () => {
    assert.equal(
      textOf({ kind: "up" }, { kind: "unknown", holder }),
      `Transaction 5 is not finished. default.prod is locked by ${holder}, and nothing here can tell whether it lives. If it has ended: capstan unlock default.prod removes its lock; capstan up goes on with it, capstan rollback default.prod takes it back.`,
    );
  });
});

describe("the worker of a stack", () => {
  const lock = (liveness: Liveness) => ({ holder: `the ${liveness} one`, liveness });

  it("is a holder of its locks that lives, before one that may", () => {
    const worker = workerOf([lock("dead"), lock("unknown"), lock("alive")]);
    assert.deepEqual(worker, { kind: "alive", holder: "the alive one" });
    const unsure = workerOf([lock("dead"), lock("unknown")]);
    assert.deepEqual(unsure, { kind: "unknown", holder: "the unknown one" });
  });

  it("is nobody where all holders are dead", () => {
    assert.deepEqual(workerOf([lock("dead")]), { kind: "none" });
    assert.deepEqual(workerOf([]), { kind: "none" });
  });
});

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
