import assert from "node:assert/strict";
import { ServedTime, slowdownOf } from "./served-time.js";

/** When a deadline is reached on a machine with such a load in each second, seconds. */
function reachedAfter(deadlineMs: number, loadAt: (second: number) => number): number {
  let nowMs = 0;
  const slowdown = () => slowdownOf(loadAt(nowMs / 1_000), 2);
  const time = new ServedTime({ nowMs: () => nowMs, slowdown });
  while (time.elapsedMs() < deadlineMs) nowMs += 1_000;
  return nowMs / 1_000;
}

describe("a deadline of a test", () => {
  it("is as long as it says on an idle machine", () => {
    assert.equal(
      reachedAfter(240_000, () => 0),
      240,
    );
    assert.equal(
      reachedAfter(240_000, () => 2),
      240,
    );
  });

  it("grows with the tasks that share a processor, so that load is no hang", () => {
    assert.equal(
      reachedAfter(240_000, () => 20),
      2_400,
    );
  });

  it("counts each stretch as the machine was then", () => {
    assert.equal(
      reachedAfter(240_000, (second) => (second <= 200 ? 0 : 8)),
      200 + 40 * 4,
    );
  });

  it("is reached where a command hangs and the load is over", () => {
    assert.ok(Number.isFinite(reachedAfter(240_000, (second) => (second < 600 ? 50 : 0))));
  });
});
