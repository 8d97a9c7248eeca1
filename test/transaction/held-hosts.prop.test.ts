import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { goneIn, holdingHistories, toldTwice } from "../support/holding-histories.js";
import { assertAsyncLaw } from "../support/laws.js";
import { copyEdited } from "../support/mutant.js";

describe("what a hook holds", () => {
  it("stays with all that lives with it, and is there once, whatever verbs and faults there are", async () => {
    const property = fc.asyncProperty(holdingHistories, async (history) => {
      const { gone, outcomes } = await goneIn(history);
      assert.deepEqual(gone, [], outcomes.join("\n"));
    });
    await assertAsyncLaw(property, 100);
  });

  it("stays where a destroy is told so that goes on with one which was told otherwise", async () => {
    assert.deepEqual((await goneIn(toldTwice)).gone, []);
  });

  for (const [what, find, replace] of [
    [
      "would go where what a destroy is told went on with what another was told",
      "told === undefined || Object.entries(held)",
      "true || Object.entries(held)",
    ],
    [
      "would go where nobody remembered what a destroy was told",
      "input.told === undefined",
      "input.told !== null",
    ],
    [
      "would go where a name's first date was taken for its generation",
      "/(?=(-[0-9a-f]{8}-[1-9]\\d*)-.)/g",
      "/(-[0-9a-f]{8}-[1-9]\\d*)-./g",
    ],
  ] as const) {
    it(what, async () => {
      const folder = copyEdited(
        ["dist/src", "dist/providers", "dist/test/support"],
        [{ find, replace }],
      );
      try {
        const module = join(folder, "dist/test/support/holding-histories.js");
        const mutant = (await import(pathToFileURL(module).href)) as { goneIn: typeof goneIn };
        const sampled = fc.sample(holdingHistories, { numRuns: 400, seed: 56 });
        for (const history of [toldTwice, ...sampled]) {
          const { gone } = await mutant.goneIn(history);
          if (gone.some((one) => / takes \S+ db-/.test(one))) return;
        }
        assert.fail("nothing went");
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
  }
});
