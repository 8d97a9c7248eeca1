import assert from "node:assert/strict";
import { heldAfter, type Held } from "../../src/controller/memory.js";

const failed = { digest: "d1", message: "no quota", isTakenBack: true };
const before: Held = { ...failed, failures: 3, untilMs: 5 };

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
      const held = heldAfter(known, { ...failed, digest }, 1_000);
      assert.deepEqual([held.failures, held.untilMs - 1_000], want);
      assert.equal(held.message, "no quota");
    });
  }
});
