import assert from "node:assert/strict";
import {
  type OverwriteBackoff,
  overwriteBackoffAfter,
} from "../../src/controller/overwrite-backoff.js";

/** Who writes over us does so right after each of our writes, `times` times. */
function waits(times: number): number[] {
  let [nowMs, overwriteBackoff]: [number, OverwriteBackoff | undefined] = [1_000_000, undefined];
  return Array.from({ length: times }, () => {
    overwriteBackoff = overwriteBackoffAfter(overwriteBackoff, nowMs);
    const waitMs = overwriteBackoff.againAtMs - nowMs;
    nowMs = overwriteBackoff.againAtMs + 50;
    return waitMs;
  });
}

describe("overwriteBackoffAfter", () => {
  it("puts right at once what was written over once, then waits twice as long each time", () => {
    assert.deepEqual(waits(5), [0, 1_000, 2_000, 4_000, 8_000]);
  });

  it("never gives in, and never hurries again while it lasts", () => {
    assert.deepEqual(waits(14).slice(-3), [300_000, 300_000, 300_000]);
  });

  it("forgets one that has been over for a while", () => {
    const old: OverwriteBackoff = { times: 9, againAtMs: 1_000 };
    assert.equal(overwriteBackoffAfter(old, 1_000 + 3_600_000).times, 1);
    assert.equal(overwriteBackoffAfter(old, 1_000 + 60_000).times, 10);
  });
});
