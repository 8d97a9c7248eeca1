import assert from "node:assert/strict";
import { breachesOf, histories } from "../support/histories.js";
import { assertHistoryLaw } from "../support/laws.js";

const runs = Number(process.env["N"] ?? 300);

describe("success or nothing", () => {
  it("laws 3, 5, 6, 7, 8 hold whatever happens", async () => {
    await assertHistoryLaw({
      law: "atomic",
      histories,
      numRuns: runs,
      check: async (history, trace) => assert.deepEqual(await breachesOf(history, { trace }), []),
    });
  }).timeout(600_000);
});
