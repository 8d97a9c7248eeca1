import semver from "semver";
import type { KubeadmObject } from "../../bootstrap/kubeadm/configuration.js";
import {
  controlPlaneConfiguration,
  controlPlaneVersionOf,
} from "../../bootstrap/host/machine-settings.js";
import { machineToCompile } from "../../compile/compile.js";
import type {
  ApiEndpoint,
  InfrastructureProvider,
  MachineToCompile,
  UserDataTerms,
} from "../../provider/port.js";
import { clusterIn, type Target, type TargetMachine } from "../../records/target.js";
import type { WorkloadCluster } from "./workload-cluster.js";

/** A cluster as a target wants it, and where its API server answers. */
interface WantedCluster {
  readonly provider: InfrastructureProvider;
  readonly terms: UserDataTerms;
  readonly target: Target;
  readonly endpoint: ApiEndpoint;
}

/**
 * What the ConfigMap kubeadm-config has to say before a member of the target joins: the member's own version, and its own
 * settings before those of the other members. Members join one at a time, so no other member reads it meanwhile. Pure.
 */
function configurationToJoin(
  cluster: WantedCluster,
  { name: joining }: Pick<TargetMachine, "name">,
): KubeadmObject {
  const members = membersOf(cluster);
  return configurationOf(cluster, [
    ...members.filter(({ name }) => name === joining),
    ...members.filter(({ name }) => name !== joining),
  ]);
}

/** The ConfigMap kubeadm-config says what `configurationToJoin` tells. Returns what was changed, in words. Throws API_SERVER. */
export async function configureToJoin(
  cluster: WorkloadCluster,
  wanted: WantedCluster,
  joining: Pick<TargetMachine, "name">,
): Promise<string | undefined> {
  return cluster.configure(configurationToJoin(wanted, joining));
}

/** What a cluster that has reached its target says of its control plane. */
interface SettledControlPlane {
  /** With the version of the newest member: the ConfigMap kubeadm-config says it, as `kubeadm upgrade` would leave it. */
  readonly configuration: KubeadmObject;
  /** With the version of the oldest member: kube-proxy may not be newer than any API server, and CoreDNS goes with it. */
  readonly ofAddons: KubeadmObject;
}

/** Pure; undefined where the target has no control plane. */
export function settledControlPlane(cluster: WantedCluster): SettledControlPlane | undefined {
  const members = membersOf(cluster);
  if (members.length === 0) return undefined;
  const older = (one: MachineToCompile, other: MachineToCompile) =>
    semver.compare(controlPlaneVersionOf(one), controlPlaneVersionOf(other));
  const newer = (one: MachineToCompile, other: MachineToCompile) => older(other, one);
  return {
    configuration: configurationOf(cluster, members.toSorted(newer)),
    ofAddons: configurationOf(cluster, members.toSorted(older)),
  };
}

/** The ConfigMap kubeadm-config says the configuration, and then kube-proxy and CoreDNS follow. `tell`: what was changed, in words. Throws API_SERVER. */
export async function configureSettled(
  cluster: WorkloadCluster,
  { configuration, ofAddons }: SettledControlPlane,
  tell: (what: string | undefined) => void,
): Promise<void> {
  tell(await cluster.configure(configuration));
  for (const what of await cluster.updateAddons(ofAddons)) tell(what);
}

/** The machines of the control plane that a target wants, as its provider compiles them. Pure. */
export function membersOf({
  provider,
  target,
}: Pick<WantedCluster, "provider" | "target">): MachineToCompile[] {
  return target.machines
    .filter(({ controlPlane }) => controlPlane)
    .map((machine) => machineToCompile(provider, machine));
}

function configurationOf(
  { target, terms, endpoint }: WantedCluster,
  members: readonly MachineToCompile[],
): KubeadmObject {
  return controlPlaneConfiguration({ cluster: clusterIn(target), members, terms, endpoint });
}
