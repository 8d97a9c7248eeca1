import assert from "node:assert/strict";
import { type Backoff, backoffMs } from "../../src/provider/backoff.js";

const doubling: Backoff = { firstMs: 1_000, factor: 2, maxMs: 60_000 };
const jittered: Backoff = { firstMs: 1_000, factor: 2, maxMs: 60_000, jitter: 0.25 };

describe("backoffMs", () => {
  it("begins with the first wait and grows by the factor up to the longest wait", () => {
    const waits = [1, 2, 3, 4, 5, 6, 7, 8].map((failures) => backoffMs(doubling, failures));
    assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]);
  });

  it("answers in whole milliseconds, not too early", () => {
    const slow: Backoff = { firstMs: 25, factor: 1.5, maxMs: 1_000 };
    const waits = [1, 2, 3, 4].map((failures) => backoffMs(slow, failures));
    assert.deepEqual(waits, [25, 38, 57, 85]);
  });

  it("never overflows", () => assert.equal(backoffMs(doubling, 5_000), 60_000));

  it("stays the same with a factor of 1", () => {
    const steady: Backoff = { firstMs: 200, factor: 1, maxMs: 1_000 };
    assert.equal(backoffMs(steady, 9), 200);
  });

  for (const { name, backoff, failures, draw, want } of [
    {
      name: "takes nothing off for the lowest draw",
      backoff: jittered,
      failures: 3,
      draw: 0,
      want: 4_000,
    },
    {
      name: "takes off what the draw says",
      backoff: jittered,
      failures: 3,
      draw: 0.5,
      want: 3_500,
    },
    {
      name: "takes off at most the part that is left to chance",
      backoff: jittered,
      failures: 3,
      draw: 0.9999,
      want: 3_001,
    },
    {
      name: "takes it off the longest wait too",
      backoff: jittered,
      failures: 90,
      draw: 0.5,
      want: 52_500,
    },
    {
      name: "leaves nothing to chance without jitter",
      backoff: doubling,
      failures: 3,
      draw: 0.9,
      want: 4_000,
    },
  ]) {
    it(name, () => assert.equal(backoffMs(backoff, failures, draw), want));
  }
});
