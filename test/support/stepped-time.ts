import { setImmediate as turn } from "node:timers/promises";
import type { Clock } from "../../src/provider/port.js";

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/** Turns of the event loop in which everything that does not sleep has come to rest: nothing here waits for a socket. */
const turnsToRest = 4;

/**
 * Time that passes only while everybody sleeps, and then until the first of them wakes: many who wait at once wait as they would
 * by a clock on the wall, and a test of hours takes no time.
 */
export class SteppedTime {
  private sleepers: Sleeper[] = [];

  /** `advance` moves a time on that others have as well. */
  constructor(
    private readonly nowMs: () => number,
    private readonly advance: (ms: number) => void,
  ) {}

  readonly clock: Clock = {
    now: () => this.nowMs(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        signal?.throwIfAborted();
        const leave = () => {
          this.sleepers = this.sleepers.filter((one) => one !== sleeper);
          reject(signal?.reason as Error);
        };
        const wake = () => {
          signal?.removeEventListener("abort", leave);
          resolve();
        };
        const sleeper = { untilMs: this.nowMs() + ms, wake };
        this.sleepers.push(sleeper);
        signal?.addEventListener("abort", leave, { once: true });
      }),
  };

  /** What the work answers; time passes as it needs it. */
  async run<Answer>(work: Promise<Answer>): Promise<Answer> {
    let isOver = false;
    const end = () => {
      isOver = true;
    };
    work.then(end, end);
    for (;;) {
      for (let rest = 0; rest < turnsToRest; rest += 1) await turn();
      if (isOver) return work;
      this.toTheNext();
    }
  }

  private toTheNext(): void {
    const nextMs = Math.min(...this.sleepers.map(({ untilMs }) => untilMs));
    if (!Number.isFinite(nextMs)) return;
    this.advance(Math.max(0, nextMs - this.nowMs()));
    const due = this.sleepers.filter(({ untilMs }) => untilMs <= this.nowMs());
    this.sleepers = this.sleepers.filter(({ untilMs }) => untilMs > this.nowMs());
    for (const { wake } of due) wake();
  }
}
