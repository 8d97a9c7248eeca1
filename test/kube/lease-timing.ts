import type { LeaseTiming } from "../../src/kube/lease-steps.js";

/**
 * Short enough that tests can wait for its end, and long enough that a machine that stands still for
 * seconds loses none by that.
 */
export const contenderTiming: LeaseTiming = {
  durationMs: 10_000,
  renewEveryMs: 500,
  renewDeadlineMs: 7_000,
  safetyMs: 500,
  retryEveryMs: 250,
  callTimeoutMs: 3_500,
};
