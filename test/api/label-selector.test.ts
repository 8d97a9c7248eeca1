import assert from "node:assert/strict";
import { selectorText } from "../../src/api/label-selector.js";
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
