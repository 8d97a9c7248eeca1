import assert from "node:assert/strict";
import {
  leftoverDataAnnotation,
  leftoverPolicyOf,
  leftoversAnnotation,
  reportLeftovers,
} from "../../src/api/leftover-policy.js";

describe("the annotations about leftovers", () => {
  const rows = [
    { given: undefined, want: reportLeftovers },
    { given: { [leftoversAnnotation]: "remove" }, want: { leftovers: "remove", data: "keep" } },
    {
      given: { [leftoverDataAnnotation]: "remove" },
      want: { leftovers: "report", data: "remove" },
    },
    { given: { [leftoversAnnotation]: "delete" }, want: reportLeftovers },
    { given: { [leftoverDataAnnotation]: "" }, want: reportLeftovers },
  ];
  for (const { given, want } of rows) {
    it(`${JSON.stringify(given)}: ${want.leftovers}, data: ${want.data}`, () => {
      assert.deepEqual(leftoverPolicyOf(given), want);
    });
  }
});
