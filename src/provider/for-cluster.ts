import { providerOf } from "../api/served-versions.js";
import { type AnyObject, type ClusterObject, providerValue } from "../api/types.js";
import type { InfrastructureProvider } from "./port.js";

/** The provider of a Cluster that was read, with the credentials that it names: for all calls about that cluster. */
export function providerFor(
  cluster: ClusterObject,
  providers: readonly InfrastructureProvider[],
): InfrastructureProvider {
  return boundTo(providerOf(cluster, providers), cluster);
}

/** The same of a provider that is known, and objects that are recorded; itself where no Cluster is among them. */
export function boundToRecorded(
  provider: InfrastructureProvider,
  objects: readonly AnyObject[] = [],
): InfrastructureProvider {
  const cluster = objects.find((one): one is ClusterObject => one.kind === "Cluster");
  return cluster === undefined ? provider : boundTo(provider, cluster);
}

function boundTo(
  provider: InfrastructureProvider,
  { spec }: ClusterObject,
): InfrastructureProvider {
  return provider.forCluster?.(providerValue(spec)) ?? provider;
}
