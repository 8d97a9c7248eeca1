import { CapstanError } from "../src/api/error.js";
import type { ProviderSpecs, ServedVersion } from "../src/api/provider-specs.js";
import type { InfrastructureProvider } from "../src/provider/port.js";
import { withMembers } from "../src/provider/provider-calls.js";
import { localProviderName } from "./local/specs.js";

type Schema = ProviderSpecs["clusterSpec"]["schema"];
/** One schema of a provider's objects, made narrower. */
type Narrow = (schema: Schema) => Schema;

/**
 * Fields of the local provider that act on the machine of its user: they run programs there, or hold up its engines. Users of
 * an API server are not that user.
 */
const ownMachineFields = ["nodes", "faults"] as const;

/**
 * The providers as objects of an API server may use them. Without `names` these are all but `local`. A provider that is not offered
 * stays known, so that clusters which have it can be deleted, but refuses each object that is written for it. Errors: BAD_USAGE
 * for a name that no provider has.
 */
export function offeredProviders(
  all: readonly InfrastructureProvider[],
  names: readonly string[] | undefined,
): readonly InfrastructureProvider[] {
  const known = all.map(({ name }) => name);
  const unknown = names?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw noProvider(unknown, known);
  const offered = names ?? known.filter((name) => name !== localProviderName);
  return all.map((provider) => {
    if (!offered.includes(provider.name)) return narrowed(provider, refusing(provider.name));
    return provider.name === localProviderName ? narrowed(provider, withoutOwnMachine) : provider;
  });
}

function noProvider(name: string, known: readonly string[]): CapstanError {
  return new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `cannot offer provider ${name}: there is none of that name`,
    hint: `--providers takes names from: ${known.join(", ")}`,
  });
}

function refusing(name: string): Narrow {
  const description = `this controller does not offer provider ${name}; capstan watch --providers names those that it offers`;
  return (schema) => ({ ...schema, not: { description } });
}

/** The same schema with a refusal in the place of each field that acts on the user's machine. */
function withoutOwnMachine(schema: Schema): Schema {
  const { properties = {} } = schema as { properties?: Readonly<Record<string, unknown>> };
  const refusals = ownMachineFields
    .filter((field) => Object.hasOwn(properties, field))
    .map((field) => {
      const description = `${field} acts on the machine that capstan runs on: manifests in files may have it, objects of an API server may not`;
      return [field, { not: { description } }] as const;
    });
  return { ...schema, properties: { ...properties, ...Object.fromEntries(refusals) } };
}

/** The same provider with narrower schemas in all its versions. */
function narrowed(provider: InfrastructureProvider, narrow: Narrow): InfrastructureProvider {
  const versionOf = <Version extends Pick<ServedVersion, "clusterSpec" | "machineSpec">>(
    version: Version,
  ) => ({
    ...version,
    clusterSpec: { ...version.clusterSpec, schema: narrow(version.clusterSpec.schema) },
    machineSpec: { ...version.machineSpec, schema: narrow(version.machineSpec.schema) },
  });
  const { clusterSpec, machineSpec } = versionOf({
    clusterSpec: provider.clusterSpec,
    machineSpec: provider.machineSpec,
  });
  const olderVersions = provider.olderVersions?.map(versionOf);
  return withMembers(provider, { clusterSpec, machineSpec, olderVersions });
}
