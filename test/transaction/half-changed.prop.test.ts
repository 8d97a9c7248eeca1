import assert from "node:assert/strict";
import fc from "fast-check";
import { assertHistoryLaw, timesAsMany } from "../support/laws.js";
import { inMutant } from "../support/mutant.js";
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

  for (const [what, find, replace] of [
    [
      "would go where a stopped host counted as failed",
      "open.has(key) ? asHalfChanged(asIs(observed)) : asIs(observed)",
      "asIs(observed)",
    ],
    [
      "would stay stopped where an update ended with the wanted inputs",
      'const isStopped = marks !== undefined && current.phase === "failed";',
      "const isStopped = false;",
    ],
    [
      "would stay stopped where their records alone told whether they differ",
      "changes: mayResume(this.runtime, this.kind, olds)",
      "changes: false",
    ],
    [
      "would go where a change in between forgot what it did not change",
      "...updatesIn(found), ...openUpdates(prior)",
      "...updatesIn(found)",
    ],
    [
      "would go where a transaction that has changed it once did not tell of another change",
      "return updatesIn(found).every((key) => open.has(key));",
      "return true;",
    ],
  ] as const) {
    it(what, async () => {
      const sampled = fc.sample(resizingHistories, { numRuns: 400, seed: 20 });
      const asked = { module: "test/support/resizing-histories.js", own: { lostIn } };
      await inMutant([{ find, replace }], asked, async (copy) => {
        for (const history of [...rareResizingHistories, ...sampled]) {
          const { lost } = await copy.lostIn(history).catch(() => ({ lost: ["it broke"] }));
          if (lost.length > 0) return;
        }
        assert.fail("no history shows it");
      });
    });
  }
});
