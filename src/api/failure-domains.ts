import type { Json, JsonObject } from "./json.js";
import type { WrittenMachineSpec } from "./types.js";

/**
 * Parts of a cloud that fail apart from each other: zones. Capstan spreads the Machines that name none over them.
 * Source: docs/adr/0023, section g.
 */
export interface FailureDomains {
  /** The field of a Machine's provider object that names one. The schema must have no default for it. */
  readonly field: string;
  /**
   * The domains that a cluster offers, by the provider's object of the Cluster: the first is taken first among equals.
   * None: nothing is placed. `lookedUp`: what `resolve` answered about the Cluster; empty where it was not asked. Pure.
   */
  readonly of: (clusterSpec: JsonObject, lookedUp: JsonObject) => readonly string[];
  /** What Machines get that name none where their cluster offers none, as from a default of the schema. */
  readonly otherwise?: string;
  /** Where a host is, from its spec; undefined where that does not tell. Without it: the spec's `field`. Pure. */
  readonly domainOf?: (hostSpec: JsonObject) => string | undefined;
}

/** What a cluster offers: one domain at least, each of them once. */
export interface DomainOffer {
  readonly field: string;
  /** In the provider's order. */
  readonly domains: readonly string[];
}

/** What a provider offers in a cluster; undefined where that is nothing. Pure. */
export function domainOffer(
  { failureDomains }: { readonly failureDomains?: FailureDomains },
  clusterSpec: JsonObject,
): DomainOffer | undefined {
  if (failureDomains === undefined) return undefined;
  const { field, of } = failureDomains;
  const domains = [...new Set(of(clusterSpec, {}))];
  return domains.length === 0 ? undefined : { field, domains };
}

type WithProviderSpec = Pick<WrittenMachineSpec, "providerSpec">;

/** What a Machine says itself of where it is to be. */
function writtenDomain({ providerSpec }: WithProviderSpec, field: string): Json | undefined {
  const value: JsonObject = providerSpec.value ?? {};
  return value[field];
}

/** Whether a Machine says itself where it is to be. Pure. */
export function isDomainNamed(spec: WithProviderSpec, field: string): boolean {
  return writtenDomain(spec, field) !== undefined;
}

/** The domain that a Machine names itself. Pure. */
export function namedDomain(spec: WithProviderSpec, field: string): string | undefined {
  const named = writtenDomain(spec, field);
  return typeof named === "string" ? named : undefined;
}

/** Where a host is, as its spec tells. Pure. */
export function domainOfHost(
  { field, domainOf }: FailureDomains,
  hostSpec: JsonObject,
): string | undefined {
  if (domainOf !== undefined) return domainOf(hostSpec);
  const domain = hostSpec[field];
  return typeof domain === "string" ? domain : undefined;
}

/** The Machine's spec without a domain, so that Capstan places it. Pure. */
export function withoutDomain<S extends WithProviderSpec>(spec: S, field: string): S {
  const { value } = spec.providerSpec;
  if (value === undefined || !isDomainNamed(spec, field)) return spec;
  const { apiVersion, kind, ...fields } = value;
  const others = Object.fromEntries(Object.entries(fields).filter(([name]) => name !== field));
  return {
    ...spec,
    providerSpec: { ...spec.providerSpec, value: { apiVersion, kind, ...others } },
  };
}
