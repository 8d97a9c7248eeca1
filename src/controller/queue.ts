import { assertNever } from "../api/error.js";
import { type Backoff, backoffMs } from "../provider/backoff.js";
import { FairLine, turnOf } from "../provider/fair-line.js";
import type { Clock } from "../provider/port.js";

/** What came of working on a key. */
export type WorkOutcome =
  /** Nothing is left to do until the key is added again. Failures before it are forgotten. */
  | { readonly kind: "done" }
  /** All is well, and there is more to do in a while. Failures before it are remembered. */
  | { readonly kind: "retryAfter"; readonly ms: number }
  /** Tried again after a wait that doubles with each failure in a row. */
  | { readonly kind: "failed" };

/** Is told what happens; for metrics and logs. None of it may throw. */
export interface QueueObserver {
  /** A key was taken; it had been ready for so long. */
  taken?(key: string, waitedMs: number): void;
  /** Work on a key ended. */
  worked?(key: string, outcome: WorkOutcome, tookMs: number): void;
  /** A handler threw, which counts as failed. */
  threw?(key: string, error: unknown): void;
}

interface QueueOptions {
  readonly clock: Clock;
  /** From 0 to below 1, as Math.random. */
  readonly random: () => number;
  readonly observer?: QueueObserver;
}

/** The queue at one moment. */
export interface QueueState {
  /** Keys that wait for a worker. */
  readonly ready: number;
  /** Keys that become ready at a time of their own. */
  readonly delayed: number;
  /** Keys that are worked on. */
  readonly working: number;
  /** Keys whose last work failed. */
  readonly failing: number;
  /** Since when the key at the head has been ready. */
  readonly oldestReadyAtMs: number | undefined;
  /** Since when the work that has shown no progress for longest has shown none. */
  readonly quietestWorkAtMs: number | undefined;
  /** When a key was last taken or handed back, or its work got on; at first when the queue was made. */
  readonly lastMoveAtMs: number;
}

/** Of a key whose work failed. */
const failureBackoff: Backoff = { firstMs: 1_000, factor: 2, maxMs: 300_000, jitter: 0.25 };
/** A handler's word is never taken for a hot loop. */
const shortestRetryMs = 100;
/** Timers overflow beyond 24 days, and clocks are set: no sleep is longer. */
const longestSleepMs = 3_600_000;

interface Waiting {
  readonly dueMs: number;
  /** A retry after a failure, which `add` does not bring forward. */
  readonly isRetry: boolean;
}

interface Work {
  readonly startedAtMs: number;
  readonly progressAtMs: number;
}

interface Taker {
  readonly give: (key: string) => void;
}

/**
 * Work by key: each key is there once, is worked on by one worker at a time, and comes again when it
 * was added meanwhile. Namespaces take turns, and in each of them whoever came first is served first: a key that fails waits
 * outside the line and joins at its end. What failed is tried again by itself, later each time; adding it does not make that sooner,
 * unless what is asked of it has changed.
 */
export class KeyedQueue {
  private readonly ready = new Map<string, number>();
  private readonly line = new FairLine<string>();
  private readonly waiting = new Map<string, Waiting>();
  private readonly working = new Map<string, Work>();
  /** Keys to come again as soon as their present work ends. */
  private readonly again = new Set<string>();
  private readonly failures = new Map<string, number>();
  private readonly takers: Taker[] = [];
  /** Workers that are kept free for namespaces on whose clusters nobody works. */
  private kept = 0;
  private alarm: { readonly dueMs: number; readonly cancel: AbortController } | undefined;
  private lastMoveAtMs: number;
  private readonly observer: QueueObserver;

  constructor(private readonly options: QueueOptions) {
    this.observer = options.observer ?? {};
    this.lastMoveAtMs = options.clock.now();
  }

  /** Something may have happened to the key. A key that failed keeps its wait. */
  add(key: string): void {
    if (this.waiting.get(key)?.isRetry === true) return;
    this.makeReady(key);
  }

  /** What is asked of the key has changed, so that failures before it mean nothing any more. */
  addChanged(key: string): void {
    this.failures.delete(key);
    this.makeReady(key);
  }

  /**
   * Adds the key after a while. Of several times the earliest counts and the others are forgotten, as
   * they all are when something else adds the key: each work on it says itself when it is due again.
   */
  addAfter(key: string, ms: number): void {
    if (this.ready.has(key)) return;
    this.wait(key, { dueMs: this.options.clock.now() + Math.max(0, ms), isRetry: false });
  }

  /** Forgets a key that no longer means anything, unless it is worked on: that ends by itself. */
  remove(key: string): void {
    this.ready.delete(key);
    this.line.remove(turnOf(key));
    this.waiting.delete(key);
    this.again.delete(key);
    this.failures.delete(key);
  }

