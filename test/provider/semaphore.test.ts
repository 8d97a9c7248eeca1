import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { Semaphore } from "../../src/provider/semaphore.js";

describe("Turns", () => {
  it("lets no more than its limit work, in the order in which they came", async () => {
    const semaphore = new Semaphore(2);
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const works = [0, 1, 2, 3].map((number) =>
      semaphore.take(() => {
        begun.push(number);
        return new Promise<void>((end) => (ends[number] = end));
      }),
    );
    await turn();
    assert.deepEqual(begun, [0, 1]);
    ends[1]?.();
    await turn();
    assert.deepEqual(begun, [0, 1, 2]);
    ends[0]?.();
    await turn();
    for (const end of ends) end();
    await Promise.all(works);
    assert.deepEqual(begun, [0, 1, 2, 3]);
  });

  it("goes on after work that failed, and hands the failure on", async () => {
    const semaphore = new Semaphore(1);
    await assert.rejects(
      semaphore.take(() => Promise.reject(new Error("broken"))),
      /broken/,
    );
    assert.equal(await semaphore.take(() => Promise.resolve(7)), 7);
  });
});
