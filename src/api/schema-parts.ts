import { type TSchema, Type } from "typebox";
import { maxLabelLength } from "./name-forms.js";
import { keyRules, labelValueRules, rangeRules, type RuleOptions } from "./rules.js";

/** An object whose fields are all known: anything else in it is an error with a suggestion. */
export function closed<P extends Record<string, TSchema>>(
  properties: P,
  description: string,
  rules: RuleOptions | object = {},
) {
  return Type.Object(properties, { additionalProperties: false, description, ...rules });
}

export function stringMap(description: string) {
  return Type.Record(Type.String(), Type.String(), { description });
}

/** Labels as Kubernetes takes them, in a number that an API server can check against a selector. */
export function labelMap(description: string) {
  const value = Type.String({ maxLength: maxLabelLength });
  return Type.Record(Type.String(), value, { description, maxProperties: 64 });
}

/** Marks of Machines and Nodes. What their keys and values may be, src/manifest/label-syntax.ts tells of files. */
export function marks(kind: "labels" | "annotations", description: string) {
  const value = kind === "labels" ? { maxLength: maxLabelLength, ...labelValueRules } : {};
  const options = { description, maxProperties: 64, ...keyRules[kind] };
  return Type.Record(Type.String(), Type.String(value), options);
}

/** One of some words. A plain enum: a union of constants would not fit into a CRD. */
export function stringEnum<const V extends readonly string[]>(values: V, options: object = {}) {
  return Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });
}

/** Options of a list in which no two members have the same values of these fields. */
export function mapList(...keys: readonly string[]) {
  return { "x-kubernetes-list-type": "map" as const, "x-kubernetes-list-map-keys": keys };
}

export const cidr = Type.String({
  pattern: "^(\\d{1,3}\\.){3}\\d{1,3}/\\d{1,2}$|^[0-9a-fA-F.]*:[0-9a-fA-F:.]*/\\d{1,3}$",
  maxLength: 43,
  description: "An address range such as 10.0.0.0/16 or fd00::/48.",
  ...rangeRules,
});

/** A semantic version, with or without a leading v. Source: semver.org 2.0.0. */
export function semver(description: string) {
  return Type.String({
    pattern:
      "^v?(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?$",
    maxLength: 64,
    description,
  });
}

/** As an API server keeps an int32. */
export const maxInt32 = 2_147_483_647;

export function seconds(description: string) {
  return Type.Integer({ minimum: 0, maximum: maxInt32, description });
}

/** A number of Machines, or a percentage of the replicas. */
export function intOrPercent(description: string) {
  return Type.Unsafe<number | string>({
    anyOf: [
      { type: "integer", minimum: 0 },
      { type: "string", pattern: "^\\d+%$" },
    ],
    description,
  });
}
