import assert from "node:assert/strict";
import { breachesOf } from "../../support/histories.js";
import { assertHistoryLaw, timesAsMany } from "../../support/laws.js";
import { rolloutHistories } from "../../support/rollout-histories.js";

describe("rollouts, held to their bounds at every call of the cloud", () => {
  it("never too many, never too few, never without quorum, and always to an end", () =>
    assertHistoryLaw({
      law: "rollouts",
      file: "test/plan/admission/rollouts.model.test.ts",
      histories: rolloutHistories,
      numRuns: 200,
      check: async (history, trace) => assert.deepEqual(await breachesOf(history, { trace }), []),
    })).timeout(timesAsMany(300_000));
});