  /** The next key, when there is one. Whoever takes it hands it back by `done`. Rejects with the signal's reason. */
  async take(signal: AbortSignal): Promise<string> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const taker: Taker = {
        give: (key) => {
          signal.removeEventListener("abort", leave);
          resolve(key);
        },
      };
      const leave = () => {
        this.takers.splice(this.takers.indexOf(taker), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener("abort", leave, { once: true });
      this.takers.push(taker);
      this.serve();
    });
  }

  /** Work on the key has got on: it does not hang. Of a key that is not worked on it means nothing. */
  progressed(key: string): void {
    const work = this.working.get(key);
    if (work !== undefined) this.working.set(key, { ...work, progressAtMs: this.moved() });
  }

  /** Hands a taken key back with what came of it. */
  done(key: string, outcome: WorkOutcome): void {
    const work = this.working.get(key);
    if (work === undefined) throw new Error(`key ${key} was handed back without being taken`);
    this.working.delete(key);
    const nowMs = this.moved();
    this.observer.worked?.(key, outcome, nowMs - work.startedAtMs);
    const comesAgain = this.again.delete(key);
    switch (outcome.kind) {
      case "done":
        this.failures.delete(key);
        break;
      case "retryAfter":
        this.wait(key, { dueMs: nowMs + Math.max(shortestRetryMs, outcome.ms), isRetry: false });
        break;
      case "failed":
        this.retry(key, nowMs);
        break;
      default:
        assertNever(outcome);
    }
    if (comesAgain) this.add(key);
  }

  /**
   * Works with so many workers until the signal; then takes no more, and resolves when those that work have ended. A tenth of
   * them, rounded down, is kept for namespaces on whose clusters nobody works: others may hold theirs for long. A handler that
   * throws has failed. Handlers are given the signal and may hasten. A queue works once: at the end it lets go of its timer.
   */
  async work(
    workers: number,
    signal: AbortSignal,
    handler: (key: string, signal: AbortSignal) => Promise<WorkOutcome>,
  ): Promise<void> {
    this.kept = Math.floor(workers / 10);
    const works = async () => {
      while (!signal.aborted) {
        const key = await this.take(signal).catch(() => undefined);
        if (key === undefined) return;
        this.done(key, await this.outcomeOf(key, handler(key, signal)));
      }
    };
    await Promise.all(Array.from({ length: workers }, works));
    this.alarm?.cancel.abort();
  }

  state(): QueueState {
    const progress = [...this.working.values()].map(({ progressAtMs }) => progressAtMs);
    return {
      ready: this.ready.size,
      delayed: this.waiting.size,
      working: this.working.size,
      failing: this.failures.size,
      oldestReadyAtMs: this.ready.values().next().value,
      quietestWorkAtMs: progress.length === 0 ? undefined : Math.min(...progress),
      lastMoveAtMs: this.lastMoveAtMs,
    };
  }

  private async outcomeOf(key: string, work: Promise<WorkOutcome>): Promise<WorkOutcome> {
    try {
      return await work;
    } catch (error) {
      this.observer.threw?.(key, error);
      return { kind: "failed" };
    }
  }

  private retry(key: string, nowMs: number): void {
    const failures = (this.failures.get(key) ?? 0) + 1;
    this.failures.set(key, failures);
    const ms = backoffMs(failureBackoff, failures, this.options.random());
    // Whatever else was to bring the key earlier would make failures come faster.
    this.waiting.delete(key);
    this.wait(key, { dueMs: nowMs + ms, isRetry: true });
  }

  private makeReady(key: string): void {
    this.waiting.delete(key);
    if (this.working.has(key)) {
      this.again.add(key);
      return;
    }
    if (!this.ready.has(key)) {
      this.ready.set(key, this.options.clock.now());
      this.line.add(turnOf(key), key);
    }
    this.serve();
  }

  private wait(key: string, entry: Waiting): void {
    const present = this.waiting.get(key);
    if (present !== undefined && (present.isRetry || present.dueMs <= entry.dueMs)) return;
    this.waiting.set(key, entry);
    this.setAlarm(entry.dueMs);
  }

  private serve(): void {
    while (this.takers.length > 0) {
      const isLast = this.takers.length <= this.kept;
      const key = this.line.next((namespace) => !isLast || !this.isWorkedIn(namespace));
      const taker = key === undefined ? undefined : this.takers.shift();
      if (key === undefined || taker === undefined) return;
      const readyAtMs = this.ready.get(key) ?? this.options.clock.now();
      this.ready.delete(key);
      const nowMs = this.moved();
      this.working.set(key, { startedAtMs: nowMs, progressAtMs: nowMs });
      this.observer.taken?.(key, nowMs - readyAtMs);
      taker.give(key);
    }
  }

  private isWorkedIn(namespace: string): boolean {
    return [...this.working.keys()].some((key) => turnOf(key).namespace === namespace);
  }

  private moved(): number {
    this.lastMoveAtMs = this.options.clock.now();
    return this.lastMoveAtMs;
  }

  /** One sleep at a time, until the first key that waits is due. */
  private setAlarm(dueMs: number): void {
    if (this.alarm !== undefined && this.alarm.dueMs <= dueMs) return;
    this.alarm?.cancel.abort();
    const alarm = { dueMs, cancel: new AbortController() };
    this.alarm = alarm;
    const { clock } = this.options;
    const sleepMs = Math.min(longestSleepMs, Math.max(0, dueMs - clock.now()));
    void clock.sleep(sleepMs, alarm.cancel.signal).then(
      () => this.ring(),
      () => undefined,
    );
  }

  private ring(): void {
    this.alarm = undefined;
    const nowMs = this.options.clock.now();
    const due = [...this.waiting].filter(([, { dueMs }]) => dueMs <= nowMs);
    due.sort(([, left], [, right]) => left.dueMs - right.dueMs);
    for (const [key] of due) this.makeReady(key);
    const nextMs = [...this.waiting.values()].reduce(
      (ms, { dueMs }) => Math.min(ms, dueMs),
      Infinity,
    );
    if (nextMs < Infinity) this.setAlarm(nextMs);
  }
}
