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
  // One growing text: a fifth of a plan is spent here, and lists of parts cost twice as much.
  let text = "";
  if (Array.isArray(value)) {
    for (const item of value) text += `${text === "" ? "" : ","}${canonicalJson(item)}`;
    return `[${text}]`;
  }
  if (!isJsonObject(value)) return JSON.stringify(value ?? null);
  for (const key of Object.keys(value).sort()) {
    const member = value[key];
    if (member === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(member)}`;
  }
  return `{${text}}`;
}

/** Structural equality of JSON values; key order and absent members do not count, and what is absent is null. */
export function sameJson(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((item, index) => sameJson(item, right[index]));
  }
  if (!isJsonObject(left) || !isJsonObject(right)) {
    return canonicalJson(left) === canonicalJson(right);
  }
  const names = presentIn(left);
  if (names.length !== presentIn(right).length) return false;
  return names.every((key) => right[key] !== undefined && sameJson(left[key], right[key]));
}

function presentIn(value: JsonObject): string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
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
