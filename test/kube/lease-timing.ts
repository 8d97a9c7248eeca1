import type { LeaseTiming } from "../../src/kube/lease-steps.js";

/** Short, so that tests need not wait long. */
export const contenderTiming: LeaseTiming = {
  durationMs: 5_000,
  renewEveryMs: 500,
  renewDeadlineMs: 2_500,
  safetyMs: 500,
  retryEveryMs: 250,
  callTimeoutMs: 1_000,
};
