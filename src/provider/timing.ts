import type { InfrastructureProvider } from "./port.js";

/** How fast a cloud is at its slowest. */
export interface CloudTiming {
  /** How long after a change listings may still show what was before, milliseconds. */
  readonly listingLagMs: number;
  /** How long after its caller died a call may still take effect, milliseconds. */
  readonly longestCallMs: number;
}

/** What is assumed of a cloud that says nothing about itself. */
export const defaultTiming: CloudTiming = { listingLagMs: 2_000, longestCallMs: 10_000 };

export function timingOf(provider: Pick<InfrastructureProvider, "timing">): CloudTiming {
  return provider.timing ?? defaultTiming;
}
