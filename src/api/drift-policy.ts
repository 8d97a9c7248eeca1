import { type Annotations, ownAnnotationPrefix } from "./update-policy.js";

/**
 * What becomes of a resource that is no longer as it is recorded. `report`: it is told of and left
 * alone. `correct`: it is made as it shall be, in place where the provider can. `replace`: a new host
 * takes its place, whatever the provider could do. `ignore`: nobody is told, and `capstan up` leaves it
 * alone as well.
 */
export const driftPolicies = ["report", "correct", "replace", "ignore"] as const;
export type DriftPolicy = (typeof driftPolicies)[number];

/** The annotations that speak about drift: the API has no fields for it. */
export const driftAnnotations = {
  policy: `${ownAnnotationPrefix}drift-policy`,
  maxUnhealthy: `${ownAnnotationPrefix}drift-max-unhealthy`,
  maxInFlight: `${ownAnnotationPrefix}drift-max-in-flight`,
  freeze: `${ownAnnotationPrefix}drift-freeze`,
  thaw: `${ownAnnotationPrefix}drift-thaw`,
} as const;

/** The first policy that somebody asks for, nearest first; `correct` without any. Pure. */
export function nearestDriftPolicy(nearestFirst: readonly Annotations[]): DriftPolicy {
  const asked = nearestFirst.map((annotations) => annotations?.[driftAnnotations.policy]);
  return asked.find((value) => isDriftPolicy(value)) ?? "correct";
}

function isDriftPolicy(value: unknown): value is DriftPolicy {
  return driftPolicies.some((policy) => policy === value);
}

/** A number of machines, or a share of them. */
export type Bound =
  | { readonly kind: "count"; readonly count: number }
  | { readonly kind: "percent"; readonly percent: number };

/** "3" or "40%"; undefined for anything else. Pure. */
export function parseBound(text: string): Bound | undefined {
  const [, digits = "", sign] = /^(\d{1,6})(%?)$/.exec(text) ?? [];
  if (digits === "") return undefined;
  if (sign === "") return { kind: "count", count: Number(digits) };
  return Number(digits) <= 100 ? { kind: "percent", percent: Number(digits) } : undefined;
}

/** How many of `total` a bound allows. A share is rounded down, but is one at least unless it is 0%. Pure. */
export function boundOf(bound: Bound, total: number): number {
  if (bound.kind === "count") return bound.count;
  return bound.percent === 0 ? 0 : Math.max(1, Math.floor((bound.percent * total) / 100));
}

/** How long the same implausible answer has to last before it is believed. */
export type FreezeTime =
  { readonly kind: "never" } | { readonly kind: "after"; readonly ms: number };

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000 } as const;

/** "never", "90s", "30m" or "2h"; undefined for anything else. Pure. */
export function parseFreezeTime(text: string): FreezeTime | undefined {
  if (text === "never") return { kind: "never" };
  const [, digits, unit] = /^(\d{1,6})([smh])$/.exec(text) ?? [];
  if (digits === undefined) return undefined;
  return { kind: "after", ms: Number(digits) * unitMs[unit as keyof typeof unitMs] };
}

/** What `capstan drift` calls a report: digits and letters. */
export const fingerprintDigits = 12;

export function isFingerprint(text: string): boolean {
  return new RegExp(`^[0-9a-f]{${fingerprintDigits}}$`).test(text);
}
