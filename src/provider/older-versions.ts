import { isJsonObject, type JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { IdleMember, ServedVersion } from "../api/provider-specs.js";
import { apiGroupOf } from "../api/served-versions.js";
import { type ClusterSpecDefinition, type SpecDefinition, specSchema } from "./spec-schema.js";

/** A version that manifests and records may still be written in. Its kinds are those of the storage version. */
export interface OlderVersionDefinition {
  /** Of the storage version's API group, e.g. "folder.example.dev/v1alpha1". */
  readonly apiVersion: string;
  /** What it was called while its API group had another name, e.g. "folder/v1alpha1". None without. */
  readonly formerly?: readonly string[];
  /** Whether who writes it is warned. */
  readonly deprecated?: boolean;
  /** As in the next newer version without it. */
  readonly machineSpec?: Omit<SpecDefinition, "kind"> & Conversion;
  /** As in the next newer version without it. */
  readonly clusterSpec?: Omit<ClusterSpecDefinition, "kind"> & Conversion;
}

interface Conversion {
  /** The fields of a valid object, defaults filled in, as those of the next newer version. Pure. */
  readonly convert: (fields: JsonObject) => JsonObject;
  /** What of a valid object has no effect, and why: who sets it is warned. Nothing without. Pure. */
  readonly idle?: (fields: JsonObject) => readonly IdleMember[];
}

/** What a version says of its two kinds of object. */
interface VersionParts {
  readonly clusterSpec: ClusterSpecDefinition;
  readonly machineSpec: SpecDefinition;
}

/** The older versions with what they leave to newer ones, in their order: newest first. Pure. */
export function olderVersionsOf(
  storage: VersionParts,
  definitions: readonly OlderVersionDefinition[],
): ServedVersion[] {
  const { kind: clusterKind } = storage.clusterSpec;
  const { kind: machineKind } = storage.machineSpec;
  let newer = storage;
  return definitions.map((older): ServedVersion => {
    const { apiVersion } = older;
    const clusterSpec = { ...(older.clusterSpec ?? newer.clusterSpec), kind: clusterKind };
    const machineSpec = { ...(older.machineSpec ?? newer.machineSpec), kind: machineKind };
    newer = { clusterSpec, machineSpec };
    return omitUndefined({
      apiVersion,
      formerly: older.formerly,
      deprecated: older.deprecated,
      clusterSpec: omitUndefined({
        kind: clusterKind,
        schema: specSchema(apiVersion, clusterSpec),
        networks: clusterSpec.networks,
        convert: older.clusterSpec?.convert,
        idle: older.clusterSpec?.idle,
      }),
      machineSpec: omitUndefined({
        kind: machineKind,
        schema: specSchema(apiVersion, machineSpec),
        convert: older.machineSpec?.convert,
        idle: older.machineSpec?.idle,
      }),
    });
  });
}

/** What is wrong with a provider's older versions, which no compiler may have seen, in words. Pure. */
export function olderVersionProblems(storage: unknown, olderVersions: unknown = []): string[] {
  if (!Array.isArray(olderVersions)) return ["olderVersions must be a list"];
  const seen = new Set([storage]);
  return olderVersions.flatMap((older: unknown, index): string[] => {
    const { apiVersion, formerly, clusterSpec, machineSpec } = membersOf(older);
    const name = `olderVersions[${index}]`;
    const isOfGroup = apiGroupOf(String(apiVersion)) === apiGroupOf(String(storage));
    const isNew = !seen.has(apiVersion);
    seen.add(apiVersion);
    const parts = { clusterSpec, machineSpec };
    return [
      ...(isOfGroup && isNew
        ? []
        : [`${name}.apiVersion must be another version of ${String(storage)}`]),
      ...(isListOfGroups(formerly, storage)
        ? []
        : [`${name}.formerly must be a list of apiVersions of other API groups`]),
      ...Object.entries(parts).flatMap(([part, spec]) => partProblems(`${name}.${part}`, spec)),
    ];
  });
}

/** A name of the group that there is would be another version, and no former name. */
function isListOfGroups(names: unknown = [], storage: unknown): boolean {
  if (!Array.isArray(names)) return false;
  const own = apiGroupOf(String(storage));
  return (names as unknown[]).every(
    (name) => typeof name === "string" && /^[^/]+\/[^/]+$/.test(name) && apiGroupOf(name) !== own,
  );
}

function partProblems(name: string, part: unknown): string[] {
  if (part === undefined) return [];
  const { schema, convert } = membersOf(part);
  return [
    ...(isJsonObject(schema) ? [] : [`${name} must have a schema`]),
    ...(convert === undefined || typeof convert === "function"
      ? []
      : [`${name}.convert must be a function`]),
  ];
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(value) ? value : {};
}
