import { backoffMs } from "../provider/backoff.js";
import type { CallContext, ResourceHandler } from "../provider/port.js";
import { looksAt } from "../provider/timing.js";
import { Attempts } from "./attempts.js";
import { isRetryable, mayBeAskedAgain } from "./call-failures.js";
import { gaveUpWaiting } from "./resource-refusals.js";

interface Limits {
  /** How long a resource may take to be as it shall be, milliseconds. */
  readonly readyTimeoutMs: number;
  /** How long what a call needs may take to be usable, milliseconds. */
  readonly usableWithinMs: number;
}

/** How the calls on one kind of resource are made again, and how often it is looked at meanwhile. */
export class Patience {
  constructor(
    private readonly context: CallContext,
    private readonly handler: Pick<ResourceHandler, "timing">,
    private readonly limits: Limits,
  ) {}

  /** When whatever begins now is given up, milliseconds since the epoch. */
  deadline(): number {
    return this.context.clock.now() + this.limits.readyTimeoutMs;
  }

  attemptsUntil(deadlineAtMs: number): Attempts {
    return new Attempts({ deadlineAtMs, usableWithinMs: this.limits.usableWithinMs });
  }

  /** A question: it is asked again for half a minute. Throws what it failed with last. */
  async asking<T>(ask: () => Promise<T>): Promise<T> {
    return this.retrying(this.context.clock.now() + 30_000, ask, isRetryable, () => undefined);
  }

  /** An update or a removal: done twice it has the effect of once, so a lost answer is asked again. */
  changing<T>(
    deadline: number,
    call: () => Promise<T>,
    waits: (error: unknown) => void,
  ): Promise<T> {
    const alive = async () => {
      await this.context.assertEngineAlive();
      return call();
    };
    return this.retrying(deadline, alive, mayBeAskedAgain, waits);
  }

  /** Between two looks at the same resource. Throws DEADLINE. */
  async pause(looks: number, deadline: number, what: string): Promise<void> {
    const { clock, signal } = this.context;
    if (clock.now() > deadline) throw gaveUpWaiting(what, this.limits.readyTimeoutMs);
    await clock.sleep(backoffMs(looksAt(this.handler), looks), signal);
  }

  private async retrying<T>(
    deadline: number,
    call: () => Promise<T>,
    again: (error: unknown) => boolean,
    waits: (error: unknown) => void,
  ): Promise<T> {
    const { clock, signal } = this.context;
    const attempts = this.attemptsUntil(deadline);
    for (;;) {
      try {
        return await call();
      } catch (error) {
        if (!again(error)) throw error;
        const waitMs = attempts.waitMsAfter(error, clock.now());
        waits(error);
        await clock.sleep(waitMs, signal);
      }
    }
  }
}
