import type { Backoff } from "./backoff.js";
import type { InfrastructureProvider, CloudTiming, ResourceHandler } from "./port.js";

/** What is assumed of a cloud that says nothing about itself. */
export const defaultTiming: CloudTiming = { listingLagMs: 2_000, longestCallMs: 10_000 };

export function timingOf(provider: Pick<InfrastructureProvider, "timing">): CloudTiming {
  return provider.timing ?? defaultTiming;
}

/** How long what a call needs may take to be usable, milliseconds. Pure. */
export function usableWithinMsOf(provider: Pick<InfrastructureProvider, "timing">): number {
  return timingOf(provider).usableWithinMs ?? 120_000;
}

const firstLooks: Backoff = { firstMs: 25, factor: 1.5, maxMs: 1_000 };

/** Between two looks at resources of a kind that are waited for. Pure. */
export function looksAt(handler: Pick<ResourceHandler, "timing"> | undefined): Backoff {
  return { ...firstLooks, maxMs: handler?.timing?.pollMs ?? firstLooks.maxMs };
}
