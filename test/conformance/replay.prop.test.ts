import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { assertLaw } from "../support/laws.js";
import { Replay, type ReplayGiven, type ReplayWant } from "./replay.js";
import { readVectorFile } from "./vector-file.js";

const file = join(
  fileURLToPath(import.meta.url),
  "../../../../test/vectors/rolling-update-traces-modern.json",
);

/** How many iterations Cluster API grants its own random orders. */
const iterations = 150;

describe("rollouts under random orders of controllers", () => {
  for (const read of readVectorFile(file)) {
    if (read.kind !== "case" || !read.asked.id.startsWith("rollingupdate")) continue;
    const given = read.asked.given as unknown as ReplayGiven;
    const want = read.asked.want as unknown as ReplayWant;

    it(`keep the bounds and end as ${read.asked.id}`, () => {
      const names = ["md", ...given.machineSets.map(({ name }) => name)];
      const actors = [...names, `ms${names.length}`];
      const orders = fc.array(fc.shuffledSubarray(actors, { minLength: 1 }), {
        minLength: iterations,
        maxLength: iterations,
      });
      const property = fc.property(orders, (order) => {
        const schedule = order.flatMap((runs, index) =>
          runs.map((run) => ({ step: 0, iteration: index + 1, run })),
        );
        // A breach on the way throws.
        const { final } = new Replay({ ...given, schedule }, "modern").answer(want);
        const { replicas } = given.machineDeployment.spec;
        assert.deepEqual(final.machineDeploymentStatus, { replicas, availableReplicas: replicas });
        for (const set of final.machineSets.slice(0, -1)) assert.deepEqual(set.machines, []);
      });
      assertLaw(property, 100);
    });
  }
});
