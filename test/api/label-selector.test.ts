import assert from "node:assert/strict";
import { requirementHolds, selectorText } from "../../src/api/label-selector.js";
import type { LabelSelector } from "../../src/api/schema.js";

describe("selectorText", () => {
  const cases: { name: string; given: LabelSelector; want: string }[] = [
    { name: "nothing", given: {}, want: "" },
    { name: "labels", given: { matchLabels: { set: "a", tier: "b" } }, want: "set=a,tier=b" },
    {
      name: "every operator",
      given: {
        matchLabels: { set: "a" },
        matchExpressions: [
          { key: "zone", operator: "In", values: ["x", "y"] },
          { key: "tier", operator: "NotIn", values: ["old"] },
          { key: "fast", operator: "Exists" },
          { key: "slow", operator: "DoesNotExist" },
        ],
      },
      want: "set=a,zone in (x,y),tier notin (old),fast,!slow",
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.equal(selectorText(given), want));
  }
});

describe("requirementHolds", () => {
  // Of a label that has the value, that has another, and that is not there.
  const cases: {
    requirement: { operator: "In" | "NotIn" | "Exists" | "DoesNotExist"; values?: string[] };
    want: boolean[];
  }[] = [
    { requirement: { operator: "In", values: ["a", "b"] }, want: [true, false, false] },
    { requirement: { operator: "NotIn", values: ["a", "b"] }, want: [false, true, true] },
    { requirement: { operator: "Exists" }, want: [true, true, false] },
    { requirement: { operator: "DoesNotExist" }, want: [false, false, true] },
  ];
  for (const { requirement, want } of cases) {
    it(requirement.operator, () => {
      const holds = [{ set: "b" }, { set: "c" }, {}].map((labels: Record<string, string>) =>
        requirementHolds({ key: "set", ...requirement }, labels),
      );
      assert.deepEqual(holds, want);
    });
  }
});
