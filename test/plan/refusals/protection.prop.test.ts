import assert from "node:assert/strict";
import fc from "fast-check";
import { assertAsyncLaw } from "../../support/laws.js";
import { inMutant, type Edit } from "../../support/mutant.js";
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

const defects: readonly (Edit & { readonly name: string })[] = [
  { name: "no check at all", find: "refuseRemovals(input, whole);", replace: "" },
  {
    name: "half of the members are enough",
    find: "staying >= quorumOf(members.length)",
    replace: "staying >= members.length / 2",
  },
  {
    name: "one allowance allows everything",
    find: 'allowed.includes("workers") ? []',
    replace: "allowed.length > 0 ? []",
  },
  {
    name: "what is protected is forgotten",
    find: ".filter(({ metadata }) => isProtecting(metadata.annotations))",
    replace: ".filter(() => false)",
  },
  {
    name: "what was begun and is not there counts as there",
    find: "target.machines.filter(counts)",
    replace: "target.machines",
  },
  {
    name: "what was begun counts as not there",
    find: "target.machines.filter(counts)",
    replace: "[]",
  },
  {
    name: "workers that were scaled away count as lost",
    find: "const orphans = workers.filter((machine) => now(machine) === undefined);",
    replace: "const orphans = workers;",
  },
];

describe("a defect in protection is seen", () => {
  const drawn = fc.sample(pasts, { numRuns: 150, seed: 20 });

  for (const { name, ...edit } of defects) {
    it(name, async () => {
      const module = "test/plan/refusals/protection-model.js";
      await inMutant([edit], { module, own: { breachesOfProtection } }, async (copy) => {
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
