import { type TSchema, Type } from "typebox";
import { rangeRules, type RuleOptions } from "./rules.js";

/** Of a label's value; its key may have a prefix of up to 253 characters and a slash. */
export const maxLabelLength = 63;

/** Names that become DNS labels. Source: RFC 1123. */
export const dnsLabel = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/** A DNS name: labels with dots between. Source: RFC 1123, as Kubernetes checks it. */
export const dnsSubdomain = `${dnsLabel.slice(0, -1)}(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`;
export const maxSubdomainLength = 253;

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

/** One of some words. A plain enum: a union of constants would not fit into a CRD. */
export function stringEnum<const V extends readonly string[]>(values: V, options: object = {}) {
  return Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });
}

export const cidr = Type.String({
  pattern: "^(\\d{1,3}\\.){3}\\d{1,3}/\\d{1,2}$|^[0-9a-fA-F:.]*:[0-9a-fA-F:.]*/\\d{1,3}$",
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
