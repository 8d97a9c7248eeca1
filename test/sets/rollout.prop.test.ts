import assert from "node:assert/strict";
import fc from "fast-check";
import { planRollout } from "../../src/sets/rollout.js";
import { assertLaw, assertLawOfSeeds } from "../support/laws.js";
import { lostOnDelete, type Story, stories, tell } from "./rollout-model.js";

/** Rounds that the slowest rollout of the model takes: one machine at a time, twice over. */
const patience = 80;

const onDeleteTakesNothing = fc.property(stories("OnDelete"), (story: Story) => {
  assert.deepEqual(lostOnDelete(story), []);
});

describe("laws of rollouts", () => {
  it("never more machines than desired and surge, never fewer available than must be", () => {
    // Each round of a story is held to both.
    assertLaw(
      fc.property(stories(), (story: Story) => void tell(story)),
      400,
    );
  });

  it("converges once nothing happens any more, broken old machines or not", () => {
    const property = fc.property(stories(), (story: Story) => {
      const model = tell(story);
      let rounds = 0;
      for (model.settle(); !model.hasConverged && rounds < patience; model.settle()) {
        model.round();
        rounds += 1;
      }
      const left = model.sets.map(({ name, replicas, machines }) => ({ name, replicas, machines }));
      assert.ok(model.hasConverged, `not after ${rounds} rounds: ${JSON.stringify(left)}`);
    });
    assertLaw(property, 400);
  });

  it("leaves alone what has converged", () => {
    const property = fc.property(stories(), (story: Story) => {
      const model = tell(story);
      for (let round = 0; round < patience && !model.hasConverged; round += 1) {
        model.round();
        model.settle();
      }
      const { steps, holds } = model.round();
      assert.deepEqual({ steps, holds }, { steps: [], holds: [] });
    });
    assertLaw(property, 200);
  });

  it("OnDelete takes no machine of its own accord, unless there are more than desired", () => {
    assertLaw(onDeleteTakesNothing, 300);
  });

  it("OnDelete takes no machine: seeds that have found something before", () => {
    assertLawOfSeeds(onDeleteTakesNothing, [-1_576_920_551, 7, 20_261_121], 300);
  });

  it("OnDelete counts a machine of the new set that a user deletes until it is gone", () => {
    const scale = (replicas: number) => ({ kind: "scale" as const, replicas });
    const story: Story = {
      profile: "modern",
      policy: "Random",
      bounds: { replicas: 0, strategy: { type: "OnDelete" } },
      rounds: [
        scale(1),
        { kind: "template" as const, template: 1 },
        scale(7),
        { kind: "userDeletes" as const, pick: 1 },
        scale(6),
      ].map((happening) => ({ happening, comeUp: 0, go: 0 })),
    };
    const model = tell(story);
    const sizes = model.sets.map(({ name, replicas }) => [name, replicas]);
    // Seven are wanted of the sets: the new one makes again what a user takes from it.
    assert.deepEqual(sizes, [
      ["set-0", 0],
      ["set-1", 6],
    ]);
    model.go(Infinity);
    model.round();
    assert.equal(model.newSet?.machines.length, 6);
  });

  it("OnDelete converges when a user deletes every old machine", () => {
    const property = fc.property(stories("OnDelete"), (story: Story) => {
      const model = tell(story);
      for (let round = 0; round < patience && !model.hasConverged; round += 1) {
        for (const set of model.sets) {
          if (set === model.newSet) continue;
          for (const machine of set.machines) machine.deleting = true;
        }
        model.settle();
        model.round();
        model.settle();
      }
      assert.ok(model.hasConverged);
    });
    assertLaw(property, 200);
  });

  it("says why, whenever it scales and whenever it cannot", () => {
    const property = fc.property(stories(), (story: Story) => {
      const model = tell(story);
      const { scale, steps, holds } = model.round();
      assert.deepEqual([...scale.keys()].sort(), [...new Set(steps.map(({ set }) => set))].sort());
      for (const { from, to } of steps) assert.notEqual(from, to);
      const old = model.sets.filter((set) => set !== model.newSet);
      const waits = old.some(({ replicas }) => replicas > 0) && steps.length === 0;
      if (waits && model.machines.every(({ deleting }) => !deleting))
        assert.notEqual(holds.length, 0);
    });
    assertLaw(property, 300);
  });

  it("does the same for the same, whatever the order of sets and machines", () => {
    const property = fc.property(stories(), (story: Story) => {
      const model = tell(story);
      const sets = model.sets.map((set) => ({
        ...set,
        isNew: set === model.newSet,
        machines: set.machines.map((machine) => ({ ...machine, available: machine.ready })),
      }));
      if (!sets.some(({ isNew }) => isNew)) return;
      const { profile, bounds: deployment } = model;
      const turned = sets
        .toReversed()
        .map((set) => ({ ...set, machines: set.machines.toReversed() }));
      assert.deepEqual(planRollout({ deployment, sets: turned, profile }), {
        ...planRollout({ deployment, sets, profile }),
      });
    });
    assertLaw(property, 200);
  });
});
