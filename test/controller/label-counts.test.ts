import assert from "node:assert/strict";
import { LabelCounts } from "../../src/controller/label-counts.js";

describe("Tally", () => {
  it("sums what its owners have, and keeps labels that are gone as 0", () => {
    const labelCounts = new LabelCounts();
    labelCounts.set("a", { missing: 2, changed: 1 });
    labelCounts.set("b", { missing: 1 });
    assert.deepEqual(labelCounts.totals(), { missing: 3, changed: 1 });
    labelCounts.set("a", {});
    assert.deepEqual(labelCounts.totals(), { missing: 1, changed: 0 });
    assert.deepEqual(labelCounts.of("b"), { missing: 1, changed: 0 });
    labelCounts.forget("b");
    assert.deepEqual(labelCounts.totals(), { missing: 0, changed: 0 });
  });

  it("answers by how much each label rose", () => {
    const labelCounts = new LabelCounts();
    assert.deepEqual(labelCounts.set("a", { missing: 2, extra: 0 }), { missing: 2 });
    assert.deepEqual(labelCounts.set("a", { missing: 1, extra: 3 }), { extra: 3 });
    assert.deepEqual(labelCounts.set("a", { missing: 2, extra: 3 }), { missing: 1 });
  });
});
