import { omitUndefined } from "../api/omit-undefined.js";
import type { Json, JsonObject } from "../api/json.js";

/** Brings what Transaction or Revision hold from one schemaVersion to the next. Pure. */
type Migration = (record: JsonObject) => JsonObject;

/**
 * Migrations by the version that they start from: `migrations[1]` makes version 2 out of 1. Every
 * version that was ever released stays readable; test/golden holds a state of each.
 */
const migrations: Readonly<Record<number, Migration>> = {
  // Version 1 knew neither rollback nor history.
  1: (record) => ({
    direction: "forward",
    by: "unknown",
    digestKey: "",
    deadlineAtMs: Number.MAX_SAFE_INTEGER,
    summary: { create: 0, update: 0, delete: 0, lines: [] },
    attempts: [],
    history: [],
    ...record,
  }),
  // Version 2 did not say what was asked for, what its plan had said of the way back, and in which cloud it was.
  2: (record) =>
    omitUndefined({
      goal: { kind: record["direction"] === "back" ? "takeBack" : "up" },
      compensable: [],
      ...record,
      crossed: Array.isArray(record["crossed"])
        ? record["crossed"].map((one: Json) => ({ kind: "version", ...(one as JsonObject) }))
        : record["crossed"],
    }),
  // Version 3 let nothing go, moved no machine and imported none: what it does not say means that.
  3: (record) => record,
  // Version 4 knew one set of keys: they are the first.
  4: ({ keys, ...record }) => (keys === undefined ? record : { ...record, keys: { 1: keys } }),
};

/** What can be done about a record of some version. */
type Migrated =
  | { readonly kind: "current"; readonly record: JsonObject }
  | { readonly kind: "newer"; readonly version: number }
  | { readonly kind: "unreadable"; readonly version: unknown };

/**
 * A decoded record, brought to `current` step by step. A newer one is not touched, and neither is one
 * whose version is no number or from which no migrations lead here. Pure.
 */
export function migrate(
  version: unknown,
  record: JsonObject,
  current: number,
  steps: Readonly<Record<number, Migration>> = migrations,
): Migrated {
  if (typeof version !== "number" || !Number.isInteger(version) || version < 1) {
    return { kind: "unreadable", version };
  }
  if (version > current) return { kind: "newer", version };
  let migrated = record;
  for (let at = version; at < current; at += 1) {
    const step = steps[at];
    if (step === undefined) return { kind: "unreadable", version };
    migrated = step(migrated);
  }
  return { kind: "current", record: migrated };
}
