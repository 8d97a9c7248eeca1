import assert from "node:assert/strict";
import fc from "fast-check";
import { type InPlaceMachine, planInPlace } from "../../src/sets/in-place.js";
import { assertLaw } from "../support/laws.js";

const bounds = (replicas: number, maxUnavailable: number) => ({
  replicas,
  strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable } },
});

function machine(name: string, about: Partial<InPlaceMachine> = {}): InPlaceMachine {
  return { name, available: true, deleting: false, updating: false, outdated: true, ...about };
}

describe("updates in place", () => {
  const cases = [
    {
      name: "go one by one at least",
      given: [machine("a"), machine("b")],
      missing: 0,
      want: ["a"],
    },
    {
      name: "go as many at once as may be missing",
      given: [machine("a"), machine("b"), machine("c")],
      missing: 2,
      want: ["a", "b"],
    },
    {
      name: "begin with what is broken anyway",
      given: [machine("a"), machine("b", { available: false })],
      missing: 0,
      want: ["b"],
    },
    {
      name: "wait for one that is under way",
      given: [machine("a", { updating: true, available: false }), machine("b")],
      missing: 0,
      want: [],
    },
    {
      name: "stop at one that did not come back",
      given: [machine("a", { outdated: false, available: false }), machine("b")],
      missing: 1,
      want: [],
    },
    {
      name: "leave alone what follows already or is going",
      given: [machine("a", { outdated: false }), machine("b", { deleting: true }), machine("c")],
      missing: 2,
      want: ["c"],
    },
  ];
  for (const { name, given, missing, want } of cases) {
    it(name, () => {
      assert.deepEqual(planInPlace(bounds(given.length, missing), given).start, want);
    });
  }

  it("never take more than the limit, and all get there", () => {
    const availabilities = fc.array(fc.boolean(), { maxLength: 12 });
    const property = fc.property(
      availabilities,
      fc.nat({ max: 14 }),
      (available, maxUnavailable) => {
        let machines = available.map((is, index) => machine(`m${index}`, { available: is }));
        const limit = Math.max(1, Math.min(maxUnavailable, machines.length));
        const serving = () => machines.filter((one) => one.available && !one.updating).length;
        for (let round = 0; round <= machines.length; round += 1) {
          const before = serving();
          const { start } = planInPlace(bounds(machines.length, maxUnavailable), machines);
          machines = machines.map((one) =>
            start.includes(one.name) ? { ...one, updating: true } : one,
          );
          assert.ok(machines.filter(({ updating }) => updating).length <= limit);
          assert.ok(serving() >= Math.min(before, machines.length - limit));
          machines = machines.map((one) =>
            one.updating ? { ...one, updating: false, outdated: false, available: true } : one,
          );
        }
        assert.deepEqual(
          machines.filter(({ outdated }) => outdated),
          [],
        );
      },
    );
    assertLaw(property, 300);
  });
});
