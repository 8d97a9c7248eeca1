import assert from "node:assert/strict";
import fc from "fast-check";
import { assertAsyncLaw } from "../../support/laws.js";
import {
  begunSoFar,
  lostWorkers,
  protectedIn,
  refusedRemovals,
  refuseRemovals,
} from "../../../src/plan/refusals/protection.js";
import { quorumOf } from "../../../src/sets/quorum.js";
import { inMutant } from "../../support/mutant.js";
import { replaced, type Replacement } from "../../support/replacement.js";
import { breachesOfProtection, pasts } from "./protection-model.js";

describe("the law of what is lost by accident", () => {
  it("is refused and touches nothing; everything else is made", () =>
    assertAsyncLaw(
      fc.asyncProperty(pasts, async (past) => {
        assert.deepEqual(await breachesOfProtection(past), []);
      }),
      100,
    ));
});

const defects: Readonly<Record<string, Replacement>> = {
  "no check at all": replaced(refuseRemovals, () => () => undefined),
  "half of the members are enough": replaced(quorumOf, () => (members) => members / 2),
  "one allowance allows everything": replaced(
    refusedRemovals,
    (original) => (question) =>
      original({
        ...question,
        allowed: question.allowed.length > 0 ? ["control-plane", "workers"] : [],
      }),
  ),
  "what is protected is forgotten": replaced(protectedIn, () => () => []),
  "what was begun and is not there counts as there": replaced(
    begunSoFar,
    () =>
      ({ prior }) =>
        prior.transaction?.target,
  ),
  "what was begun counts as not there": replaced(begunSoFar, () => ({ prior }) => {
    const target = prior.transaction?.target;
    return target && { ...target, machines: [] };
  }),
  "workers that were scaled away count as lost": replaced(
    lostWorkers,
    (original) => (recorded, wanted) => original(recorded, { ...wanted, objects: [] }),
  ),
};

describe("a defect in protection is seen", () => {
  const drawn = fc.sample(pasts, { numRuns: 150, seed: 20 });

  for (const [name, defect] of Object.entries(defects)) {
    it(name, async () => {
      const module = "test/plan/refusals/protection-model.js";
      await inMutant([defect], { module, own: { breachesOfProtection } }, async (copy) => {
        const breaches: string[] = [];
        for (const past of drawn) {
          breaches.push(...(await copy.breachesOfProtection(past)));
          if (breaches.length > 0) break;
        }
        assert.notDeepEqual(breaches, []);
      });
    });
  }
});
