import { boundedRedaction } from "../api/bounded-text.js";
import type { Clock } from "../provider/port.js";
import type { Redact } from "./redaction.js";
import { eventName, type EventRequest, type Regarding, seriesWindowMs } from "./event-names.js";

/** How often something happened, and when last. */
interface EventSeries {
  readonly count: number;
  readonly lastObservedMs: number;
}

/** An Event that is there already. */
export interface StoredEvent {
  readonly count: number;
  /** When it happened first. */
  readonly atMs: number;
}

/**
 * Where Events are kept. Calls throw EventRefused when the server will never take it, and any other
 * error when it may later.
 */
export interface EventStore {
  /** False when there is one of this name. */
  create(name: string, event: EventRequest, atMs: number): Promise<boolean>;
  /** Undefined when there is none of this name. */
  find(name: string, regarding: Regarding): Promise<StoredEvent | undefined>;
  /** False when there is none of this name. */
  patchSeries(name: string, regarding: Regarding, series: EventSeries): Promise<boolean>;
}

/** Trying again would not help. */
export class EventRefused extends Error {}

interface EventRecorderOptions {
  readonly store: EventStore;
  readonly clock: Clock;
  /** How many may wait to be sent; more are dropped. */
  readonly capacity?: number;
  /** A series is told of at most so often. */
  readonly patchEveryMs?: number;
  /** Takes secrets out of every note: whoever may read Events may not read them. */
  readonly redact: Redact;
  readonly dropped?: (count: number) => void;
  /** The server refused an Event or does not answer. */
  readonly onError?: (error: unknown, event: EventRequest) => void;
}

interface Entry {
  readonly name: string;
  readonly event: EventRequest;
  readonly firstMs: number;
  lastMs: number;
  /** Since it is known here. */
  count: number;
  /** How many of those the API server has been told. */
  told: number;
  /** How many it had when this process met it: others told of them, or an earlier life of ours. */
  earlier: number;
  isCreated: boolean;
  /** Not to be sent again before. */
  nextMs: number;
}

const retryMs = 5_000;
const idleMs = 1_000;
const defaultCapacity = 1_000;
const rememberedPerCapacity = 10;

/**
 * Tells users of an API server what happens to their objects, as Events of events.k8s.io/v1. Recording
 * never waits and never fails; `run` sends. What happens again within an hour becomes a series of one
 * Event, also across restarts and changes of the leader.
 */
export class EventRecorder {
  private readonly entries = new Map<string, Entry>();
  private readonly unsent = new Set<Entry>();
  private wake: () => void = () => undefined;

  constructor(private readonly options: EventRecorderOptions) {}

  record(told: EventRequest): void {
    const { clock, capacity = defaultCapacity, redact } = this.options;
    const happening = { ...told, note: boundedRedaction(redact)(told.note) };
    const nowMs = clock.now();
    this.forgetOld(nowMs);
    const name = eventName(happening, nowMs);
    const key = `${happening.regarding.namespace}/${name}`;
    const known = this.entries.get(key);
    if (known !== undefined) {
      known.count++;
      known.lastMs = nowMs;
      this.unsent.add(known);
      return;
    }
    if (this.unsent.size >= capacity) {
      this.options.dropped?.(1);
      return;
    }
    const entry: Entry = {
      name,
      event: happening,
      firstMs: nowMs,
      lastMs: nowMs,
      nextMs: nowMs,
      count: 1,
      told: 0,
      earlier: 0,
      isCreated: false,
    };
    this.entries.set(key, entry);
    this.unsent.add(entry);
    this.wake();
  }

  /** Sends until the signal. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.sendDue();
      await this.rest(signal);
    }
  }

  /** Sends all that waits, once, when it is due or not; for the end of the process, after `run`. */
  async flush(signal: AbortSignal): Promise<void> {
    for (const entry of [...this.unsent]) {
      if (signal.aborted) return;
      await this.send(entry);
    }
  }

  /** How many wait to be sent. */
  get waiting(): number {
    return this.unsent.size;
  }

  private async sendDue(): Promise<void> {
    for (const entry of [...this.unsent]) {
      if (entry.nextMs > this.options.clock.now()) continue;
      // A server that does not answer one does not answer the next either: its turn comes again.
      if (!(await this.send(entry))) return;
    }
  }

  /** Until something new is there, at most for a moment. */
  private async rest(signal: AbortSignal): Promise<void> {
    const awake = new AbortController();
    const stop = () => awake.abort();
    this.wake = stop;
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    await this.options.clock.sleep(idleMs, awake.signal).catch(() => undefined);
    signal.removeEventListener("abort", stop);
  }

  /** False when the server could not be asked. */
  private async send(entry: Entry): Promise<boolean> {
    const { clock, patchEveryMs = 30_000, onError } = this.options;
    try {
      await this.tell(entry);
      entry.nextMs = clock.now() + patchEveryMs;
      if (entry.told >= entry.count) this.unsent.delete(entry);
      return true;
    } catch (error) {
      onError?.(error, entry.event);
      entry.nextMs = clock.now() + retryMs;
      if (!(error instanceof EventRefused)) return false;
      this.unsent.delete(entry);
      return true;
    }
  }

  private async tell(entry: Entry): Promise<void> {
    const { store } = this.options;
    const { name, event, count } = entry;
    if (!entry.isCreated) await this.create(entry);
    if (entry.told >= count) return;
    const series = { count: entry.earlier + count, lastObservedMs: entry.lastMs };
    const isTold = await store.patchSeries(name, event.regarding, series);
    if (isTold) entry.told = count;
    // Events expire. What still happens then is told as new.
    else Object.assign(entry, { isCreated: false, earlier: 0, told: 0 });
  }

  private async create(entry: Entry): Promise<void> {
    const { store } = this.options;
    const { name, event, firstMs } = entry;
    if (await store.create(name, event, firstMs)) {
      Object.assign(entry, { isCreated: true, told: 1 });
      return;
    }
    const found = await store.find(name, event.regarding);
    if (found === undefined) throw new Error(`Event ${name} is there and is not there`);
    // Either the answer to our own create was lost, or it is an earlier life's or another's.
    const isOwn = found.atMs === firstMs;
    Object.assign(entry, {
      isCreated: true,
      told: isOwn ? 1 : 0,
      earlier: isOwn ? 0 : found.count,
    });
  }

  /** What can no longer become a series, and the oldest of too many. */
  private forgetOld(nowMs: number): void {
    const { capacity = defaultCapacity } = this.options;
    for (const [key, entry] of this.entries) {
      const isOld = nowMs - entry.firstMs > seriesWindowMs;
      if (!isOld && this.entries.size <= rememberedPerCapacity * capacity) return;
      if (!this.unsent.has(entry)) this.entries.delete(key);
    }
  }
}
