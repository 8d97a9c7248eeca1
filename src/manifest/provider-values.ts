import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { isJsonObject } from "../api/json.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import {
  findServed,
  presentApiVersion,
  type ProviderObject,
  servedVersions,
  toStorageVersion,
} from "../api/served-versions.js";
import type { AnyObject } from "../api/types.js";
import { checkUserDataFields } from "../api/user-data-fields.js";
import { providerValuePaths, valueAt, withReplaced } from "./object-parts.js";
import { validateUnknown } from "./unknown-values.js";

/** What is wrong with the provider's objects in one object, whether or not the rest of it is right. */
export function checkProviderValues(
  object: AnyObject,
  providers: readonly ProviderSpecs[],
): Violation[] {
  return providerValuePaths(object.kind).flatMap((path) =>
    checkProviderValue(valueAt(object, path), { path, of: object }, providers),
  );
}

/** The provider's own object against that provider's schema; fills in its defaults. */
export function checkProviderValue(
  value: unknown,
  { path, of }: { readonly path: MemberPath; readonly of: AnyObject },
  providers: readonly ProviderSpecs[],
): Violation[] {
  if (!isJsonObject(value) || typeof value["apiVersion"] !== "string") return [];
  const served = findServed(providers, value["apiVersion"]);
  if (served === undefined) {
    const known = providers.flatMap(servedVersions).map(({ apiVersion }) => apiVersion);
    const summary = `no provider has ${JSON.stringify(value["apiVersion"])}`;
    const hint = `known: ${known.join(", ")}`;
    return [{ code: "PROVIDER_UNKNOWN", path: [...path, "apiVersion"], summary, hint }];
  }
  const { clusterSpec, machineSpec } = served.version;
  const isForCluster =
    of.kind === "MachineClass" ? value["kind"] === clusterSpec.kind : of.kind === "Cluster";
  const { schema } = isForCluster ? clusterSpec : machineSpec;
  return [...validateUnknown(schema, value), ...checkUserDataFields(schema, value)].map(
    (violation) => ({
      ...violation,
      path: [...path, ...violation.path],
    }),
  );
}

/**
 * Writes the provider's objects in an object, which was validated by nobody yet, under the present name of their API group.
 * Answers which ones had a former name. Changes the object.
 */
export function presentGroups(object: AnyObject, providers: readonly ProviderSpecs[]): Violation[] {
  return providerValuePaths(object.kind).flatMap((path): Violation[] => {
    const value = valueAt(object, path);
    const written = isJsonObject(value) ? value["apiVersion"] : undefined;
    const now = presentApiVersion(providers, written);
    if (!isJsonObject(value) || now === undefined) return [];
    Object.assign(value, { apiVersion: now });
    return [
      {
        code: "OLD_SPELLING",
        path: [...path, "apiVersion"],
        summary: `${JSON.stringify(written)} is a former name of ${now}`,
        hint: `write ${now}`,
      },
    ];
  });
}

/** The deprecated versions that an object is written in, each with the one to write. Pure. */
export function deprecatedVersions(
  object: AnyObject,
  providers: readonly ProviderSpecs[],
): Violation[] {
  return providerValuePaths(object.kind).flatMap((path): Violation[] => {
    const written = valueAt(object, [...path, "apiVersion"]);
    const served = findServed(providers, written);
    if (served?.version.deprecated !== true) return [];
    const { apiVersion } = served.provider;
    return [
      {
        code: "PROVIDER_DEPRECATED",
        path: [...path, "apiVersion"],
        summary: `${JSON.stringify(written)} is deprecated`,
        hint: `write ${apiVersion}; capstan explain ${String(valueAt(object, [...path, "kind"]))} tells its fields`,
      },
    ];
  });
}

/** What of the provider's objects in a valid object has no effect in the version that they are written in. Pure. */
export function idleMembers(object: AnyObject, providers: readonly ProviderSpecs[]): Violation[] {
  return providerValuePaths(object.kind).flatMap((path): Violation[] => {
    const value = valueAt(object, path);
    if (!isJsonObject(value)) return [];
    const version = findServed(providers, value["apiVersion"])?.version;
    const spec =
      value["kind"] === version?.clusterSpec.kind ? version?.clusterSpec : version?.machineSpec;
    return (spec?.idle?.(value) ?? []).map((member) => ({
      code: "NO_EFFECT",
      path: [...path, ...member.path],
      summary: `has no effect on provider objects of ${String(value["apiVersion"])}`,
      hint: member.reason,
    }));
  });
}

/** A valid object with its provider's object in the storage version, and what keeps it from that. Pure. */
export function inStorageVersion(
  object: AnyObject,
  providers: readonly ProviderSpecs[],
): { readonly object: AnyObject; readonly violations: readonly Violation[] } {
  const violations: Violation[] = [];
  const stored = providerValuePaths(object.kind).reduce(
    (current, path) =>
      withReplaced(current, path, (value) => {
        const written = value as ProviderObject;
        const result = toStorageVersion(providers, written);
        if (result.kind === "stored") return result.object;
        if (result.kind === "failed") {
          const { apiVersion, reason } = result;
          violations.push({
            code: "PROVIDER_CONVERSION",
            path: [...path, "apiVersion"],
            summary: `cannot be converted to ${apiVersion}: ${reason}`,
            hint: `write it in ${apiVersion}`,
          });
        }
        return written;
      }),
    object,
  );
  return { object: stored, violations };
}
