import type { TSchema } from "typebox";
import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { asJson, isJsonObject, type Json } from "../api/json.js";
import type { AnyObject } from "../api/types.js";
import { unknownPaths, unknownValue } from "../api/unknown.js";
import { validate } from "../api/validate.js";
import { providerValuePaths } from "./object-parts.js";
import { memberAt } from "./settings.js";

/** What a provider's object is told by, so that nothing could be checked without. */
const told = new Set<string | number>(["apiVersion", "kind"]);

/**
 * What is unknown in an object although Capstan decides by it: anything outside of the provider's objects. These alone
 * are the cloud's business, which may be told later. Pure.
 */
export function checkUnknown(object: AnyObject): Violation[] {
  return unknownPaths(asJson(object))
    .filter((path) => !isOfProvider(object, path))
    .map(mustBeKnown);
}

/** Violations without those of values that nobody knows yet: of these a plan needs the type alone. Pure. */
export function tolerated(object: AnyObject, violations: readonly Violation[]): Violation[] {
  return violations.flatMap((violation): Violation[] => {
    if (memberAt(object, violation.path) !== unknownValue) return [violation];
    const isOfType = violation.code !== "WRONG_TYPE" || !isOfProvider(object, violation.path);
    return isOfType ? [] : [mustBeKnown(violation.path)];
  });
}

/** `validate`, for which an unknown value may be a list, too: one with an unknown item, in place. */
export function validateUnknown(schema: TSchema, value: unknown): Violation[] {
  const violations = validate(schema, value);
  const lists = violations.filter(
    ({ wanted, path }) => wanted === "list" && memberAt(value, path) === unknownValue,
  );
  for (const { path } of lists) makeList(value, path);
  return lists.length === 0 ? violations : validate(schema, value);
}

function makeList(value: unknown, path: MemberPath): void {
  const above = memberAt(value, path.slice(0, -1));
  const last = path.at(-1);
  if (Array.isArray(above)) (above as Json[])[Number(last)] = [unknownValue];
  else if (isJsonObject(above)) Object.assign(above, { [String(last)]: [unknownValue] });
}

function isOfProvider({ kind }: AnyObject, path: MemberPath): boolean {
  return providerValuePaths(kind).some((place) => {
    const rest = path.slice(place.length);
    const isInside = rest.length > 0 && place.every((part, index) => part === path[index]);
    return isInside && !(rest.length === 1 && told.has(rest[0] ?? ""));
  });
}

function mustBeKnown(path: MemberPath): Violation {
  return {
    code: "VALUE_UNKNOWN",
    path,
    summary: "its value is known only after other resources are made",
    detail: "No plan can be made without it: only texts of a provider's object may be told later.",
    hint: "give a value that is known before, as of the configuration or a StackReference; with --skip-preview, pulumi up waits for it",
  };
}
