import type { MemberPath, Violation } from "../api/diagnostic-codes.js";
import { isJsonObject } from "../api/json.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import type { AnyObject } from "../api/types.js";
import { validate } from "../api/validate.js";
import { providerValuePaths, valueAt } from "./object-parts.js";

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
  const provider = providers.find((known) => known.apiVersion === value["apiVersion"]);
  if (provider === undefined) {
    const known = providers.map((one) => one.apiVersion).join(", ");
    const summary = `no provider has ${JSON.stringify(value["apiVersion"])}`;
    const hint = `known: ${known}`;
    return [{ code: "PROVIDER_UNKNOWN", path: [...path, "apiVersion"], summary, hint }];
  }
  const isForCluster =
    of.kind === "MachineClass"
      ? value["kind"] === provider.clusterSpec.kind
      : of.kind === "Cluster";
  const { schema } = isForCluster ? provider.clusterSpec : provider.machineSpec;
  return validate(schema, value).map((violation) => ({
    ...violation,
    path: [...path, ...violation.path],
  }));
}
