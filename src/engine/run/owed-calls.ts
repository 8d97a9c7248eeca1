import { isCapstanError } from "../../api/error.js";
import { type Backoff, backoffMs } from "../../provider/backoff.js";
import type { CallContext } from "../../provider/port.js";

/** An API server that does not answer holds up a pass, so it is not asked for everything of it. */
const silenceMs = 30_000;
const againBackoff: Backoff = { firstMs: 500, factor: 2, maxMs: 5_000 };

/** What an API server is to do once, and that nothing waits for. */
interface OwedCall {
  /** How long it is tried at the end, in milliseconds. */
  readonly timeoutMs: number;
  /** Success also when it is done already. Throws API_SERVER and what a look at the cloud fails with. */
  call(ctx: CallContext): Promise<void>;
}

/** What a run owes the API server of its cluster: Nodes of hosts that are gone, and tokens that nobody needs. One that stays is an eyesore, and no more than that. */
export class OwedCalls {
  private owed: OwedCall[] = [];
  private silentUntilMs = 0;

  /** Once, since an engine runs, or hosts are waited for: what fails is tried again when nobody waits. */
  async tryOnce(call: OwedCall, ctx: CallContext): Promise<void> {
    const isSilent = ctx.clock.now() < this.silentUntilMs;
    if (!isSilent && (await isDone(call, ctx))) return;
    if (!isSilent) this.silentUntilMs = ctx.clock.now() + silenceMs;
    this.owed.push(call);
  }

  /** Those that are left, each for its own time, `timeoutMs` at the most. No engine runs meanwhile. */
  async finish(ctx: CallContext, timeoutMs: number): Promise<void> {
    const sinceMs = ctx.clock.now();
    for (let rounds = 1; this.owed.length > 0; rounds += 1) {
      const left: OwedCall[] = [];
      for (const call of this.owed) {
        const isOver = ctx.clock.now() >= sinceMs + Math.min(call.timeoutMs, timeoutMs);
        if (!(await isDone(call, ctx)) && !isOver) left.push(call);
      }
      this.owed = left;
      if (left.length > 0) await ctx.clock.sleep(backoffMs(againBackoff, rounds), ctx.signal);
    }
  }
}

async function isDone(owed: OwedCall, ctx: CallContext): Promise<boolean> {
  try {
    await owed.call(ctx);
    return true;
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    return false;
  }
}
