import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { canonicalJson } from "./json.js";

/** SHA-256 of a JSON value's canonical text, as the first `digits` hexadecimal digits (up to 64). */
export function digestOf(value: unknown, digits = 64): string {
  return bytesToHex(sha256(utf8ToBytes(canonicalJson(value)))).slice(0, digits);
}
