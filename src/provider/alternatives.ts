import { type Json, type JsonObject, sameJson } from "../api/json.js";
import type { InfrastructureProvider, Verdict } from "./port.js";

/** What it takes to ask for alternatives of hosts. */
export type Choosing = Pick<InfrastructureProvider, "hostKind" | "alternatives" | "verdict">;

/** What a resource may be like, best first: as it is wanted, then its alternatives. Pure. */
export function choicesOf(
  provider: Omit<Choosing, "verdict">,
  kind: string,
  wanted: JsonObject,
): readonly JsonObject[] {
  if (kind !== provider.hostKind) return [wanted];
  return [wanted, ...(provider.alternatives?.(wanted) ?? [])];
}

/**
 * What is asked of a resource that is there: of all that it may be like, what takes the fewest changes; the best one where
 * it takes a new resource in any case. So a host that was made where there was room stays what it is. Pure.
 */
export function nearestChoice(
  provider: Choosing,
  kind: string,
  current: JsonObject,
  wanted: JsonObject,
): JsonObject {
  const [best, ...others] = choicesOf(provider, kind, wanted).map((choice) => ({
    choice,
    changes: changesIn(provider.verdict(kind, current, choice)),
  }));
  if (best === undefined || others.length === 0) return wanted;
  return others.reduce((least, one) => (one.changes < least.changes ? one : least), best).choice;
}

/** How many fields change in place; more than any number for a new resource. */
function changesIn(verdict: Verdict): number {
  if (verdict.kind === "same") return 0;
  return verdict.kind === "inPlace" ? verdict.paths.length : Infinity;
}

/** What one choice has that another has not, field by field: `size medium, zone none`. Pure. */
export function differenceText(from: JsonObject, to: JsonObject): string {
  return differencesIn(from, to)
    .map(({ path, value }) => `${path} ${textOf(value)}`)
    .join(", ");
}

/** The fields of `to` that are others in `from`; null where it has none. Pure. */
export function differencesIn(
  from: JsonObject,
  to: JsonObject,
): readonly { readonly path: string; readonly value: Json }[] {
  return [...new Set([...Object.keys(from), ...Object.keys(to)])]
    .filter((path) => !sameJson(from[path] ?? null, to[path] ?? null))
    .map((path) => ({ path, value: to[path] ?? null }));
}

function textOf(value: Json): string {
  if (value === null) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}
