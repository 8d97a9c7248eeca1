import { isCapstanError } from "../api/error.js";
import type { CallRate, Clock, InfrastructureProvider } from "./port.js";
import { aroundCalls, eachBound, withMembers } from "./provider-calls.js";

/**
 * When calls to one account may begin: no more of them than its rate allows, first come, first served, and none while
 * the cloud asks everybody to slow down.
 */
export class CallPace {
  /** When the account would be idle again if nobody asked for more, milliseconds since the epoch. */
  private idleAtMs = Number.NEGATIVE_INFINITY;
  private stillUntilMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly clock: Clock,
    private readonly rate?: CallRate,
  ) {}

  /** Resolves when the next call may begin. Rejects with the signal's reason when it aborts first. */
  async turn(signal?: AbortSignal): Promise<void> {
    const beginsAtMs = this.next();
    for (;;) {
      const waitMs = Math.max(beginsAtMs, this.stillUntilMs) - this.clock.now();
      if (waitMs <= 0) return;
      await this.clock.sleep(waitMs, signal);
    }
  }

  /** The cloud asks to slow down: no call begins for so long. */
  standStill(ms: number): void {
    this.stillUntilMs = Math.max(this.stillUntilMs, this.clock.now() + ms);
  }

  private next(): number {
    const nowMs = this.clock.now();
    if (this.rate === undefined) return nowMs;
    const gapMs = 1_000 / this.rate.perSecond;
    const slackMs = (this.rate.burst - 1) * gapMs;
    const beginsAtMs = Math.max(nowMs, this.idleAtMs - slackMs);
    this.idleAtMs = Math.max(this.idleAtMs, nowMs) + gapMs;
    return beginsAtMs;
  }
}

/**
 * The same provider, all of whose calls go through one pace: those of every kind, of listings and of looks. Where the
 * cloud has said how long to wait, all of them do. Other credentials may be those of another account: they have a pace of
 * their own.
 */
export function pacedProvider(
  provider: InfrastructureProvider,
  clock: Clock,
): InfrastructureProvider {
  const pace = new CallPace(clock, provider.calls);
  const paced = aroundCalls(provider, async ({ context }, make) => {
    await pace.turn(context.signal);
    try {
      return await make();
    } catch (error) {
      if (isCapstanError(error) && error.code === "CLOUD_THROTTLED") {
        pace.standStill(error.retryAfterMs ?? 0);
      }
      throw error;
    }
  });
  return withMembers(paced, {
    forCluster: eachBound(provider, (bound) => pacedProvider(bound, clock)),
  });
}
