import assert from "node:assert/strict";
import fc from "fast-check";
import { assertAsyncLaw } from "../support/laws.js";
import { inMutant } from "../support/mutant.js";
import { lostIn, rareRecordHistories, recordHistories } from "../support/record-histories.js";

describe("law 20: a commit carries nothing else out", () => {
  it("ends no host that serves, whatever requests, lost records, recorded drift and faults there are", async () => {
    const property = fc.asyncProperty(recordHistories, async (history) => {
      const { lost, outcomes } = await lostIn(history);
      assert.deepEqual(lost, [], outcomes.join("\n"));
    });
    await assertAsyncLaw(property, 100);
  });

  it("ends none in what such histories come to seldom", async () => {
    for (const history of rareRecordHistories) assert.deepEqual((await lostIn(history)).lost, []);
  });

  for (const [what, find, replace] of [
    [
      "a forgetting that goes with a failed change behind it",
      'return goal.kind === "forget" && !isWanted(goal.machine);',
      "return false;",
    ],
    [
      "a request for records that plans like an up",
      "changesRecordsOnly(given.goal) && planGoal",
      'given.goal.kind === "adopt" && planGoal',
    ],
    [
      "a forgotten machine whose host is told by its record alone",
      "...(prior.revision?.target.nodes ?? [])];\n    return nodes",
      "];\n    return nodes",
    ],
  ] as const) {
    it(`finds ${what}`, async () => {
      const asked = { module: "test/support/record-histories.js", own: { lostIn } };
      await inMutant([{ find, replace }], asked, async (copy) => {
        const sampled = fc.sample(recordHistories, { numRuns: 200, seed: 20 });
        for (const history of [...rareRecordHistories, ...sampled]) {
          if ((await copy.lostIn(history)).lost.length > 0) return;
        }
        assert.fail("nothing was lost");
      });
    });
  }
});
