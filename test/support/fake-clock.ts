import type { Clock } from "../../src/provider/port.js";

interface Sleeper {
  readonly untilMs: number;
  readonly wake: () => void;
}

/**
 * A clock that tests move. By default whoever sleeps moves it on, so that nothing ever waits; with
 * `manual` sleepers stay until `advance` reaches them.
 */
export class FakeClock implements Clock {
  private sleepers: Sleeper[] = [];
  /** How long each sleep was asked for, in order. */
  readonly slept: number[] = [];

  constructor(
    private nowMs = 1_000_000,
    private readonly mode: "self" | "manual" = "self",
  ) {}

  now(): number {
    return this.nowMs;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.slept.push(ms);
    if (this.mode === "self") return this.advance(ms);
    await new Promise<void>((resolve, reject) => {
      const leave = () => reject(signal?.reason as Error);
      const wake = () => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      this.sleepers.push({ untilMs: this.nowMs + ms, wake });
      signal?.addEventListener("abort", leave, { once: true });
    });
  }

  advance(ms: number): void {
    this.nowMs += ms;
    const due = this.sleepers.filter(({ untilMs }) => untilMs <= this.nowMs);
    this.sleepers = this.sleepers.filter(({ untilMs }) => untilMs > this.nowMs);
    for (const { wake } of due) wake();
  }
}
