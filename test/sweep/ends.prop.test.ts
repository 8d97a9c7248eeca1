import assert from "node:assert/strict";
import fc from "fast-check";
import { beginWork } from "../../src/engine/run/run-goal.js";
import { assertAsyncLaw, timesSeen } from "../support/laws.js";
import { inMutant } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";
import * as ends from "./ended-lives.js";

describe("the end of a cluster", () => {
  it("makes garbage of late resources only once a destroy, or the rollback of a first up, has recorded it", async () => {
    const seen = { ended: 0, killed: 0 };
    const property = fc.asyncProperty(ends.ends, async (end) => {
      const { hasEnded, breaches } = await ends.breachesOf(end);
      seen[hasEnded ? "ended" : "killed"] += 1;
      assert.deepEqual(breaches, []);
    });
    await assertAsyncLaw(property, 200);
    const isBoth = seen.ended > timesSeen(20) && seen.killed > timesSeen(20);
    assert.ok(isBoth, JSON.stringify(seen));
  });

  it("would come too early if it were recorded where the way to it begins", async () => {
    const defect = replaced(beginWork, (original) => async (goal, options) => {
      await original(goal, options);
      options.engine.noteEnd(goal.transaction.clusterUid);
    });
    const asked = { module: "test/sweep/ended-lives.js", own: ends };
    assert.ok((await inMutant([defect], asked, (copy) => copy.breachesOfMany())).length > 0);
  });
});
