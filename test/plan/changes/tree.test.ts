import { planSummary, planTree, verbOf } from "../../../src/plan/changes/tree.js";
import type { Plan } from "../../../src/plan/plan.js";
import { assertGolden } from "../../support/golden.js";
import { samplePlans } from "../../support/sample-plans.js";

/** What `capstan plan` prints, without colours and column widths. */
function textOf(plan: Plan): string {
  const lines = planTree(plan).map(({ branch, label, kind, detail }) =>
    [`${branch}${label}`, verbOf(kind), detail].filter((part) => part !== "").join("  "),
  );
  return `${[...lines, "", planSummary(plan)].join("\n")}\n`;
}

describe("the text of a plan", () => {
  for (const { name, given } of samplePlans) {
    it(`${name}.txt`, async () => assertGolden(name, textOf(await given())));
  }
});
