import { gunzipSync, gzipSync } from "node:zlib";
import { CapstanError, messageOf } from "../api/error.js";
import { canonicalJson } from "../api/json.js";
import { stateSchemaVersion } from "../plan/target.js";

/** JSON to compact text for state: canonical, gzip, base64. The same value gives the same text. */
export function encodePayload(value: unknown): string {
  return gzipSync(canonicalJson(value), { level: 9 }).toString("base64");
}

/** Back from `encodePayload`. Throws BAD_STATE naming where the text was found. */
export function decodePayload<T>(text: unknown, where: string): T {
  try {
    return JSON.parse(gunzipSync(Buffer.from(String(text), "base64")).toString("utf8")) as T;
  } catch (error) {
    throw new CapstanError({
      code: "BAD_STATE",
      source: "engine",
      message: `cannot read the payload of ${where}: ${messageOf(error)}`,
      hint: "the state was left as it is; restore it from a backup of the backend",
      cause: error,
    });
  }
}

/** Throws SCHEMA_NEWER for what a newer release wrote, BAD_STATE for what nobody wrote. */
export function checkSchemaVersion(version: unknown, where: string): void {
  if (version === stateSchemaVersion) return;
  const newer = typeof version === "number" && version > stateSchemaVersion;
  throw new CapstanError({
    code: newer ? "SCHEMA_NEWER" : "BAD_STATE",
    source: newer ? "user" : "engine",
    message: `cannot read ${where}: its schemaVersion is ${JSON.stringify(version ?? null)}, this release reads ${stateSchemaVersion}`,
    hint: newer ? "use the release that wrote it, or a newer one" : "restore the state from a backup",
  });
}
