import type { InfrastructureProvider, CloudTiming } from "./port.js";

/** What is assumed of a cloud that says nothing about itself. */
export const defaultTiming: CloudTiming = { listingLagMs: 2_000, longestCallMs: 10_000 };

export function timingOf(provider: Pick<InfrastructureProvider, "timing">): CloudTiming {
  return provider.timing ?? defaultTiming;
}
