import { isDeepStrictEqual } from "node:util";
import { canonicalJson, isJsonObject, type Json, type JsonObject } from "../../src/api/json.js";

/** Something that the product does otherwise than cases want, on purpose. */
export interface Deviation {
  readonly reason: string;
  /** What it makes of a case; nothing where it is not about that. Pure. */
  of(given: JsonObject): readonly Difference[];
}

interface Difference {
  /** Names of members, from the outside to the inside. */
  readonly at: readonly string[];
  readonly theirs: Json;
  readonly ours: Json;
}

/**
 * What a case wants of the product, and the reasons why that is not all that it says. A case that does not want what
 * a deviation deviates from is another case than the one that it was listed for: throws an Error.
 */
export function deviating(
  want: JsonObject,
  given: JsonObject,
  deviations: readonly Deviation[],
): { readonly want: JsonObject; readonly reasons: readonly string[] } {
  let ours: JsonObject = want;
  const reasons = new Set<string>();
  for (const { reason, of } of deviations) {
    for (const difference of of(given)) {
      const theirs = memberAt(want, difference.at);
      // Nothing is wanted of it, or just what the product does.
      if (theirs === undefined || areAlike(theirs, difference.ours)) continue;
      refuseOther(theirs, difference);
      ours = withMember(ours, difference.at, difference.ours);
      reasons.add(reason);
    }
  }
  return { want: ours, reasons: [...reasons] };
}

function refuseOther(wanted: Json, { at, theirs }: Difference): void {
  if (areAlike(wanted, theirs)) return;
  const [said, listed] = [JSON.stringify(wanted), JSON.stringify(theirs)];
  throw new Error(`${at.join(".")} is ${said}, and the listed deviation is from ${listed}`);
}

/** Whether two values are the same, whatever the order of what their lists hold. */
function areAlike(one: Json, other: Json): boolean {
  return isDeepStrictEqual(asSets(one), asSets(other));
}

/** The same with the items of every list in one order, so that lists are compared as sets are. Pure. */
export function asSets(value: Json): Json {
  if (isJsonObject(value)) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, asSets(one)]));
  }
  if (!Array.isArray(value)) return value;
  const items = value.map((item: Json) => asSets(item));
  return items.toSorted((left, right) => (canonicalJson(left) < canonicalJson(right) ? -1 : 1));
}

function memberAt(value: Json, at: readonly string[]): Json | undefined {
  const [name, ...inside] = at;
  if (name === undefined) return value;
  const member = isJsonObject(value) ? value[name] : undefined;
  return member === undefined ? undefined : memberAt(member, inside);
}

function withMember(object: JsonObject, at: readonly string[], value: Json): JsonObject {
  const [name = "", ...inside] = at;
  const member = object[name];
  const changed =
    inside.length > 0 && isJsonObject(member) ? withMember(member, inside, value) : value;
  return { ...object, [name]: changed };
}
