import type { Estimate } from "../../src/cli/estimate.js";
import type { Times } from "../../src/cli/progress.js";
import { Stopwatch } from "../../src/cli/stopwatch.js";
import type { Clock } from "../../src/provider/port.js";

/** Times of a command that begins now, with an estimate that stays. */
export function timesOf(clock: Clock, estimate: Estimate = { kind: "none" }): Times {
  const stopwatch = new Stopwatch(clock);
  return {
    now: () => clock.now(),
    elapsedMs: () => stopwatch.elapsedMs(),
    estimate: () => estimate,
  };
}
