// A hash reaches nothing outside, wherever it is computed; in JavaScript it is a quarter of a plan.
// eslint-disable-next-line no-restricted-imports
import { hash } from "node:crypto";
import { canonicalJson } from "./json.js";

/** SHA-256 of a JSON value's canonical text, as the first `digits` hexadecimal digits (up to 64). */
export function digestOf(value: unknown, digits = 64): string {
  return hash("sha256", canonicalJson(value), "hex").slice(0, digits);
}
