import assert from "node:assert/strict";
import fc from "fast-check";
import { surplusOf, takeSurplus } from "../../src/sets/on-delete.js";
import { inMutant } from "../support/mutant.js";
import { replaced, type Replacement } from "../support/replacement.js";
import { lostOnDelete, stories } from "./rollout-model.js";

const defects: Readonly<Record<string, Replacement>> = {
  "what a user deleted goes a second time": replaced(
    surplusOf,
    (original) => (state) => original(state, []),
  ),
  "old machines go although there are not too many": replaced(
    takeSurplus,
    (original) => (oldSets, intents, surplus, desired) =>
      original(oldSets, intents, Math.max(surplus, 1), desired),
  ),
};

describe("a defect in rollouts OnDelete is seen", () => {
  const drawn = fc.sample(stories("OnDelete"), { numRuns: 600, seed: -1_576_920_551 });

  for (const [name, defect] of Object.entries(defects)) {
    it(name, async () => {
      const asked = { module: "test/sets/rollout-model.js", own: { lostOnDelete } };
      await inMutant([defect], asked, (copy) => {
        assert.notDeepEqual(
          drawn.flatMap((story) => copy.lostOnDelete(story)),
          [],
        );
      });
    });
  }
});
