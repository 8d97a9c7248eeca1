import { type Input, isSecret, output, type Resource, runtime } from "@pulumi/pulumi";
import { CapstanError } from "../api/error.js";
import { isJsonObject, type Json, type JsonObject } from "../api/json.js";
import { holdsUnknown, unknownValue } from "../api/unknown.js";
import type { Variables } from "../manifest/variables.js";

/** Data as YAML has it. */
type ManifestData =
  string | number | boolean | readonly ManifestData[] | { readonly [name: string]: ManifestData };

/** What a manifest may take from the program: an Output of another resource, or lists and maps of them. */
export type ManifestValue =
  Input<ManifestData> | readonly ManifestValue[] | { readonly [name: string]: ManifestValue };

/** By the name that stands in manifests: `${vpcId}` takes `vpcId`. */
export type ManifestValues = Readonly<Record<string, ManifestValue>>;

/** Values that were waited for. */
export interface SettledValues {
  readonly variables: Variables;
  /** Names of those that a preview does not know, sorted. */
  readonly unknown: readonly string[];
  /** What they are outputs of: the cluster is made after these, and goes before them. */
  readonly resources: readonly Resource[];
}

/**
 * The same without waiting: only plain data is known. So manifests can be read, and most of them checked, before anything
 * else is made.
 */
export function unsettledValues(values: ManifestValues): Variables {
  refuseBadNames(values);
  return new Map(
    Object.entries(values).map(([name, value]) => [name, { typed: unsettled(value) }]),
  );
}

function unsettled(value: unknown): Json {
  if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
    return value;
  }
  if (Array.isArray(value)) return value.map(unsettled);
  // Outputs, promises and whatever else is no data has a class.
  if (!isJsonObject(value) || Object.getPrototypeOf(value) !== Object.prototype) {
    return unknownValue;
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, unsettled(member)]),
  );
}

/**
 * The one place where Outputs become values of manifests. Waits for them; unknown ones stay so in a preview. Throws
 * INVALID_INPUT naming all that are secret, no data, or unknown in an update, which would touch what it does not know.
 */
export async function settledValues(values: ManifestValues): Promise<SettledValues> {
  refuseBadNames(values);
  const [{ given }, resources] = await serialized(values);
  const names = Object.keys(values).sort();
  const unknown = names.filter((name) => holdsUnknown(given[name]));
  const bare: Readonly<Record<string, unknown>> = values;
  const secret = await Promise.all(names.map((name) => isSecret(output(bare[name]))));
  refuse(
    names.filter((_name, index) => secret[index]),
    "is a secret, and manifests hold none: plans and records show their values",
    "name where the secret is, instead of the secret",
  );
  refuse(
    names.filter((name) => !isData(given[name])),
    "is no text, number, truth value, list or map",
    "give an output of a resource, as vpc.id, and not the resource",
  );
  if (!runtime.isDryRun()) {
    refuse(
      unknown,
      "is not known in this update",
      "--target has left out what it is an output of: target that too, or leave --target out",
    );
  }
  const variables = new Map(
    names.map((name) => {
      const typed = given[name] ?? null;
      return [name, typed === null ? undefined : { typed }] as const;
    }),
  );
  return { variables, unknown, resources: [...(resources.get("given") ?? [])] };
}

/** As a resource's inputs go to the engine: unknown values as the sentinel, with what they depend on. */
async function serialized(values: ManifestValues) {
  const [inputs, resources] = await runtime.serializeResourceProperties("cluster()", {
    given: values,
  });
  return [inputs as { readonly given: JsonObject }, resources] as const;
}

/** Pulumi writes everything else as an object that says of which type it is. */
function isData(value: Json | undefined): boolean {
  if (Array.isArray(value)) return value.every((item: Json) => isData(item));
  if (!isJsonObject(value)) return true;
  return !(runtime.specialSigKey in value) && Object.values(value).every(isData);
}

function refuseBadNames(values: ManifestValues): void {
  refuse(
    Object.keys(values).filter((name) => !/^[A-Za-z_]\w*$/.test(name)),
    "is no name of a variable",
    "write letters, digits and _, as vpcId",
  );
}

function refuse(names: readonly string[], reason: string, hint: string): void {
  if (names.length === 0) return;
  throw new CapstanError({
    code: "INVALID_INPUT",
    source: "user",
    message: names
      .map((name) => `cannot use ${name} of the values of cluster(): it ${reason}`)
      .join("\n"),
    hint: `${hint}; nothing was registered`,
  });
}
