import { setImmediate as turn } from "node:timers/promises";
import { isCapstanError } from "../../src/api/error.js";
import {
  type LeaseNews,
  type LeaseStore,
  type LeaseWrite,
  Leadership,
} from "../../src/kube/lease.js";
import { leaseClock } from "../../src/kube/lease-clock.js";
import { type LeaseRecord, type LeaseTiming } from "../../src/kube/lease-steps.js";
import { FakeClock } from "../support/fake-clock.js";

/** What the network does with one call. All in milliseconds of the world. */
export interface Fate {
  readonly toServerMs: number;
  readonly backMs: number;
  readonly lost: "no" | "request" | "answer";
}

const swift: Fate = { toServerMs: 5, backMs: 5, lost: "no" };

/** Something that a leader did: nobody else may lead while it does. */
export interface Deed {
  readonly who: string;
  readonly term: number;
  readonly atMs: number;
}

/** Until what a leader runs has ended after it was told that the lease is lost. */
const killMs = 800;
const deedEveryMs = 250;

/** One Lease, a network, and contenders whose clocks differ and whose processes may be stopped. */
export class LeaseWorld {
  readonly clock = new FakeClock(0, "manual");
  readonly deeds: Deed[] = [];
  /** When each term's work was over. */
  readonly ended: Deed[] = [];
  record: LeaseRecord | undefined;
  isServerUp = true;
  private version = 0;
  private leases = 0;
  private terms = 0;

  constructor(readonly timing: LeaseTiming) {}

  async run(ms: number, stepMs = 50): Promise<void> {
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(stepMs);
      await turn();
      await turn();
    }
  }

  nextTerm(): number {
    return ++this.terms;
  }

  read(): LeaseRecord | undefined {
    return this.record;
  }

  write(lease: LeaseWrite): LeaseRecord {
    const { holder, durationMs, transitions } = lease;
    const uid = this.record?.uid ?? `lease-${++this.leases}`;
    const record = { uid, version: String(++this.version), holder, durationMs, transitions };
    this.record = record;
    return record;
  }
}

/** A process that contends, and acts while it leads. */
export class Contender {
  readonly news: LeaseNews[] = [];
  readonly shutdown = new AbortController();
  readonly leadership: Leadership;
  readonly done: Promise<void>;
  overruns = 0;
  isDead = false;
  private resumed: Promise<void> = Promise.resolve();
  private resume: () => void = () => undefined;

  /** `rate`: how fast its clocks run against the world's. */
  constructor(
    private readonly world: LeaseWorld,
    readonly name: string,
    private readonly fates: () => Fate = () => swift,
    rate = 1,
    private readonly stopsWork = true,
  ) {
    const steadyMs = () => world.clock.now() * rate + name.length * 1_000;
    this.leadership = new Leadership({
      store: this.store(),
      me: name,
      clock: {
        ...leaseClock(steadyMs, () => steadyMs() + 86_400_000),
        sleep: async (ms, signal) => {
          await world.clock.sleep(ms / rate, signal);
          await this.resumed;
        },
      },
      timing: world.timing,
      tell: (news) => this.news.push(news),
      overrun: () => {
        this.overruns++;
        this.isDead = true;
      },
    });
    this.done = this.leadership.run(this.shutdown.signal, (term) => this.lead(term));
  }

  /** SIGSTOP: nothing of it runs, its clocks go on. */
  pause(): void {
    this.resumed = new Promise((resolve) => (this.resume = resolve));
  }

  goOn(): void {
    this.resume();
  }

  /** SIGKILL. */
  kill(): void {
    this.isDead = true;
    this.pause();
  }

  private async lead(term: Parameters<Parameters<Leadership["run"]>[1]>[0]): Promise<void> {
    const { world, name } = this;
    const number = world.nextTerm();
    const mark = () => ({ who: name, term: number, atMs: world.clock.now() });
    while (!this.shutdown.signal.aborted && !term.lost.aborted && !this.isDead) {
      await this.resumed;
      try {
        term.assertLeader();
        world.deeds.push(mark());
      } catch (error) {
        if (!isCapstanError(error) || error.code !== "NOT_LEADER") throw error;
      }
      await world.clock.sleep(deedEveryMs, AbortSignal.any([term.lost])).catch(() => undefined);
    }
    await world.clock.sleep(this.stopsWork ? killMs : 3_600_000);
    await this.resumed;
    world.ended.push(mark());
  }

  private store(): LeaseStore {
    const { world } = this;
    return {
      read: () => this.call(() => world.read()),
      create: (lease) =>
        this.call(() => (world.record === undefined ? world.write(lease) : undefined)),
      replace: (version, lease) =>
        this.call(() => (world.record?.version === version ? world.write(lease) : undefined)),
    };
  }

  /** Deaf to its signal: a write that is on its way arrives, whatever its sender thinks. */
  private async call<Answer>(atServer: () => Answer): Promise<Answer> {
    const { toServerMs, backMs, lost } = this.fates();
    await this.resumed;
    await this.world.clock.sleep(toServerMs);
    const isServed = lost !== "request" && this.world.isServerUp;
    const answer = isServed ? atServer() : undefined;
    await this.world.clock.sleep(backMs);
    await this.resumed;
    if (!isServed || lost === "answer") throw new Error("connection reset");
    return answer as Answer;
  }
}

/** A deed of a term after one of a later term, or undefined. */
export function relapse(deeds: readonly Deed[]): Deed | undefined {
  let newest = 0;
  return deeds.find(({ term }) => {
    newest = Math.max(newest, term);
    return term < newest;
  });
}
