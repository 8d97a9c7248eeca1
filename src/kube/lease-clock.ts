import { isJsonObject, type Json } from "../api/json.js";
import { systemClock } from "../provider/clock.js";

/**
 * Time for leases. A holder must not believe too long that it holds, a contender must not take too
 * early, and neither may be misled by a clock that somebody sets: each reads the clock that errs on
 * its safe side.
 */
export interface LeaseClock {
  /** Milliseconds since the epoch, for people to read. Nothing is decided by it. */
  wallMs(): number;
  /** Moves as time does or slower: it stands still while the machine is suspended. For contenders. */
  steadyMs(): number;
  /** Moves as time does or faster: by whichever of the machine's two clocks moved more. For holders. */
  cautiousMs(): number;
  /** Resolves after `ms`, rejects with the signal's reason when it aborts first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Below it the two clocks differ by rounding only; a wall clock set back further is followed. */
const setBackMs = 1_000;

/** A lease clock on the machine's monotonic and wall clocks, as read by these two. */
export function leaseClock(
  steadyMs: () => number = () => performance.now(),
  wallMs: () => number = () => Date.now(),
): LeaseClock {
  let highestMs = wallMs() - steadyMs();
  let jumpedMs = 0;
  return {
    wallMs,
    steadyMs,
    cautiousMs: () => {
      const steady = steadyMs();
      const aheadMs = wallMs() - steady;
      if (aheadMs > highestMs) jumpedMs += aheadMs - highestMs;
      if (aheadMs > highestMs || aheadMs < highestMs - setBackMs) highestMs = aheadMs;
      return steady + jumpedMs;
    },
    sleep: (ms, signal) => systemClock.sleep(ms, signal),
  };
}

/** When something is said, for another process of this machine: by the clock that all of them share, and by the wall's. */
interface SaidAt {
  readonly steadyMs: number;
  readonly wallMs: number;
}

export function saidNow(): SaidAt {
  return { steadyMs: sharedSteadyMs(), wallMs: Date.now() };
}

/** How long ago something was said, milliseconds, by whichever clock moved more since; for ever ago what does not say when. */
export function saidAgoMs(said: Json | undefined, now: SaidAt = saidNow()): number {
  const { steadyMs, wallMs } = isJsonObject(said) ? said : {};
  if (typeof steadyMs !== "number" || typeof wallMs !== "number") return Infinity;
  return Math.max(0, now.steadyMs - steadyMs, now.wallMs - wallMs);
}

/** `performance.now` counts from the start of its own process. */
function sharedSteadyMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}
