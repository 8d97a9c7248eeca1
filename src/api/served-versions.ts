import type { TSchema } from "typebox";
import { messageOf } from "./error.js";
import type { JsonObject } from "./json.js";
import type { ProviderSpecs, ServedVersion } from "./provider-specs.js";
import type { ObjectOf } from "./schema.js";
import { type ClusterObject, clusterNameOf, providerValue } from "./types.js";
import { validate } from "./validate.js";

/** A provider's own object, of any of its versions. */
export type ProviderObject = ObjectOf<"MachineClass">["providerSpec"];

/** What stands before the slash: it names the provider, whatever the version. Pure. */
export function apiGroupOf(apiVersion: string): string {
  return apiVersion.split("/")[0] ?? "";
}

/** What stands behind it. Pure. */
export function versionOf(apiVersion: string): string {
  return apiVersion.split("/")[1] ?? "";
}

/** The storage version, then the older ones, newest first. Pure. */
export function servedVersions(provider: ProviderSpecs): readonly ServedVersion[] {
  return [provider, ...(provider.olderVersions ?? [])];
}

/** The provider that serves an apiVersion, and its version of that name. Pure. */
export function findServed<P extends ProviderSpecs>(
  providers: readonly P[],
  apiVersion: unknown,
): { readonly provider: P; readonly version: ServedVersion } | undefined {
  for (const provider of providers) {
    const version = servedVersions(provider).find((one) => one.apiVersion === apiVersion);
    if (version !== undefined) return { provider, version };
  }
  return undefined;
}

/** What is written today for a former name of a served version; undefined for anything else. Pure. */
export function presentApiVersion(
  providers: readonly ProviderSpecs[],
  written: unknown,
): string | undefined {
  const versions = providers.flatMap(servedVersions);
  return versions.find(({ formerly = [] }) => formerly.some((name) => name === written))
    ?.apiVersion;
}

/** The provider of a Cluster that was read. Validation has seen that there is one. Pure. */
export function providerOf<P extends ProviderSpecs>(
  cluster: ClusterObject,
  providers: readonly P[],
): P {
  const served = findServed(providers, providerValue(cluster.spec)["apiVersion"]);
  if (served !== undefined) return served.provider;
  throw new Error(`no provider for ${clusterNameOf(cluster)}`);
}

/** What becomes of an object that is to be in the storage version. */
type Stored =
  | { readonly kind: "stored"; readonly object: ProviderObject }
  | { readonly kind: "unserved" }
  /** A conversion threw, or made what this version does not allow. */
  | { readonly kind: "failed"; readonly apiVersion: string; readonly reason: string };

/**
 * A valid object in its provider's storage version. What is in that version is given back as it is; anything older is
 * converted from version to version, with the defaults of each. Pure.
 */
export function toStorageVersion(
  providers: readonly ProviderSpecs[],
  written: ProviderObject,
): Stored {
  const served = findServed(providers, written.apiVersion);
  if (served === undefined) return { kind: "unserved" };
  const versions = servedVersions(served.provider);
  let [from, object] = [served.version, written];
  for (const to of versions.slice(0, versions.indexOf(from)).reverse()) {
    const stored = convertOnce(object, from, to);
    if (stored.kind !== "stored") return stored;
    [from, object] = [to, stored.object];
  }
  return { kind: "stored", object };
}

function convertOnce(object: ProviderObject, from: ServedVersion, to: ServedVersion): Stored {
  const role = object.kind === from.clusterSpec.kind ? "clusterSpec" : "machineSpec";
  const { schema: oldSchema, convert = (same: JsonObject) => same } = from[role];
  const { kind, schema } = to[role];
  const given = structuredClone(object);
  try {
    const { apiVersion: _apiVersion, kind: _kind, ...fields } = valid(given, oldSchema);
    const { apiVersion } = to;
    return { kind: "stored", object: valid({ ...convert(fields), apiVersion, kind }, schema) };
  } catch (error) {
    return { kind: "failed", apiVersion: to.apiVersion, reason: messageOf(error) };
  }
}

/** The object with the defaults of its schema. Throws, naming the first thing that is wrong. */
function valid(object: ProviderObject, schema: TSchema): ProviderObject {
  const [wrong] = validate(schema, object);
  if (wrong === undefined) return object;
  throw new Error([...wrong.path, wrong.summary].join(": "));
}
