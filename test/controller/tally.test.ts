import assert from "node:assert/strict";
import { Tally } from "../../src/controller/tally.js";

describe("Tally", () => {
  it("sums what its owners have, and keeps labels that are gone as 0", () => {
    const tally = new Tally();
    tally.set("a", { missing: 2, changed: 1 });
    tally.set("b", { missing: 1 });
    assert.deepEqual(tally.totals(), { missing: 3, changed: 1 });
    tally.set("a", {});
    assert.deepEqual(tally.totals(), { missing: 1, changed: 0 });
    assert.deepEqual(tally.of("b"), { missing: 1, changed: 0 });
    tally.forget("b");
    assert.deepEqual(tally.totals(), { missing: 0, changed: 0 });
  });

  it("answers by how much each label rose", () => {
    const tally = new Tally();
    assert.deepEqual(tally.set("a", { missing: 2, extra: 0 }), { missing: 2 });
    assert.deepEqual(tally.set("a", { missing: 1, extra: 3 }), { extra: 3 });
    assert.deepEqual(tally.set("a", { missing: 2, extra: 3 }), { missing: 1 });
  });
});
