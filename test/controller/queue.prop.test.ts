import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { KeyedQueue, type WorkOutcome } from "../../src/controller/queue.js";
import { FakeClock } from "../support/fake-clock.js";
import { assertAsyncLaw } from "../support/laws.js";

type Step =
  | { readonly kind: "add" | "addChanged" | "addAfter"; readonly key: string; readonly ms: number }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "finish"; readonly outcome: WorkOutcome };

const keys = fc.constantFrom("a", "b", "c", "d");
const millis = fc.nat({ max: 20_000 });

const outcomes: fc.Arbitrary<WorkOutcome> = fc.oneof(
  fc.constant<WorkOutcome>({ kind: "done" }),
  fc.constant<WorkOutcome>({ kind: "failed" }),
  millis.map((ms): WorkOutcome => ({ kind: "retryAfter", ms })),
);

const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom("add", "addChanged", "addAfter"), key: keys, ms: millis }),
  fc.record({ kind: fc.constant("advance"), ms: millis }),
  fc.record({ kind: fc.constant("finish"), outcome: outcomes }),
);

/** A queue with workers whose work ends when the test says so. */
class Rig {
  readonly clock = new FakeClock(0, "manual");
  readonly queue: KeyedQueue;
  /** Every run, by key: when it started. */
  readonly runs: { readonly key: string; readonly atMs: number }[] = [];
  readonly working = new Map<string, (outcome: WorkOutcome) => void>();
  private readonly stop = new AbortController();
  private readonly work: Promise<void>;

  constructor(workers: number, random: () => number) {
    this.queue = new KeyedQueue({ clock: this.clock, random });
    this.work = this.queue.work(workers, this.stop.signal, (key) => {
      assert.ok(!this.working.has(key), `two workers on ${key}`);
      this.runs.push({ key, atMs: this.clock.now() });
      return new Promise((finish) => this.working.set(key, finish));
    });
  }

  async finish(outcome: WorkOutcome): Promise<void> {
    const [first] = this.working;
    if (first === undefined) return;
    const [key, end] = first;
    this.working.delete(key);
    end(outcome);
    await turn();
  }

  async advance(ms: number): Promise<void> {
    this.clock.advance(ms);
    await turn();
  }

  async close(): Promise<void> {
    this.stop.abort();
    while (this.working.size > 0) await this.finish({ kind: "done" });
    await this.work;
  }
}

describe("KeyedQueue, laws", () => {
  it("loses nothing: what was added is worked on from then on, by one worker at a time", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.array(steps, { maxLength: 60 }),
        async (workers, history) => {
          const rig = new Rig(workers, () => 0.5);
          /** How many runs of the key had started when it was last added. */
          const owed = new Map<string, number>();
          const runsOf = (key: string) => rig.runs.filter((run) => run.key === key).length;
          for (const step of history) {
            if (step.kind === "advance") await rig.advance(step.ms);
            else if (step.kind === "finish") await rig.finish(step.outcome);
            else {
              owed.set(step.key, runsOf(step.key));
              if (step.kind === "addAfter") rig.queue.addAfter(step.key, step.ms);
              else rig.queue[step.kind](step.key);
              await turn();
            }
            assert.ok(rig.working.size <= workers);
          }
          for (let round = 0; round < 400 && owed.size > 0; round++) {
            await rig.finish({ kind: "done" });
            await rig.advance(2_000);
            for (const [key, before] of owed) if (runsOf(key) > before) owed.delete(key);
          }
          assert.deepEqual([...owed.keys()], []);
          await rig.close();
        },
      ),
      200,
    );
  });

  it("never runs hot: a key that always fails runs less and less, however often it is added", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(
        fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { minLength: 1, maxLength: 20 }),
        fc.integer({ min: 10, max: 900 }),
        async (draws, everyMs) => {
          let drawn = 0;
          const rig = new Rig(2, () => draws[drawn++ % draws.length] ?? 0);
          for (let ms = 0; ms < 1_200_000; ms += everyMs * 10) {
            rig.queue.add("a");
            rig.queue.addAfter("a", everyMs);
            await turn();
            await rig.finish({ kind: "failed" });
            await rig.advance(everyMs * 10);
          }
          const inMinute = (minute: number) =>
            rig.runs.filter(({ atMs }) => Math.floor(atMs / 60_000) === minute).length;
          assert.ok(inMinute(0) <= 8, `${inMinute(0)} runs in the first minute`);
          for (let minute = 5; minute < 20; minute++) {
            assert.ok(inMinute(minute) <= 1, `${inMinute(minute)} runs in minute ${minute}`);
          }
          assert.ok(rig.runs.length >= 8, "and it is never given up");
          await rig.close();
        },
      ),
      20,
    );
  });

  it("is fair: a key that is well waits for each other key once, however those fare", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(
        fc.array(fc.record({ outcome: outcomes, ms: fc.nat({ max: 3_000 }) }), { minLength: 40 }),
        async (history) => {
          const rig = new Rig(1, () => 0);
          const others = ["a", "b", "c"];
          let askedAfter: number | undefined;
          for (const { outcome, ms } of history) {
            askedAfter ??= rig.runs.length;
            for (const key of ["well", ...others]) rig.queue.add(key);
            await turn();
            const waited = rig.runs.slice(askedAfter).map(({ key }) => key);
            assert.ok(waited.length <= 1 + others.length, `behind ${waited.join(", ")}`);
            const [running] = rig.working.keys();
            if (running === "well") askedAfter = undefined;
            await rig.finish(running === "well" ? { kind: "done" } : outcome);
            await rig.advance(ms);
          }
          await rig.close();
        },
      ),
      100,
    );
  });

  it("does not let keys that always fail delay one that is well", async () => {
    const rig = new Rig(1, () => 0);
    for (let ms = 0; ms < 600_000; ms += 1_000) {
      for (let broken = 0; broken < 50; broken++) rig.queue.add(`broken-${broken}`);
      if (ms % 30_000 === 0) rig.queue.add("well");
      await turn();
      while (rig.working.size > 0) {
        const [key] = rig.working.keys();
        await rig.finish(key === "well" ? { kind: "done" } : { kind: "failed" });
      }
      await rig.advance(1_000);
    }
    const well = rig.runs.filter(({ key }) => key === "well");
    assert.equal(well.length, 20, "each time it was asked for");
    assert.ok(
      well.every(({ atMs }, index) => atMs === index * 30_000),
      "in the same second",
    );
    await rig.close();
  });
});
