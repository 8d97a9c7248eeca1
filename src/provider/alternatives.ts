import { type Json, type JsonObject, plainText, sameJson } from "../api/json.js";
import type { InfrastructureProvider, Verdict } from "./port.js";

/** What tells how a resource gets to what is wanted of it: a provider, or one under a policy. */
export type VerdictGiver = Pick<InfrastructureProvider, "hostKind" | "alternatives" | "verdict">;

/** What a resource may be like, best first: as it is wanted, then its alternatives. Pure. */
export function choicesOf(
  provider: Omit<VerdictGiver, "verdict">,
  kind: string,
  wanted: JsonObject,
): readonly JsonObject[] {
  if (kind !== provider.hostKind) return [wanted];
  return [wanted, ...(provider.alternatives?.(wanted) ?? [])];
}

/** Whether a choice is one of those specs, whatever the cloud has filled in. Pure. */
export function isAmong(
  provider: Pick<VerdictGiver, "verdict">,
  kind: string,
  choice: JsonObject,
  specs: readonly JsonObject[],
): boolean {
  return specs.some((spec) => provider.verdict(kind, spec, choice).kind === "same");
}

/** What is asked of a resource that is there, and what that takes. */
interface Judgement {
  readonly asked: JsonObject;
  readonly verdict: Verdict;
}

/**
 * What is asked of a resource that is there: of all that it may be like, what takes the fewest changes; the best one where
 * it takes a new resource in any case. So a host that was made where there was room stays what it is. Pure.
 */
export function nearestChoice(
  provider: VerdictGiver,
  kind: string,
  current: JsonObject,
  wanted: JsonObject,
): Judgement {
  const judge = (asked: JsonObject): Judgement => ({
    asked,
    verdict: provider.verdict(kind, current, asked),
  });
  const [, ...others] = choicesOf(provider, kind, wanted);
  return others
    .map(judge)
    .reduce(
      (least, one) => (changesIn(one.verdict) < changesIn(least.verdict) ? one : least),
      judge(wanted),
    );
}

/** How many fields change in place; more than any number for a new resource. */
function changesIn(verdict: Verdict): number {
  if (verdict.kind === "same") return 0;
  return verdict.kind === "inPlace" ? verdict.paths.length : Infinity;
}

/** What one choice has that another has not, field by field: `size medium, zone none`. Pure. */
export function differenceText(from: JsonObject, to: JsonObject): string {
  return differencesIn(from, to)
    .map(({ path }) => `${path} ${plainText(to[path])}`)
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
