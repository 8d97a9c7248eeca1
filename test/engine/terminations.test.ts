import assert from "node:assert/strict";
import type { ResourceEvent } from "../../src/dynamic/resource-event.js";
import { Terminations } from "../../src/engine/run/terminations.js";
import type { NodeKey } from "../../src/graph/graph.js";

const host = "LocalHost/web-1" as NodeKey;
const none: ReadonlySet<NodeKey> = new Set();
const there: ReadonlySet<NodeKey> = new Set([host]);
const accepted: ResourceEvent = {
  operation: "delete",
  state: "waiting",
  kind: "LocalHost",
  name: "web-1",
};
const refused: ResourceEvent = { ...accepted, code: "IN_USE", message: "eni-1 is in its way" };

/** After so many passes in a row that have put the same deletion off, the first of them at 0 ms. */
function after(passes: number, event: ResourceEvent = accepted): Terminations {
  const terminations = new Terminations(600_000);
  for (let pass = 0; pass < passes; pass += 1) {
    terminations.beginPass();
    terminations.putOff(event, pass * 1_000);
    terminations.endPass(false);
  }
  return terminations;
}

describe("deletions that are put off", () => {
  it("are asked for again at once when nothing of them is there", () => {
    assert.equal(after(1).isDue(none, 0), true);
    assert.equal(after(1).isDue(there, 59_000), false);
  });

  it("are asked for later and later where the cloud shows that and a deletion finds otherwise", () => {
    const first = [1, 2, 3, 4].map((passes) => {
      const terminations = after(passes);
      return [0, 1_000, 2_000, 4_000, 8_000].find((ms) => terminations.isDue(none, ms));
    });
    assert.deepEqual(first, [0, 2_000, 4_000, 8_000]);
  });

  it("are asked for again where the answer of the first time was lost", () => {
    assert.equal(after(1).isDue(there, 60_000), true);
  });

  it("are asked for later and later where the cloud refuses them, half a minute at most", () => {
    assert.equal(after(1, refused).isDue(there, 999), false);
    assert.equal(after(1, refused).isDue(there, 1_000), true);
    assert.equal(after(3, refused).isDue(there, 3_999), false);
    assert.equal(after(30, refused).isDue(there, 30_000), true);
  });

  it("begin anew after a pass in which all were done", () => {
    const terminations = after(5, refused);
    terminations.beginPass();
    terminations.endPass(false);
    terminations.putOff(refused, 9_000);
    terminations.endPass(false);
    assert.equal(terminations.isDue(there, 1_000), true);
  });

  it("begin anew after a pass in which others were deleted", () => {
    const terminations = after(5, refused);
    terminations.beginPass();
    terminations.putOff(refused, 9_000);
    terminations.endPass(true);
    assert.equal(terminations.isDue(there, 999), false);
    assert.equal(terminations.isDue(there, 1_000), true);
    assert.equal(terminations.isDue(none, 0), true);
  });

  it("fail after the time that a deletion has, from when it was first asked for", () => {
    assert.deepEqual(after(9).overdue(600_000), []);
    const [late] = after(9).overdue(600_001);
    assert.deepEqual(
      [late?.state, late?.code, late?.message],
      ["failed", "DEADLINE", "gave up waiting for LocalHost web-1 to go away after 600 s"],
    );
    const [blocked] = after(9, refused).overdue(600_001);
    assert.deepEqual([blocked?.code, blocked?.message], ["IN_USE", "eni-1 is in its way"]);
  });

  it("are named, and not all of many", () => {
    assert.equal(after(1).reason(), "the cloud is deleting LocalHost web-1");
    const many = new Terminations(1);
    for (const name of ["a", "b", "c", "d", "e"]) many.putOff({ ...accepted, name }, 0);
    assert.equal(
      many.reason(),
      "the cloud is deleting LocalHost a, LocalHost b, LocalHost c, 2 more",
    );
  });
});
