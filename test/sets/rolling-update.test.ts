import assert from "node:assert/strict";
import { type ScaleStep, reasonText, type SetCounts } from "../../src/sets/counts.js";
import type { Profile } from "../../src/api/set-profile.js";
import {
  planRollout,
  type RolloutMachine,
  rolloutSteps,
  type RolloutSet,
} from "../../src/sets/rollout.js";

/** A set in numbers: spec, status.replicas, status.availableReplicas. */
function set(name: string, [replicas, existing, available]: [number, number, number]): SetCounts {
  return { name, replicas, existing, available };
}

function shown(steps: readonly ScaleStep[]): string[] {
  return steps.map((step) => `${step.set} ${step.from} -> ${step.to}: ${reasonText(step.reason)}`);
}

interface StepCase {
  name: string;
  /** Its replicas, maxSurge and maxUnavailable. */
  bounds: [number, number, number];
  newSet: [number, number, number];
  old: [number, number, number][];
  /** The steps, or those of each profile. */
  want: string[] | Record<Profile, string[]>;
}

const cases: StepCase[] = [
  {
    name: "grows the new set and waits for it",
    bounds: [3, 1, 0],
    newSet: [0, 0, 0],
    old: [[3, 3, 3]],
    want: ["new 0 -> 1: 3 machines < 3 desired + 1 surge"],
  },
  {
    name: "counts machines that are being deleted today, and did not",
    bounds: [3, 1, 0],
    newSet: [1, 1, 1],
    old: [[2, 3, 2]],
    want: { v1alpha1: ["new 1 -> 2: 3 machines < 3 desired + 1 surge"], modern: [] },
  },
  {
    name: "takes available machines away and makes new ones in one round where both are allowed",
    bounds: [10, 2, 3],
    newSet: [0, 0, 0],
    old: [[10, 10, 10]],
    want: [
      "new 0 -> 2: 10 machines < 10 desired + 2 surge",
      "old-1 10 -> 7: 10 available > 7 that have to be",
    ],
  },
  {
    name: "stops at new machines that do not come up",
    bounds: [10, 0, 2],
    newSet: [2, 2, 0],
    old: [[8, 8, 6]],
    want: [],
  },
  {
    name: "removes broken old machines at once where the set is trusted, by ones where it is not",
    bounds: [4, 1, 0],
    newSet: [1, 1, 1],
    old: [[4, 4, 2]],
    want: {
      v1alpha1: ["old-1 4 -> 3: no available machine is touched"],
      modern: ["old-1 4 -> 3: 2 unavailable in the old set, and nothing else can move"],
    },
  },
  {
    name: "goes from old to older sets only after the oldest are gone",
    bounds: [4, 2, 0],
    newSet: [2, 2, 2],
    old: [
      [1, 1, 1],
      [3, 3, 3],
    ],
    want: {
      v1alpha1: [
        "old-1 1 -> 0: 6 available > 4 that have to be",
        "old-2 3 -> 2: 6 available > 4 that have to be",
      ],
      modern: [
        "old-1 1 -> 0: 6 available > 4 that have to be",
        "old-2 3 -> 2: 5 available > 4 that have to be",
      ],
    },
  },
  {
    name: "leaves missing machines of an old set missing",
    bounds: [3, 1, 0],
    newSet: [2, 2, 2],
    old: [[2, 1, 1]],
    want: ["old-1 2 -> 1: no available machine is touched"],
  },
  {
    name: "removes what is missing, though fewer are available than have to be",
    bounds: [6, 2, 0],
    newSet: [4, 4, 4],
    old: [[4, 2, 1]],
    want: ["old-1 4 -> 2: no available machine is touched"],
  },
  {
    name: "shrinks a new set that is too large",
    bounds: [2, 1, 0],
    newSet: [5, 5, 5],
    old: [[1, 1, 1]],
    want: ["new 5 -> 2: 2 desired", "old-1 1 -> 0: 6 available > 2 that have to be"],
  },
];

