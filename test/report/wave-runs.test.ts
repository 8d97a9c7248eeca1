import assert from "node:assert/strict";
import { nodeKey } from "../../src/graph/graph.js";
import { alikeWaves } from "../../src/report/wave-runs.js";

const wave = (name: string, reason: string) => ({ keys: [nodeKey("Host", name)], reason });

function runs(waves: ReturnType<typeof wave>[]): string[] {
  return alikeWaves(waves, (key) => (key.includes("old") ? "delete" : "create")).map(
    ({ first, last, keys, reason }) => `${first}-${last} ${keys.length} ${reason}`,
  );
}

describe("alikeWaves", () => {
  it("tells a few waves one by one", () => {
    assert.deepEqual(runs([wave("a", "x"), wave("b", "x"), wave("c", "x")]), [
      "1-1 1 x",
      "2-2 1 x",
      "3-3 1 x",
    ]);
  });

  it("puts a rollout of one machine at a time together, whatever its reasons count", () => {
    const rollout = Array.from({ length: 500 }, (_, index) =>
      wave(`a-${index}`, `${index} of 500`),
    );
    assert.deepEqual(runs([wave("cp", "first"), ...rollout, wave("old", "last")]), [
      "1-1 1 first",
      "2-501 500 0 of 500",
      "502-502 1 last",
    ]);
  });

  it("keeps waves apart that do other things for the same reason", () => {
    const waves = ["a", "b", "c", "d", "old-a", "old-b", "old-c", "old-d"];
    assert.deepEqual(runs(waves.map((name) => wave(name, "x"))), ["1-4 4 x", "5-8 4 x"]);
  });
});
