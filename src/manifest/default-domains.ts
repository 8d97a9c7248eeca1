import { domainOffer } from "../api/failure-domains.js";
import { isJsonObject } from "../api/json.js";
import { jsonSchemaOf } from "../api/json-schema.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import { findServed } from "../api/served-versions.js";
import type { ClusterMember, Desired } from "../api/types.js";
import { providerValuePaths, withReplaced } from "./object-parts.js";

/**
 * The objects of a cluster that offers no failure domains, each Machine in the one that its provider has for that case.
 * As they are where domains are offered, since Capstan places who names none. Pure.
 */
export function withDefaultDomains(desired: Desired, providers: readonly ProviderSpecs[]): Desired {
  const { cluster, machines, machineSets, machineDeployments } = desired;
  const value = cluster.spec.providerSpec.value;
  const provider = findServed(providers, value?.apiVersion)?.provider;
  if (value === undefined || provider?.failureDomains?.otherwise === undefined) return desired;
  const isOffered = domainOffer(provider, value) !== undefined;
  if (isOffered) return desired;
  const settled = <O extends ClusterMember>(object: O): O => withDefault(object, provider);
  return {
    ...desired,
    machines: machines.map(settled),
    machineSets: machineSets.map(settled),
    machineDeployments: machineDeployments.map(settled),
  };
}

function withDefault<O extends ClusterMember>(object: O, provider: ProviderSpecs): O {
  return providerValuePaths(object.kind).reduce(
    (current, path) =>
      withReplaced(current, path, (value) =>
        isJsonObject(value) ? withDomain(value, provider) : value,
      ),
    object,
  );
}

/** The field stands where the schema's default would have put it: behind those that come before it there. */
function withDomain(
  value: Readonly<Record<string, unknown>>,
  { machineSpec, failureDomains }: ProviderSpecs,
): Readonly<Record<string, unknown>> {
  const { field = "", otherwise } = failureDomains ?? {};
  if (value[field] !== undefined) return value;
  const { properties = {} } = jsonSchemaOf(machineSpec.schema);
  const names = Object.keys(properties);
  const before = new Set(names.slice(0, names.indexOf(field)));
  const fields = Object.entries(value);
  const place = fields.findLastIndex(([name]) => before.has(name)) + 1;
  return Object.fromEntries(fields.toSpliced(place, 0, [field, otherwise]));
}
