import assert from "node:assert/strict";
import fc from "fast-check";
import { deleteMachineAnnotation } from "../../src/api/delete-marks.js";
import { type DeletionCandidate, selectForDeletion } from "../../src/sets/deletion-order.js";
import type { Profile } from "../../src/api/set-profile.js";
import { assertLaw } from "../support/laws.js";

const nowMs = Date.parse("2024-06-15T12:00:00Z");
const dayMs = 86_400_000;

const candidates = fc.uniqueArray(
  fc.record({
    name: fc.string({ minLength: 1, maxLength: 4 }),
    createdAtMs: fc.integer({ min: nowMs - 40 * dayMs, max: nowMs - 1000 }),
    deleting: fc.boolean(),
    ready: fc.boolean(),
    marked: fc.boolean(),
    failed: fc.boolean(),
  }),
  { selector: ({ name }) => name, maxLength: 12 },
);

const requests = fc.record({
  profile: fc.constantFrom<Profile[]>("v1alpha1", "modern"),
  policy: fc.constantFrom("Random" as const, "Newest" as const, "Oldest" as const),
  count: fc.integer({ min: -2, max: 15 }),
  drawn: candidates,
});

function machinesOf(profile: Profile, drawn: readonly { marked: boolean; failed: boolean }[]) {
  return drawn.map(({ marked, failed, ...machine }) => ({
    ...(machine as unknown as DeletionCandidate),
    annotations: marked ? { [deleteMachineAnnotation[profile]]: "yes" } : {},
    ...(failed && { errorReason: "CreateError" }),
  }));
}

describe("laws of the deletion order", () => {
  it("picks as many as asked, never more than there are, and each once", () => {
    const property = fc.property(requests, ({ profile, policy, count, drawn }) => {
      const machines = machinesOf(profile, drawn);
      const picked = selectForDeletion({ profile, policy, count, machines, nowMs });
      assert.equal(picked.length, Math.min(Math.max(count, 0), machines.length));
      assert.equal(new Set(picked).size, picked.length);
    });
    assertLaw(property, 300);
  });

  it("asked for more, it picks the same first, whatever the order in which they are given", () => {
    const property = fc.property(requests, ({ profile, policy, count, drawn }) => {
      const machines = machinesOf(profile, drawn);
      const all = selectForDeletion({ profile, policy, count: machines.length, machines, nowMs });
      const turned = machines.toReversed();
      const picked = selectForDeletion({ profile, policy, count, machines: turned, nowMs });
      assert.deepEqual(picked, all.slice(0, Math.max(count, 0)));
    });
    assertLaw(property, 300);
  });

  it("never picks one that nothing speaks against before one that is deleted, marked or broken", () => {
    const property = fc.property(requests, ({ profile, policy, count, drawn }) => {
      const machines = machinesOf(profile, drawn);
      const picked = selectForDeletion({ profile, policy, count, machines, nowMs });
      const left = machines.filter((machine) => !picked.includes(machine));
      const isSpared = (machine: DeletionCandidate) =>
        !machine.deleting &&
        Object.keys(machine.annotations ?? {}).length === 0 &&
        (profile === "modern" ? machine.ready === true : machine.errorReason === undefined);
      assert.ok(!picked.some(isSpared) || left.every(isSpared));
    });
    assertLaw(property, 300);
  });

  it("among spared machines goes by age when the policy says so", () => {
    const property = fc.property(requests, ({ profile, policy, count, drawn }) => {
      if (policy === "Random") return;
      const spared = drawn.map((one) => ({
        ...one,
        deleting: false,
        ready: true,
        marked: false,
        failed: false,
      }));
      const machines = machinesOf(profile, spared);
      const ages = selectForDeletion({ profile, policy, count, machines, nowMs }).map(
        ({ createdAtMs }) => createdAtMs ?? 0,
      );
      const sorted = [...ages].sort((left, right) =>
        policy === "Oldest" ? left - right : right - left,
      );
      assert.deepEqual(ages, sorted);
    });
    assertLaw(property, 300);
  });
});
