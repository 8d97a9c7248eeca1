import type { Clock } from "../../../src/provider/port.js";

/**
 * The time in a simulated cloud: that of a clock, faster by a factor, and moved on by hand. It goes back only where it is
 * set. With a factor of 0 it stands still but for the hand.
 */
export class VirtualClock {
  private startedMs: number;
  private originMs: number;
  private advancedMs = 0;

  /** It starts with the clock's time, or with a later one that was told before: `notBeforeMs`. */
  constructor(
    private readonly clock: Clock,
    private readonly speed = 1,
    notBeforeMs = 0,
  ) {
    this.startedMs = clock.now();
    this.originMs = Math.max(this.startedMs, notBeforeMs);
  }

  /** Milliseconds since the epoch, whole ones. */
  now(): number {
    const passedMs = Math.max(0, this.clock.now() - this.startedMs) * this.speed;
    return Math.floor(this.originMs + passedMs + this.advancedMs);
  }

  advance(ms: number): void {
    this.advancedMs += ms;
  }

  /** From now on it is so late: the time of accounts that are put back. */
  set(nowMs: number): void {
    this.startedMs = this.clock.now();
    this.originMs = nowMs;
    this.advancedMs = 0;
  }

  /** Waits for so many milliseconds of the cloud's own time; of the clock's where the cloud's stands still. */
  async sleep(ms: number): Promise<void> {
    await this.clock.sleep(this.speed === 0 ? ms : ms / this.speed);
  }
}
