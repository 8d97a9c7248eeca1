import {
  domainOffer,
  domainOfHost,
  isDomainNamed,
  withoutDomain,
} from "../../api/failure-domains.js";
import type { JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { type ClusterObject, type Desired, providerValue } from "../../api/types.js";
import { machineSpecOf } from "../../provider/host-spec.js";
import type { InfrastructureProvider, Observed } from "../../provider/port.js";
import type { TargetMachine } from "../../records/target.js";
import type { ExpandedMachine } from "../../sets/expanded.js";
import { inNameOrder } from "../../sets/name-order.js";
import { machineNameOf } from "../../records/host-name.js";

/**
 * Where hosts are that no record tells of, by machine. Of several hosts of one machine one in a domain that is offered
 * counts, and of those the newest that is ready. Pure.
 */
export function domainsOf(
  found: readonly Observed[],
  desired: Desired,
  provider: InfrastructureProvider,
): Map<string, string> {
  const offer = domainOffer(provider, providerValue(desired.cluster.spec));
  const { failureDomains, hostKind } = provider;
  if (offer === undefined || failureDomains === undefined) return new Map();
  const bestLast = found
    .filter(({ who }) => who.kind === hostKind)
    .flatMap((host) => {
      const domain = domainOfHost(failureDomains, host.spec);
      return domain === undefined
        ? []
        : [{ host, domain, isOffered: offer.domains.includes(domain) }];
    })
    .sort(
      (left, right) =>
        Number(left.isOffered) - Number(right.isOffered) || newestReadyFirst(right.host, left.host),
    );
  return new Map(bestLast.map(({ host, domain }) => [machineNameOf(host.who.name), domain]));
}

/** Of several hosts of one machine, as far as their own state decides. Pure. */
export function newestReadyFirst(left: Observed, right: Observed): number {
  return (
    Number(right.phase === "ready") - Number(left.phase === "ready") ||
    (right.createdAtMs ?? 0) - (left.createdAtMs ?? 0) ||
    inNameOrder(right.who.name, left.who.name)
  );
}

/**
 * What a host tells about its machine. Where Capstan places machines, the place is no part of their specs, unless it
 * stands in what the manifests have. Pure.
 */
export function placedAsFound(
  seen: JsonObject,
  same: ExpandedMachine | undefined,
  {
    cluster,
    provider,
  }: { readonly cluster: ClusterObject; readonly provider: InfrastructureProvider },
): Pick<TargetMachine, "spec" | "failureDomain"> {
  const spec = machineSpecOf(seen, provider);
  const { failureDomains } = provider;
  const offer = domainOffer(provider, providerValue(cluster.spec));
  const isWritten = same !== undefined && offer && isDomainNamed(same.spec, offer.field);
  if (offer === undefined || failureDomains === undefined || isWritten === true) return { spec };
  const failureDomain = domainOfHost(failureDomains, seen);
  return omitUndefined({ spec: withoutDomain(spec, offer.field), failureDomain });
}
