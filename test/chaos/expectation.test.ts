import assert from "node:assert/strict";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";
import { type ExpectedEnding, endingsOf } from "./expectation.js";
import { type OperationName, operationNames, operationsOf } from "./operation.js";
import { placeText } from "./place.js";
import { type OperationProgress, progressIn, type Traces } from "./progress.js";
import { isPossible, recoveries, type NextCommand } from "./recovery.js";
import { targetsOf } from "./targets.js";

const targets = targetsOf(join(repository, "examples", "quickstart"));
const operations = operationsOf(targets, "default.quickstart");

/** "0 previous" or "65 open": how a command may end, each. */
function textOf(ending: ExpectedEnding): string {
  if (ending.kind === "reaches") return `0 ${placeText(ending.place)}`;
  const { codes } = ending;
  return `${codes === "any but 0" ? codes : codes.join("/")} ${placeText(ending.at)}`;
}

describe("what a command has to do after a kill", () => {
  const cases: [OperationName, OperationProgress, NextCommand, string[]][] = [
    ["scale", "begun", "same", ["0 target"]],
    ["scale", "begun", "rollback", ["0 previous"]],
    ["scale", "begun", "rollbackTo", ["0 revision"]],
    ["scale", "begun", "plain", ["any but 0 open"]],
    ["scale", "untouched", "rollback", ["1 previous"]],
    ["scale", "committed", "rollback", ["0 previous"]],
    ["create", "begun", "rollback", ["0 nothing"]],
    ["create", "committed", "rollback", ["1 target"]],
    ["upgrade", "begun", "old", ["0 previous"]],
    ["upgrade", "beyond", "old", ["65 open"]],
    ["upgrade", "beyond", "rollback", ["65 open"]],
    ["upgrade", "beyond", "rollbackTo", ["65 open"]],
    ["upgrade", "beyond", "third", ["0 third"]],
    ["cornered", "beyond", "rollback", ["65 open"]],
    ["destroy", "untouched", "rollback", ["0 revision"]],
    ["destroy", "begun", "rollback", ["0 previous"]],
    ["destroy", "begun", "old", ["0 previous"]],
    ["destroy", "begun", "third", ["0 third"]],
    ["destroy", "begun", "same", ["0 nothing"]],
    ["destroy", "beyond", "rollback", ["65 open"]],
    ["destroy", "beyond", "rollbackTo", ["65 open"]],
    ["destroy", "beyond", "old", ["65 open"]],
    ["destroy", "beyond", "third", ["65 open"]],
    ["destroy", "beyond", "same", ["0 nothing"]],
    ["destroy", "committed", "rollback", ["1 nothing"]],
    ["rollback", "committed", "same", ["0 target"]],
    ["rollback", "begun", "rollbackTo", ["0 revision"]],
    ["rollback", "begun", "up", ["0 target"]],
    ["rollbackTo", "begun", "rollback", ["0 previous"]],
    ["rollbackTo", "untouched", "rollback", ["0 revision"]],
    ["adopt", "untouched", "rollback", ["1 found"]],
    ["adopt", "untouched", "up", ["5 found"]],
    ["adopt", "begun", "rollback", ["0 found"]],
    ["adopt", "begun", "same", ["0 target"]],
    ["adopt", "untouched", "destroy", ["5 found"]],
    ["scale", "untouched", "import", ["0 previous"]],
    ["scale", "begun", "forget", ["1 open"]],
    ["scale", "committed", "forget", ["0 target", "1 open"]],
    ["failing", "committed", "forgetAmiss", ["0 previous", "1 open"]],
    ["create", "untouched", "import", ["1 nothing"]],
    ["destroy", "begun", "forget", ["1 open"]],
    ["destroy", "committed", "forget", ["1 nothing"]],
    ["adopt", "untouched", "import", ["any but 0 found"]],
  ];
  for (const [name, progress, recovery, want] of cases) {
    it(`${name}, ${progress}, then ${recovery}: ${want.join(" or ")}`, () => {
      assert.deepEqual(endingsOf(operations[name], recovery, progress).map(textOf), want);
    });
  }

  it("is said for every pair that is possible, however far it came", () => {
    const progresses: OperationProgress[] = ["untouched", "begun", "beyond", "committed"];
    for (const name of operationNames) {
      for (const recovery of recoveries.filter((one) => isPossible(one, operations[name]))) {
        for (const progress of progresses) {
          assert.ok(endingsOf(operations[name], recovery, progress).length > 0);
        }
      }
    }
  });
});

describe("how far an operation came", () => {
  const traces: Traces = {
    transaction: 1,
    revision: 1,
    before: 1,
    hasChanged: false,
    isPastNoReturn: false,
  };
  const cases: {
    name: string;
    verb: "up" | "destroy";
    traces: Partial<Traces>;
    want: OperationProgress;
  }[] = [
    { name: "nothing is newer", verb: "up", traces: {}, want: "untouched" },
    { name: "a transaction is open", verb: "up", traces: { transaction: 2 }, want: "begun" },
    {
      name: "it is open past its undo line",
      verb: "up",
      traces: { transaction: 2, isPastNoReturn: true },
      want: "beyond",
    },
    {
      name: "it is committed",
      verb: "up",
      traces: { transaction: 2, revision: 2, isPastNoReturn: true },
      want: "committed",
    },
    {
      name: "a first creation has no record yet",
      verb: "up",
      traces: { transaction: 0, revision: 0, before: 0 },
      want: "untouched",
    },
    {
      name: "a destroy has erased its records",
      verb: "destroy",
      traces: { transaction: 0, revision: 0 },
      want: "committed",
    },
    {
      name: "a destroy has changed something without a record",
      verb: "destroy",
      traces: { hasChanged: true, isPastNoReturn: true },
      want: "beyond",
    },
  ];
  for (const { name, verb, want, ...one } of cases) {
    it(`${name}: ${want}`, () => {
      assert.equal(progressIn({ verb }, { ...traces, ...one.traces }), want);
    });
  }
});
