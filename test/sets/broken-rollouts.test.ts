import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { copyEdited, type Edit } from "../support/mutant.js";
import { type lostOnDelete, stories } from "./rollout-model.js";

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
      const folder = copyEdited(["dist/src", "dist/test/sets", "dist/test/support"], [edit]);
      try {
        const file = pathToFileURL(join(folder, "dist", "test", "sets", "rollout-model.js")).href;
        const copy = (await import(file)) as { readonly lostOnDelete: typeof lostOnDelete };
        assert.notDeepEqual(
          drawn.flatMap((story) => copy.lostOnDelete(story)),
          [],
        );
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});
