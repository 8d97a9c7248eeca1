import assert from "node:assert/strict";
import fc from "fast-check";
import { nodeKey } from "../../src/graph/graph.js";
import { alikeWaves } from "../../src/report/wave-runs.js";
import { assertLaw } from "../support/laws.js";

const wave = (name: string, reason: string) => ({ keys: [nodeKey("Host", name)], reason });

function runs(waves: ReturnType<typeof wave>[]): string[] {
  return alikeWaves(waves, (key) => (key.includes("old") ? "delete" : "create")).map(
    ({ first, last, times, keys, reason }) =>
      `${first}-${last} ${times} x ${keys.length / times} ${reason}`,
  );
}

describe("alikeWaves", () => {
  it("tells a few waves one by one", () => {
    assert.deepEqual(runs([wave("a", "x"), wave("b", "x"), wave("c", "x")]), [
      "1-1 1 x 1 x",
      "2-2 1 x 1 x",
      "3-3 1 x 1 x",
    ]);
  });

  it("puts a rollout of one machine at a time together, whatever its reasons count", () => {
    const rollout = Array.from({ length: 500 }, (_, index) =>
      wave(`a-${index}`, `${index} of 500`),
    );
    assert.deepEqual(runs([wave("cp", "first"), ...rollout, wave("old", "last")]), [
      "1-1 1 x 1 first",
      "2-501 500 x 1 0 of 500",
      "502-502 1 x 1 last",
    ]);
  });

  it("keeps waves apart that do other things for the same reason", () => {
    const waves = ["a", "b", "c", "d", "old-a", "old-b", "old-c", "old-d"];
    assert.deepEqual(runs(waves.map((name) => wave(name, "x"))), ["1-4 4 x 1 x", "5-8 4 x 1 x"]);
  });

  it("puts waves together that are done by turns, what is left over by itself", () => {
    const turns = Array.from({ length: 5 }, (_, index) => [
      wave(`a-${index}`, "make room"),
      wave(`old-${index}`, "go"),
    ]).flat();
    assert.deepEqual(runs([...turns, wave("a-5", "make room"), wave("old-cp", "last")]), [
      "1-10 5 x 2 make room; go",
      "11-11 1 x 1 make room",
      "12-12 1 x 1 last",
    ]);
  });

  it("loses no wave and changes no order", () => {
    const names = fc.array(fc.tuple(fc.constantFrom("a", "old"), fc.constantFrom("x", "y")), {
      maxLength: 60,
    });
    assertLaw(
      fc.property(names, (given) => {
        const waves = given.map(([name, reason], index) => wave(`${name}-${index}`, reason));
        const found = alikeWaves(waves, (key) => (key.includes("old") ? "delete" : "create"));
        assert.deepEqual(
          found.flatMap(({ keys }) => keys),
          waves.flatMap(({ keys }) => keys),
        );
        const numbers = found.flatMap(({ first, last }) =>
          Array.from({ length: last - first + 1 }, (_, index) => first + index),
        );
        assert.deepEqual(
          numbers,
          waves.map((_, index) => index + 1),
        );
      }),
    );
  });
});
