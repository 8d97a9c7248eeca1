import { gunzipSync, gzipSync } from "node:zlib";
import { CapstanError, messageOf } from "../../api/error.js";
import { canonicalJson, type JsonObject } from "../../api/json.js";
import { stateSchemaVersion } from "../../records/transaction.js";
import { migrate } from "../../transaction/migrate.js";

/** JSON to compact text for state: canonical, gzip, base64. The same value gives the same text. */
export function encodePayload(value: unknown): string {
  return gzipSync(canonicalJson(value), { level: 9 }).toString("base64");
}

/**
 * What a Transaction or Revision holds, from its recorded inputs, brought to the present
 * schemaVersion. Throws SCHEMA_NEWER for what a newer release wrote, BAD_STATE for what cannot be
 * read; `where` names the place.
 */
export function decodeRecord(inputs: JsonObject, where: string): unknown {
  const { schemaVersion } = inputs;
  // A newer payload may not even be compressed the same way, so the version is looked at first.
  if (typeof schemaVersion === "number" && schemaVersion > stateSchemaVersion) {
    throw newer(where, schemaVersion);
  }
  const migrated = migrate(
    schemaVersion,
    decodePayload(inputs["payload"], where),
    stateSchemaVersion,
  );
  switch (migrated.kind) {
    case "current":
      return migrated.record;
    case "newer":
      throw newer(where, migrated.version);
    case "unreadable":
      throw unreadable(where, `its schemaVersion is ${JSON.stringify(migrated.version ?? null)}`);
  }
}

function decodePayload(text: unknown, where: string): JsonObject {
  try {
    const json = gunzipSync(Buffer.from(String(text), "base64")).toString("utf8");
    return JSON.parse(json) as JsonObject;
  } catch (error) {
    throw unreadable(where, messageOf(error), error);
  }
}

function newer(where: string, version: number): CapstanError {
  return new CapstanError({
    code: "SCHEMA_NEWER",
    source: "user",
    message: `cannot read ${where}: its schemaVersion is ${version}, this release reads up to ${stateSchemaVersion}`,
    hint: "use the release that wrote it, or a newer one",
  });
}

function unreadable(where: string, reason: string, cause?: unknown): CapstanError {
  return new CapstanError({
    code: "BAD_STATE",
    source: "engine",
    message: `cannot read ${where}: ${reason}`,
    hint: "the state was left as it is; restore it from a backup of the backend",
    cause,
  });
}
