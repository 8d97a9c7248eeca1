import assert from "node:assert/strict";
import { deadlineAtMs, noDeadlineMs } from "../../src/plan/deadline.js";

describe("the deadline of a transaction", () => {
  it("is so long after its beginning", () => {
    assert.equal(deadlineAtMs(1_000, 3_600_000), 3_601_000);
  });

  it("is a number that JSON has, also where there is none", () => {
    const atMs = deadlineAtMs(1_000, noDeadlineMs);
    assert.equal(JSON.parse(JSON.stringify(atMs)), atMs);
  });
});
