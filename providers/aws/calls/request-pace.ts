import type { CallContext, CallRate, CloudIdentity, Clock } from "../../../src/provider/port.js";

/** Whoever waits for a turn: its clock, and what ends the wait. */
type Waiting = Pick<CallContext, "clock" | "signal">;

/** A rate falls to so much of what it was with each refusal, and never below this share of the most. */
const [halved, leastShare] = [1 / 2, 1 / 20];
/** From nothing to the most it would take so long without a refusal, milliseconds. */
const recoveryMs = 60_000;
/** Times are added up in fractions: what is missing of a request by so little is not missing. */
const nearlyNothing = 1e-6;

/** How many requests may begin now. */
interface Level {
  readonly requests: number;
  readonly atMs: number;
}

/** The rate that a refusal has left. */
interface SlowDown {
  readonly perSecond: number;
  readonly atMs: number;
}

/**
 * When requests may begin: no more of them than the most allowed, first come, first served. A refusal halves the rate and ends
 * what could begin at once; from then on it grows evenly back to the most. In any time t, in seconds, at most
 * `burst + perSecond * t` requests begin.
 */
export class AdaptivePace {
  private last: Promise<void> = Promise.resolve();
  private level: Level;
  private slowDown: SlowDown | undefined;

  constructor(private readonly most: CallRate) {
    this.level = { requests: most.burst, atMs: Number.NEGATIVE_INFINITY };
  }

  /** When the next request begins, milliseconds since the epoch. Rejects with the signal's reason when it aborts first. */
  async turn({ clock, signal }: Waiting): Promise<number> {
    const before = this.last;
    let end = () => {};
    const over = new Promise<void>((resolve) => (end = resolve));
    this.last = before.then(() => over);
    try {
      await unlessAborted(before, signal);
      return await this.begin(clock, signal);
    } finally {
      end();
    }
  }

  /**
   * AWS has refused a request that began then, for there were too many. Those that were on their way together are one
   * refusal: the first has slowed down what comes after them.
   */
  refused(begunAtMs: number, nowMs: number): void {
    if (this.slowDown !== undefined && begunAtMs <= this.slowDown.atMs) return;
    const perSecond = Math.max(this.rateAt(nowMs) * halved, this.most.perSecond * leastShare);
    this.slowDown = { perSecond, atMs: nowMs };
    this.level = { requests: 0, atMs: nowMs };
  }

  /** Requests in a second at that time. */
  rateAt(nowMs: number): number {
    const { perSecond: most } = this.most;
    if (this.slowDown === undefined) return most;
    const { perSecond, atMs } = this.slowDown;
    return Math.min(most, perSecond + (most * Math.max(0, nowMs - atMs)) / recoveryMs);
  }

  private async begin(clock: Clock, signal: AbortSignal): Promise<number> {
    for (;;) {
      signal.throwIfAborted();
      const nowMs = clock.now();
      const requests = this.requestsAt(nowMs);
      const missing = 1 - requests;
      if (missing <= nearlyNothing) {
        this.level = { requests: requests - 1, atMs: nowMs };
        return nowMs;
      }
      this.level = { requests, atMs: nowMs };
      await clock.sleep(Math.ceil((missing / this.rateAt(nowMs)) * 1_000), signal);
    }
  }

  private requestsAt(nowMs: number): number {
    const { requests, atMs } = this.level;
    if (nowMs <= atMs) return requests;
    const [from, to] = [this.rateAt(atMs), this.rateAt(nowMs)];
    const capacity = to < this.most.perSecond ? 1 : this.most.burst;
    // Nothing bends upwards in between, so that the mean of both ends is never too much.
    const grown = Number.isFinite(atMs) ? ((from + to) / 2) * ((nowMs - atMs) / 1_000) : 0;
    return Math.min(capacity, requests + grown);
  }
}

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  let leave = () => {};
  const aborted = new Promise<never>((_, reject) => {
    leave = () => reject(signal.reason as Error);
    signal.addEventListener("abort", leave, { once: true });
  });
  try {
    await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", leave);
  }
}

/** Services whose requests are paced, by their prefixes in policies of IAM. */
export type PacedService = "ec2" | "elasticloadbalancing" | "secretsmanager" | "servicequotas";

/** Requests that share a limit, by their names. */
interface Lane {
  readonly name: string;
  readonly calls: RegExp;
  readonly most: CallRate;
}

const looks = /^(Describe|Get|List)/;

/**
 * What Capstan asks of an account in a region at most. EC2 counts each action by itself: what it gives a single one is all that
 * those of a lane get together. Sources: EC2 developer guide, "Request throttling for the Amazon EC2 API"; Elastic Load Balancing
 * user guide, "Request throttling for the ELB API", whose figure for what changes something is left to us.
 */
export const lanes: Readonly<Record<PacedService, readonly Lane[]>> = {
  ec2: [
    { name: "launching", calls: /^RunInstances$/, most: { perSecond: 2, burst: 5 } },
    { name: "looking", calls: looks, most: { perSecond: 20, burst: 100 } },
    { name: "changing", calls: /^/, most: { perSecond: 5, burst: 50 } },
  ],
  elasticloadbalancing: [
    { name: "looking", calls: looks, most: { perSecond: 10, burst: 40 } },
    { name: "changing", calls: /^/, most: { perSecond: 3, burst: 20 } },
  ],
  // AWS allows more of each (Secrets Manager user guide, "AWS Secrets Manager quotas"): one for each host is enough.
  secretsmanager: [
    { name: "looking", calls: looks, most: { perSecond: 20, burst: 50 } },
    { name: "changing", calls: /^/, most: { perSecond: 10, burst: 50 } },
  ],
  // AWS tells no figure: few are asked for.
  servicequotas: [{ name: "looking", calls: /^/, most: { perSecond: 2, burst: 5 } }],
};

/**
 * The paces of one process, by service, account and region: whoever asks with whichever credentials shares them with all
 * others that are led to the same account.
 */
export class RequestPaces {
  private readonly known = new Map<string, AdaptivePace>();

  /** The pace that a request, e.g. "DescribeVpcs", has to keep. */
  of(service: PacedService, call: string, cloud: CloudIdentity): AdaptivePace {
    const lane = lanes[service].find(({ calls }) => calls.test(call));
    if (lane === undefined) throw new Error(`no lane for ${service}:${call}`);
    const place = Object.entries(cloud).sort(([one], [other]) => (one < other ? -1 : 1));
    const key = JSON.stringify([service, lane.name, place]);
    const pace = this.known.get(key) ?? new AdaptivePace(lane.most);
    this.known.set(key, pace);
    return pace;
  }
}
