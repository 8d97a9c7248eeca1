// A hash reaches nothing outside, wherever it is computed; in JavaScript it is a quarter of a plan.
// eslint-disable-next-line no-restricted-imports
import { createHmac, hash } from "node:crypto";
import { canonicalJson } from "./json.js";

/** SHA-256 of a JSON value's canonical text, as the first `digits` hexadecimal digits (up to 64). */
export function digestOf(value: unknown, digits = 64): string {
  return hash("sha256", canonicalJson(value), "hex").slice(0, digits);
}

/** The same, keyed: it tells nothing about the value to those who do not have the key. */
export function keyedDigestOf(key: string, value: unknown, digits = 64): string {
  return createHmac("sha256", key).update(canonicalJson(value)).digest("hex").slice(0, digits);
}

/** A text's SHA-256 as Content-Security-Policy wants it: "sha256-<base64>". */
export function contentHashOf(text: string): string {
  return `sha256-${hash("sha256", text, "base64")}`;
}
