import assert from "node:assert/strict";
import fc from "fast-check";
import { inMutant, type Edit } from "../support/mutant.js";
import { lostOnDelete, stories } from "./rollout-model.js";

const defects: readonly (Edit & { readonly name: string })[] = [
  {
    name: "what a user deleted goes a second time",
    find: "- sumOf(deleted, ({ from, to }) => from - to)",
    replace: "",
  },
  {
    name: "old machines go although there are not too many",
    find: "const removed = Math.min(from, left);",
    replace: "const removed = Math.min(from, Math.max(left, 1));",
  },
];

describe("a defect in rollouts OnDelete is seen", () => {
  const drawn = fc.sample(stories("OnDelete"), { numRuns: 600, seed: -1_576_920_551 });

  for (const { name, ...edit } of defects) {
    it(name, async () => {
      const asked = { module: "test/sets/rollout-model.js", own: { lostOnDelete } };
      await inMutant([edit], asked, (copy) => {
        assert.notDeepEqual(
          drawn.flatMap((story) => copy.lostOnDelete(story)),
          [],
        );
      });
    });
  }
});
