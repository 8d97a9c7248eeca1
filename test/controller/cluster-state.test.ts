import assert from "node:assert/strict";
import { heldAfter, type FailedAttempt } from "../../src/controller/cluster-state.js";

const failed = { digest: "d1", message: "no quota", isTakenBack: true };
const before: FailedAttempt = { ...failed, failures: 3, untilMs: 5 };

describe("heldAfter", () => {
  for (const { name, known, digest, want } of [
    { name: "begins with half a minute", known: undefined, digest: "d1", want: [1, 30_000] },
    {
      name: "doubles while the same is asked for",
      known: before,
      digest: "d1",
      want: [4, 240_000],
    },
    { name: "begins anew for something else", known: before, digest: "d2", want: [1, 30_000] },
    {
      name: "ends at half an hour",
      known: { ...before, failures: 2_000 },
      digest: "d1",
      want: [2_001, 1_800_000],
    },
  ]) {
    it(name, () => {
      const failedAttempt = heldAfter(known, { ...failed, digest }, 1_000);
      assert.deepEqual([failedAttempt.failures, failedAttempt.untilMs - 1_000], want);
      assert.equal(failedAttempt.message, "no quota");
    });
  }
});
