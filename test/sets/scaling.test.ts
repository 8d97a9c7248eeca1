import assert from "node:assert/strict";
import fc from "fast-check";
import { sumOf } from "../../src/sets/counts.js";
import { scaleWhilePaused, type ScalableSet } from "../../src/sets/scaling.js";
import { assertLaw } from "../support/laws.js";

interface ScalingCase {
  name: string;
  replicas: number;
  surge?: number;
  newSet?: Partial<ScalableSet>;
  old: Partial<ScalableSet>[];
  want: Record<string, number>;
}

function set(name: string, about: Partial<ScalableSet>): ScalableSet {
  const { replicas = 0 } = about;
  return { name, replicas, existing: replicas, available: replicas, ...about };
}

const cases: ScalingCase[] = [
  {
    name: "gives everything to the only set with machines",
    replicas: 7,
    newSet: {},
    old: [{ replicas: 3 }],
    want: { "old-1": 7 },
  },
  {
    name: "gives everything to the new set when none has machines",
    replicas: 7,
    newSet: {},
    old: [{}],
    want: { new: 7 },
  },
  {
    name: "gives everything to the newest when there is no new one",
    replicas: 2,
    old: [{ createdAtMs: 5 }, { createdAtMs: 9 }, { createdAtMs: 7 }],
    want: { "old-2": 2 },
  },
  {
    name: "empties old sets beside a new one that is complete",
    replicas: 4,
    newSet: { replicas: 4 },
    old: [{ replicas: 2 }, { replicas: 1 }],
    want: { "old-1": 0, "old-2": 0 },
  },
  {
    name: "shares out growth by size",
    replicas: 20,
    surge: 0,
    newSet: { replicas: 2, maxReplicas: 10 },
    old: [{ replicas: 8, maxReplicas: 10 }],
    want: { new: 4, "old-1": 16 },
  },
  {
    name: "shares out shrinking by size",
    replicas: 5,
    surge: 0,
    newSet: { replicas: 2, maxReplicas: 10 },
    old: [{ replicas: 8, maxReplicas: 10 }],
    want: { new: 1, "old-1": 4 },
  },
  {
    name: "leaves the rest of rounding to the greatest",
    replicas: 11,
    surge: 0,
    newSet: { replicas: 3, maxReplicas: 9, createdAtMs: 9 },
    old: [
      { replicas: 3, maxReplicas: 9 },
      { replicas: 3, maxReplicas: 9, createdAtMs: 5 },
    ],
    want: { new: 4, "old-2": 4 },
  },
  {
    name: "takes everything away for nothing",
    replicas: 0,
    newSet: { replicas: 2 },
    old: [{ replicas: 3 }],
    want: { new: 0, "old-1": 0 },
  },
  { name: "has nothing to do where there is nothing", replicas: 3, old: [], want: {} },
];

describe("scaling a paused deployment", () => {
  for (const { name, replicas, surge = 1, newSet, old, want } of cases) {
    it(name, () => {
      const steps = scaleWhilePaused({
        bounds: { replicas, strategy: { rollingUpdate: { maxSurge: surge, maxUnavailable: 1 } } },
        newSet: newSet && set("new", newSet),
        oldSets: old.map((about, index) => set(`old-${index + 1}`, about)),
      });
      assert.deepEqual(Object.fromEntries(steps.map(({ set: of, to }) => [of, to])), want);
    });
  }

  it("reaches desired and surge but for rounding, with every set moving the same way", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 2, maxLength: 6 });
    const property = fc.property(
      fc.nat({ max: 60 }),
      fc.nat({ max: 5 }),
      sizes,
      (replicas, surge, all) => {
        const [first = 0, ...rest] = all;
        // One machine of the new set is not available, so that it never counts as complete.
        const newSet = set("new", { replicas: first, available: first - 1 });
        const oldSets = rest.map((size, index) => set(`old-${index}`, { replicas: size }));
        const bounds = {
          replicas,
          strategy: { rollingUpdate: { maxSurge: surge, maxUnavailable: 1 } },
        };
        const steps = scaleWhilePaused({ bounds, newSet, oldSets });
        const before = sumOf(all, (size) => size);
        const limit = replicas === 0 ? 0 : replicas + surge;
        // Small shares round up; the greatest set makes up for it as far as it has machines.
        const excess = before + sumOf(steps, ({ from, to }) => to - from) - limit;
        const isGreatestEmpty = steps.some(({ from, to }) => from === Math.max(...all) && to === 0);
        assert.ok(excess === 0 || (excess > 0 && excess < all.length && isGreatestEmpty));
        for (const { from, to } of steps) {
          assert.ok(to >= 0);
          assert.equal(Math.sign(to - from), Math.sign(limit - before));
        }
      },
    );
    assertLaw(property, 300);
  });
});
