import { assertNever, CapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { LeaseTerm } from "../engine/locks/lease-term.js";
import type { LeaseClock } from "./lease-clock.js";
import {
  type LeaseRecord,
  type LeaseStep,
  type LeaseTiming,
  type LeaseView,
  nextLeaseStep,
  viewAfter,
} from "./lease-steps.js";

/** What a holder writes. */
export interface LeaseWrite {
  /** Empty to release. */
  readonly holder: string;
  readonly durationMs: number;
  readonly transitions: number;
  /** Milliseconds since the epoch, for people. */
  readonly renewedAtMs: number;
  /** Only where the holder is a new one. */
  readonly acquiredAtMs?: number;
}

/** Where the Lease is kept. Calls throw when they fail, also when nobody knows what came of them. */
export interface LeaseStore {
  /** Undefined when there is none. */
  read(signal: AbortSignal): Promise<LeaseRecord | undefined>;
  /** What it is now; undefined when there is one already. */
  create(lease: LeaseWrite, signal: AbortSignal): Promise<LeaseRecord | undefined>;
  /** What it is now; undefined when it was changed or deleted since `version`. */
  replace(
    version: string,
    lease: LeaseWrite,
    signal: AbortSignal,
  ): Promise<LeaseRecord | undefined>;
}

export type LeaseNews =
  | { readonly kind: "following"; readonly holder: string }
  | { readonly kind: "leading"; readonly transitions: number }
  | { readonly kind: "lost"; readonly reason: string }
  | { readonly kind: "released" }
  /** A call failed; it is made again. */
  | { readonly kind: "trouble"; readonly error: unknown };

interface LeadershipOptions {
  readonly store: LeaseStore;
  /** Different for every process that ever contends. */
  readonly me: string;
  readonly clock: LeaseClock;
  readonly timing: LeaseTiming;
  /** Told after each renewal how long what runs may run without another one, milliseconds. */
  readonly renewed?: (leftMs: number) => void;
  /** Is told each change once, and every trouble. */
  readonly tell?: (news: LeaseNews) => void;
  /**
   * What was told to end has not, and the lease is about to: end it now, whatever it takes, if need be
   * with the process.
   */
  readonly overrun: () => void;
}

/** One time of leading. */
export interface Term {
  /** Which one: what was locked in an earlier one is nobody's any more. */
  readonly place: LeaseTerm;
  /**
   * Aborts when the lease can no longer be relied on, early enough to kill what runs and await its
   * end. Its reason is a CapstanError NOT_LEADER.
   */
  readonly lost: AbortSignal;
  /** How long what runs may run without a renewal, milliseconds from now on: then there is just time to end it. */
  leftMs(): number;
  /**
   * Throws NOT_LEADER unless this process leads at this very moment. Asks the clock, not a flag, so
   * that a process that was stopped and goes on is refused before any timer of its runs. To be called
   * right before each engine run and each call that changes a cloud.
   */
  assertLeader(): void;
}

/** A lease that ended already has no time left; what runs still needs some to be killed in. */
const leastTimeToStopMs = 2_000;
const releaseAttempts = 3;

/**
 * Leader election on one Lease, fenced as architecture rule 5.7 wants it: when a lease ends, whatever
 * its holder ran has ended before.
 */
export class Leadership {
  private view: LeaseView | undefined;
  private heldSinceMs: number | undefined;
  private followed: string | undefined;

  constructor(private readonly options: LeadershipOptions) {
    checkTiming(options.timing);
  }

  /** Whether this process leads now. */
  leads(): boolean {
    const { clock, timing } = this.options;
    const sinceMs = this.heldSinceMs;
    return sinceMs !== undefined && clock.cautiousMs() - sinceMs < timing.renewDeadlineMs;
  }

  /**
   * Contends until the signal, and calls `lead` for each term. `lead` returns after everything that it
   * ran has ended: soon after the signal or after the term is lost. The lease is renewed until then,
   * and released after a graceful end. Resolves after the signal, or when `lead` returned by itself;
   * rejects with what `lead` throws, unless the term was lost.
   */
  async run(signal: AbortSignal, lead: (term: Term) => Promise<void>): Promise<void> {
    while (!signal.aborted) {
      if (!(await this.acquire(signal))) return;
      const isLost = await this.serve(lead);
      if (!isLost) return;
    }
  }

  /** True when it leads, false when the signal came first. */
  private async acquire(signal: AbortSignal): Promise<boolean> {
    const { clock, timing } = this.options;
    while (!signal.aborted) {
      let pauseMs = timing.retryEveryMs;
      try {
        await this.look(signal);
        const step = this.next();
        this.tellHolder(step);
        if (await this.write(step, signal, timing.callTimeoutMs)) {
          // The answer may have taken longer than the lease is good for.
          if (this.leads()) return true;
          this.heldSinceMs = undefined;
        }
        if (step.kind === "wait") pauseMs = step.ms;
      } catch (error) {
        this.tellError(error, signal);
      }
      await clock.sleep(pauseMs, signal).catch(() => undefined);
    }
    return false;
  }

  /** One term from its first to its last moment. True when it ended by the loss of the lease. */
  private async serve(lead: (term: Term) => Promise<void>): Promise<boolean> {
    const lost = new AbortController();
    const ended = new AbortController();
    this.followed = undefined;
    const { uid: lease = "", transitions: transition = 0 } = this.view?.record ?? {};
    this.tell({ kind: "leading", transitions: transition });
    const holding = this.hold(lost, ended.signal);
    try {
      const place = { lease, transition };
      await lead({
        place,
        lost: lost.signal,
        leftMs: () => this.leftMs(),
        assertLeader: () => this.assertLeader(lost),
      });
    } catch (error) {
      // Work that was refused or torn off because of the loss has ended as it should.
      if (!lost.signal.aborted) throw error;
      if (error !== lost.signal.reason) this.tell({ kind: "trouble", error });
    } finally {
      ended.abort();
      await holding;
      this.heldSinceMs = undefined;
      if (!lost.signal.aborted) await this.release();
    }
    return lost.signal.aborted;
  }

  private assertLeader(lost: AbortController): void {
    if (!this.leads()) this.lose(lost, "the lease was not renewed in time");
    lost.signal.throwIfAborted();
  }

  private lose(lost: AbortController, reason: string): void {
    if (lost.signal.aborted) return;
    this.tell({ kind: "lost", reason });
    lost.abort(notLeader(this.options.me, reason));
  }

  private async hold(lost: AbortController, ended: AbortSignal): Promise<void> {
    const { clock, timing } = this.options;
    while (!ended.aborted) {
      const step = this.next();
      if (step.kind === "lose") this.lose(lost, step.reason);
      if (lost.signal.aborted) return this.awaitEnd(ended);
      let pauseMs = step.kind === "wait" ? step.ms : 0;
      try {
        const isWritten = await this.write(step, ended, this.untilDeadlineMs(timing.callTimeoutMs));
        if (!isWritten && step.kind !== "wait") await this.look(ended);
      } catch (error) {
        pauseMs = timing.retryEveryMs;
        this.tellError(error, ended);
      }
      await clock.sleep(this.untilDeadlineMs(pauseMs), ended).catch(() => undefined);
    }
  }

  private leftMs(): number {
    const { clock, timing } = this.options;
    const endsAtMs = (this.heldSinceMs ?? 0) + timing.durationMs - timing.safetyMs;
    return Math.max(0, endsAtMs - leastTimeToStopMs - clock.cautiousMs());
  }

  /** Until everything has ended; what takes too long is ended. */
  private async awaitEnd(ended: AbortSignal): Promise<void> {
    await this.options.clock.sleep(this.leftMs() + leastTimeToStopMs, ended).catch(() => undefined);
    if (!ended.aborted) this.options.overrun();
  }

  private untilDeadlineMs(ms: number): number {
    const { clock, timing } = this.options;
    const deadlineAtMs = (this.heldSinceMs ?? 0) + timing.renewDeadlineMs;
    return Math.max(0, Math.min(ms, deadlineAtMs - clock.cautiousMs()));
  }

  private next(): LeaseStep {
    const { clock, me, timing } = this.options;
    const { view, heldSinceMs } = this;
    return nextLeaseStep(
      { me, timing, view, heldSinceMs },
      {
        steadyMs: clock.steadyMs(),
        cautiousMs: clock.cautiousMs(),
      },
    );
  }

  private async look(signal: AbortSignal): Promise<void> {
    const { store, timing } = this.options;
    this.saw(await this.within(timing.callTimeoutMs, signal, (call) => store.read(call)));
  }

  private saw(record: LeaseRecord | undefined): void {
    this.view = viewAfter(this.view, record, this.options.clock.steadyMs());
  }

  /** Writes what the step wants written. Whether it was accepted. */
  private async write(step: LeaseStep, signal: AbortSignal, limitMs: number): Promise<boolean> {
    const { store, clock, me } = this.options;
    // The lease counts from before the call: nobody can have seen it renewed earlier than that.
    const sentAtMs = clock.cautiousMs();
    const send = async (call: AbortSignal) => {
      switch (step.kind) {
        case "create":
          return store.create(this.leaseWrite(me, 0, true), call);
        case "take": {
          const isOurs = step.why === "ours";
          const transitions = step.from.transitions + (isOurs ? 0 : 1);
          return store.replace(step.from.version, this.leaseWrite(me, transitions, !isOurs), call);
        }
        case "renew":
          return store.replace(step.from.version, this.leaseWrite(me, step.from.transitions), call);
        case "wait":
        case "lose":
          return undefined;
        default:
          return assertNever(step);
      }
    };
    const record = await this.within(limitMs, signal, send);
    if (record === undefined) return false;
    // A write that changed nothing is one that nobody has seen.
    if (record.version === this.view?.record?.version) return false;
    this.saw(record);
    this.heldSinceMs = sentAtMs;
    this.options.renewed?.(this.leftMs());
    return true;
  }

  private leaseWrite(holder: string, transitions: number, isNew = false): LeaseWrite {
    const nowMs = this.options.clock.wallMs();
    return omitUndefined({
      holder,
      transitions,
      durationMs: this.options.timing.durationMs,
      renewedAtMs: nowMs,
      acquiredAtMs: isNew ? nowMs : undefined,
    });
  }

  /** Nothing runs any more, so that it can go to the next one at once. A failure costs time only. */
  private async release(): Promise<void> {
    const { store, timing, me } = this.options;
    const never = new AbortController().signal;
    for (let attempt = 0; attempt < releaseAttempts; attempt++) {
      try {
        const record = this.view?.record;
        if (record?.holder !== me) return;
        const lease = this.leaseWrite("", record.transitions);
        const released = await this.within(timing.callTimeoutMs, never, (call) =>
          store.replace(record.version, lease, call),
        );
        if (released !== undefined) return this.tell({ kind: "released" });
        await this.look(never);
      } catch (error) {
        this.tell({ kind: "trouble", error });
      }
    }
  }

  private async within<Result>(
    limitMs: number,
    signal: AbortSignal,
    send: (call: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    signal.throwIfAborted();
    const over = new AbortController();
    const leave = () => over.abort(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    const limit = this.options.clock.sleep(limitMs, over.signal).then((): never => {
      throw new Error(`the API server has not answered for ${limitMs / 1000} s`);
    });
    try {
      return await Promise.race([send(over.signal), limit]);
    } finally {
      signal.removeEventListener("abort", leave);
      over.abort(new Error("the call has ended"));
    }
  }

  private tellHolder(step: LeaseStep): void {
    if (step.kind !== "wait" || step.holder === this.followed) return;
    this.followed = step.holder;
    this.tell({ kind: "following", holder: step.holder });
  }

  /** A call that was ended on purpose is no trouble. */
  private tellError(error: unknown, signal: AbortSignal): void {
    if (!signal.aborted) this.tell({ kind: "trouble", error });
  }

  private tell(news: LeaseNews): void {
    this.options.tell?.(news);
  }
}

/** Who contends, for people and beyond doubt: pod or host, process, and chance. */
export function leaseIdentity(host: string, pid: number, chance: string): string {
  return `${host}_${pid}_${chance}`;
}

function checkTiming({ durationMs, renewDeadlineMs, safetyMs, renewEveryMs }: LeaseTiming): void {
  if (renewEveryMs < renewDeadlineMs && renewDeadlineMs + safetyMs < durationMs) return;
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message:
      `cannot lead with a lease of ${durationMs} ms: its renewal every ${renewEveryMs} ms, its renewal deadline ` +
      `of ${renewDeadlineMs} ms and the margin of ${safetyMs} ms do not fit into it`,
    hint: "a longer lease leaves more time for engines to end",
  });
}

function notLeader(me: string, reason: string): CapstanError {
  return new CapstanError({
    code: "NOT_LEADER",
    source: "engine",
    message: `cannot act as leader ${me}: ${reason}`,
    hint: "the controller that leads now goes on with the work",
    retryable: true,
  });
}
