import type { Clock } from "../provider/port.js";

/** How long a command has worked: one for all that it shows. The time in which it asks somebody does not count. */
export class Stopwatch {
  private beganAtMs: number;

  constructor(private readonly clock: Pick<Clock, "now">) {
    this.beganAtMs = clock.now();
  }

  elapsedMs(): number {
    return this.clock.now() - this.beganAtMs;
  }

  /** Stands still meanwhile. */
  async except<T>(waiting: () => Promise<T>): Promise<T> {
    const stoppedAtMs = this.clock.now();
    try {
      return await waiting();
    } finally {
      this.beganAtMs += this.clock.now() - stoppedAtMs;
    }
  }
}
