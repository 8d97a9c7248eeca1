import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { turnOf } from "../../src/provider/fair-line.js";
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

  it("lets namespaces take turns, and their clusters, however many wait of one", async () => {
    const semaphore = new Semaphore(1);
    const order: string[] = [];
    const keys = ["a/x", "a/x", "a/y", "a/x", "b/z", "b/z", "c/w"];
    const works = keys.map((key) =>
      semaphore.take(() => {
        order.push(key);
        return turn();
      }, turnOf(key)),
    );
    await Promise.all(works);
    assert.deepEqual(order, ["a/x", "a/x", "b/z", "c/w", "a/y", "b/z", "a/x"]);
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
