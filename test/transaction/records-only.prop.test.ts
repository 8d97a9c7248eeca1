import assert from "node:assert/strict";
import fc from "fast-check";
import { goesOnWithRequest } from "../../src/engine/operations/survey.js";
import { hostsOf } from "../../src/plan/decisions/letting-go.js";
import { targetOfRecords } from "../../src/plan/planner/make-plan.js";
import { assertAsyncLaw } from "../support/laws.js";
import { inMutant } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";
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

  for (const [what, defect] of [
    [
      "a forgetting that goes with a failed change behind it",
      replaced(
        goesOnWithRequest,
        (original) => (input) => input.state.transaction?.goal.kind !== "forget" && original(input),
      ),
    ],
    [
      "a request for records that plans like an up",
      replaced(
        targetOfRecords,
        (original) => (input) => (input.goal.kind === "adopt" ? original(input) : undefined),
      ),
    ],
    [
      "a forgotten machine whose host is told by its record alone",
      replaced(
        hostsOf,
        (original) =>
          (machine, { revision: _revision, ...prior }) =>
            original(machine, prior),
      ),
    ],
  ] as const) {
    it(`finds ${what}`, async () => {
      const asked = { module: "test/support/record-histories.js", own: { lostIn } };
      await inMutant([defect], asked, async (copy) => {
        const sampled = fc.sample(recordHistories, { numRuns: 200, seed: 20 });
        for (const history of [...rareRecordHistories, ...sampled]) {
          if ((await copy.lostIn(history)).lost.length > 0) return;
        }
        assert.fail("nothing was lost");
      });
    });
  }
});
