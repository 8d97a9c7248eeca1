import assert from "node:assert/strict";
import fc from "fast-check";
import { isLeftStopped, mayResume } from "../../src/dynamic/resuming.js";
import { asHalfChanged } from "../../src/plan/observation.js";
import { updatesAsRecorded, updatesUnderWay } from "../../src/plan/planner/planned-transaction.js";
import { assertHistoryLaw, timesAsMany } from "../support/laws.js";
import { inMutant } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";
import { lostIn, rareResizingHistories, resizingHistories } from "../support/resizing-histories.js";

const file = "test/transaction/half-changed.prop.test.ts";

describe("hosts that a change in place stops and starts", () => {
  it("law 22: stay and run in the end, wherever their changes are cut off", () =>
    assertHistoryLaw({
      law: "half-changed",
      file,
      histories: resizingHistories,
      numRuns: 400,
      check: async (history, trace) => {
        const { lost, outcomes } = await lostIn(history);
        for (const outcome of outcomes) trace(outcome);
        assert.deepEqual(lost, [], outcomes.join("\n"));
      },
    })).timeout(timesAsMany(300_000));

  it("stay and run in what such histories come to seldom", async () => {
    for (const history of rareResizingHistories) assert.deepEqual((await lostIn(history)).lost, []);
  });

  for (const [what, defect] of [
    [
      "would go where a stopped host counted as failed",
      replaced(asHalfChanged, () => (observed) => observed),
    ],
    [
      "would stay stopped where an update ended with the wanted inputs",
      replaced(isLeftStopped, () => () => false),
    ],
    [
      "would stay stopped where their records alone told whether they differ",
      replaced(mayResume, () => () => false),
    ],
    [
      "would go where a change in between forgot what it did not change",
      replaced(
        updatesUnderWay,
        (original) =>
          ({ transaction: _transaction, ...prior }, found) =>
            original(prior, found),
      ),
    ],
    [
      "would go where a transaction that has changed it once did not tell of another change",
      replaced(updatesAsRecorded, () => () => true),
    ],
  ] as const) {
    it(what, async () => {
      const sampled = fc.sample(resizingHistories, { numRuns: 400, seed: 20 });
      const asked = { module: "test/support/resizing-histories.js", own: { lostIn } };
      await inMutant([defect], asked, async (copy) => {
        for (const history of [...rareResizingHistories, ...sampled]) {
          const { lost } = await copy.lostIn(history).catch(() => ({ lost: [] }));
          if (lost.length > 0) return;
        }
        assert.fail("no history shows it");
      });
    });
  }
});
