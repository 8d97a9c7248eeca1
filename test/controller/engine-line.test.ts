import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { EngineLine } from "../../src/controller/engine-line.js";
import { FakeClock } from "../support/fake-clock.js";

/** A line of so many engines, whose runs end when they are told to. */
class Runs {
  readonly clock = new FakeClock(0, "manual");
  readonly begun: string[] = [];
  readonly waited: number[] = [];
  readonly line: EngineLine;
  private readonly ends = new Map<string, () => void>();

  constructor(engines: number) {
    const onBegin = (ms: number) => void this.waited.push(ms);
    this.line = new EngineLine({ engines, clock: this.clock, onBegin });
  }

  async ask(...stacks: string[]): Promise<void> {
    for (const stack of stacks) {
      void this.line.inTurn(stack, () => {
        this.begun.push(stack);
        return new Promise<void>((end) => this.ends.set(stack, end));
      });
    }
    await turn();
  }

  async end(stack: string): Promise<void> {
    this.ends.get(stack)?.();
    await turn();
  }
}

describe("the line for engines", () => {
  it("keeps an engine for namespaces that have none, whose calls may hang as they like", async () => {
    const runs = new Runs(3);
    await runs.ask("a.one", "a.two", "a.three", "a.four");
    assert.deepEqual(runs.begun, ["a.one", "a.two"]);
    // An hour later nothing of a has been answered, and b goes on at once, change after change.
    runs.clock.advance(3_600_000);
    await runs.ask("b.one");
    await runs.end("b.one");
    await runs.ask("b.two");
    assert.deepEqual(runs.begun, ["a.one", "a.two", "b.one", "b.two"]);
    assert.deepEqual(runs.waited, [0, 0, 0, 0]);
    // The third is kept for c, then.
    await runs.end("a.one");
    assert.equal(runs.begun.at(-1), "b.two");
    await runs.ask("c.one");
    assert.equal(runs.begun.at(-1), "c.one");
    await runs.end("c.one");
    await runs.end("b.two");
    assert.equal(runs.begun.at(-1), "a.three");
  });

  it("lets the only engine go round", async () => {
    const runs = new Runs(1);
    await runs.ask("a.one", "a.two", "b.one");
    await runs.end("a.one");
    await runs.end("a.two");
    await runs.end("b.one");
    assert.deepEqual(runs.begun.toSorted(), ["a.one", "a.two", "b.one"]);
  });

  it("says how many wait, and since when nothing has moved", async () => {
    const runs = new Runs(2);
    assert.deepEqual(runs.line.state(), { waiting: 0, lastMoveAtMs: 0 });
    await runs.ask("a.one", "a.two", "a.three");
    runs.clock.advance(1_000);
    assert.deepEqual(runs.line.state(), { waiting: 2, lastMoveAtMs: 0 });
    await runs.end("a.one");
    assert.deepEqual(runs.line.state(), { waiting: 1, lastMoveAtMs: 1_000 });
    assert.deepEqual(runs.waited, [0, 1_000]);
  });

  it("goes on after a run that failed", async () => {
    const { line } = new Runs(1);
    await assert.rejects(
      line.inTurn("a.one", () => Promise.reject(new Error("broken"))),
      /broken/,
    );
    assert.equal(await line.inTurn("a.two", () => Promise.resolve(7)), 7);
  });
});
