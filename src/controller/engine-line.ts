import { turnOf } from "../provider/fair-line.js";
import type { Clock } from "../provider/port.js";
import { Semaphore } from "../provider/semaphore.js";

/** The line for engines at one moment. */
export interface EngineLineState {
  /** Runs that wait for an engine. */
  readonly waiting: number;
  /** When a run last began or ended; at first when the line was made. */
  readonly lastMoveAtMs: number;
}

interface EngineLineOptions {
  /** Engine processes at the same time; 1 or more. */
  readonly engines: number;
  readonly clock: Pick<Clock, "now">;
  /** Told how long a run has waited for its engine. */
  readonly onBegin?: (waitedMs: number) => void;
}

/**
 * Which cluster has an engine next. Namespaces take turns, and one engine is kept for namespaces that have none: calls that hang hold
 * the engine that waits for them, and no namespace may hold all of them (law 14).
 */
export class EngineLine {
  private readonly semaphore: Semaphore;
  private waiting = 0;
  private lastMoveAtMs: number;

  constructor(private readonly options: EngineLineOptions) {
    const { engines: limit, clock } = options;
    this.semaphore = new Semaphore({ limit, kept: limit > 1 ? 1 : 0 });
    this.lastMoveAtMs = clock.now();
  }

  /** Runs `run` when the stack has an engine. Rejects with what `run` rejects with. */
  async inTurn<T>(stack: string, run: () => Promise<T>): Promise<T> {
    const { clock, onBegin } = this.options;
    const askedAtMs = clock.now();
    this.waiting += 1;
    return this.semaphore.take(async () => {
      this.waiting -= 1;
      this.lastMoveAtMs = clock.now();
      onBegin?.(this.lastMoveAtMs - askedAtMs);
      try {
        return await run();
      } finally {
        this.lastMoveAtMs = clock.now();
      }
    }, turnOf(stack));
  }

  state(): EngineLineState {
    return { waiting: this.waiting, lastMoveAtMs: this.lastMoveAtMs };
  }
}