describe("a round of a rolling update", () => {
  for (const { name, bounds, newSet, old, want } of cases) {
    for (const profile of ["v1alpha1", "modern"] as const) {
      it(`${name} (${profile})`, () => {
        const [replicas, maxSurge, maxUnavailable] = bounds;
        const rollingUpdate = { maxSurge, maxUnavailable };
        const steps = rolloutSteps({
          bounds: { replicas, strategy: { type: "RollingUpdate", rollingUpdate } },
          newSet: set("new", newSet),
          oldSets: old.map((counts, index) => set(`old-${index + 1}`, counts)),
          profile,
        });
        assert.deepEqual(shown(steps), Array.isArray(want) ? want : want[profile]);
      });
    }
  }

  it("goes by age before it goes by name", () => {
    const steps = rolloutSteps({
      bounds: { replicas: 2 },
      newSet: set("new", [1, 1, 1]),
      oldSets: [
        { ...set("a", [1, 1, 1]), createdAtMs: 2_000 },
        { ...set("b", [1, 1, 1]), createdAtMs: 1_000 },
      ],
      profile: "modern",
    });
    assert.deepEqual(shown(steps), ["b 1 -> 0: 3 available > 2 that have to be"]);
  });
});

describe("a rollout", () => {
  const machine = (name: string, about: Partial<RolloutMachine> = {}): RolloutMachine => ({
    name,
    deleting: false,
    ready: true,
    available: true,
    ...about,
  });
  const sets = (now: Partial<RolloutMachine>): RolloutSet[] => [
    {
      name: "old",
      isNew: false,
      replicas: 3,
      machines: ["a", "b", "c"].map((name) => machine(name)),
    },
    { name: "new", isNew: true, replicas: 1, machines: [machine("d", now)] },
  ];

  it("goes on once the new machine is available, and says what it waits for until then", () => {
    const waiting = planRollout({
      deployment: { replicas: 3 },
      sets: sets({ available: false }),
      profile: "modern",
    });
    assert.deepEqual([...waiting.scale], []);
    assert.deepEqual(waiting.holds, [
      { kind: "atSurgeLimit", current: 4, desired: 3, surge: 1 },
      { kind: "newMachinesUnavailable", unavailable: 1 },
      { kind: "atMinimumAvailable", available: 3, minimum: 3 },
    ]);
    const going = planRollout({ deployment: { replicas: 3 }, sets: sets({}), profile: "modern" });
    assert.deepEqual([...going.scale], [["old", 2]]);
  });

  it("takes a machine that is being deleted for one that is not available, in both profiles", () => {
    for (const profile of ["v1alpha1", "modern"] as const) {
      const plan = planRollout({
        deployment: { replicas: 3 },
        sets: sets({ deleting: true }),
        profile,
      });
      assert.equal(plan.scale.get("old"), undefined, profile);
    }
  });

  it("does not begin while it is paused, and needs no set of its own template for that", () => {
    const paused = { replicas: 3, paused: true };
    const [old] = sets({});
    assert.ok(old !== undefined);
    const plan = planRollout({ deployment: paused, sets: [old], profile: "v1alpha1" });
    assert.deepEqual([[...plan.scale], plan.holds], [[], [{ kind: "paused" }]]);
    assert.throws(() =>
      planRollout({ deployment: { replicas: 3 }, sets: [old], profile: "v1alpha1" }),
    );
  });

  it("OnDelete waits for a user, and makes nothing again in old sets", () => {
    const deployment = { replicas: 4, strategy: { type: "OnDelete" as const } };
    const waiting = planRollout({ deployment, sets: sets({}), profile: "modern" });
    assert.deepEqual(waiting, {
      scale: new Map(),
      steps: [],
      holds: [{ kind: "waitsForDeletions", machines: 3 }],
      noCreation: ["old"],
    });
    const [old, recent] = sets({});
    assert.ok(old !== undefined && recent !== undefined);
    const gone = { ...old, machines: old.machines.slice(1) };
    const freed = planRollout({ deployment, sets: [gone, recent], profile: "modern" });
    assert.deepEqual(shown(freed.steps), ["old 3 -> 2: 2 left after deletions by a user"]);
    const next = planRollout({
      deployment,
      sets: [{ ...gone, replicas: 2 }, recent],
      profile: "modern",
    });
    assert.deepEqual(shown(next.steps), ["new 1 -> 2: 3 machines < 4 desired"]);
  });

  it("OnDelete gives up what a user deleted and what is no longer wanted in one round", () => {
    const [old, recent] = sets({});
    assert.ok(old !== undefined && recent !== undefined);
    const plan = planRollout({
      deployment: { replicas: 2, strategy: { type: "OnDelete" } },
      sets: [{ ...old, machines: old.machines.slice(1) }, recent],
      profile: "modern",
    });
    assert.deepEqual(shown(plan.steps), [
      "old 3 -> 2: 2 left after deletions by a user",
      "old 2 -> 1: 2 desired",
    ]);
  });
});
