/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [key: string]: Json;
}

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Objects of the API, machines and nodes are JSON data; their types only say more. */
export function asJson(value: object): JsonObject {
  return value as JsonObject;
}

/**
 * The canonical text of a JSON value: keys sorted at every depth, absent members left out. Equal
 * values have equal text, whatever order their keys were written in.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (isJsonObject(value)) {
    const members = Object.keys(value)
      .filter((key) => value[key] !== undefined)
      .sort()
      .map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`);
    return `{${members.join(",")}}`;
  }
  return JSON.stringify(value ?? null);
}

/** Structural equality of JSON values; key order and absent members do not count. */
export function sameJson(left: unknown, right: unknown): boolean {
  return left === right || canonicalJson(left) === canonicalJson(right);
}

/** A value in a sentence: a text as it is, "none" for what is absent, else JSON. Pure. */
export function plainText(value: Json | undefined): string {
  if (value === undefined) return "none";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** What a text says as JSON; undefined for what is none. Pure. */
export function parsedJson(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return undefined;
  }
}
