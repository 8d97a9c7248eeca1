import { sameJson, type Json, type JsonObject } from "../api/json.js";
import { holdsUnknown } from "../api/unknown.js";
import type { Verdict } from "./port.js";

/** What a change of one top-level field takes. A function decides by the two values. */
export type FieldChange =
  /** `disruptive`: what runs is disturbed by it, and how. */
  | { readonly kind: "inPlace"; readonly disruptive?: string }
  | { readonly kind: "replace"; readonly reason: string }
  | { readonly kind: "unsupported"; readonly reason: string };

export type FieldRule =
  FieldChange | ((from: Json | undefined, to: Json | undefined) => FieldChange);

/** Rules by top-level field of a spec. A field without a rule needs a replacement. */
export type FieldRules = Readonly<Record<string, FieldRule>>;

const noRule: FieldChange = { kind: "replace", reason: "this provider cannot change it" };

/**
 * The verdict on a whole spec from rules on its fields: unsupported wins over replace, replace over
 * in place. Pure; paths in the order of the wanted spec's fields, removed fields last.
 */
export function verdictByField(
  rules: FieldRules,
  recorded: JsonObject,
  wanted: JsonObject,
): Verdict {
  const fields = [...new Set([...Object.keys(wanted), ...Object.keys(recorded)])];
  const changes = fields
    .filter((field) => holdsUnknown(wanted[field]) || !sameJson(recorded[field], wanted[field]))
    .map((field) => ({ field, change: changeOf(rules[field], recorded[field], wanted[field]) }));
  if (changes.length === 0) return { kind: "same" };
  const paths = changes.map(({ field }) => field);
  for (const kind of ["unsupported", "replace"] as const) {
    const decisive = changes.flatMap(({ field, change }) =>
      change.kind === kind ? [[field, change.reason] as const] : [],
    );
    const [first] = decisive;
    if (first !== undefined) {
      return { kind, paths, reason: first[1], reasons: Object.fromEntries(decisive) };
    }
  }
  const disruptions = changes.flatMap(({ field, change }) =>
    change.kind === "inPlace" && change.disruptive !== undefined
      ? [[field, change.disruptive] as const]
      : [],
  );
  if (disruptions.length === 0) return { kind: "inPlace", paths };
  return { kind: "inPlace", paths, disruptions: Object.fromEntries(disruptions) };
}

/** The paths that keep a resource from following: none of one that can follow. Pure. */
export function decidingPaths(verdict: Verdict): readonly string[] {
  if (verdict.kind === "same" || verdict.kind === "inPlace") return [];
  return verdict.reasons === undefined ? verdict.paths : Object.keys(verdict.reasons);
}

/** The fields that can never change in place: what names a new generation. */
export function immutableFields(rules: FieldRules, spec: JsonObject): JsonObject {
  const fixed = Object.entries(spec).filter(([field]) => {
    const rule = rules[field] ?? noRule;
    return typeof rule !== "function" && rule.kind !== "inPlace";
  });
  return Object.fromEntries(fixed);
}

function changeOf(
  rule: FieldRule | undefined,
  from: Json | undefined,
  to: Json | undefined,
): FieldChange {
  if (rule === undefined) return noRule;
  return typeof rule === "function" ? rule(from, to) : rule;
}
