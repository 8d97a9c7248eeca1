import type { Kind, MachineSpec, ObjectOf } from "./schema.js";

export type ClusterObject = ObjectOf<"Cluster">;
export type MachineObject = ObjectOf<"Machine">;
export type MachineSetObject = ObjectOf<"MachineSet">;
export type MachineDeploymentObject = ObjectOf<"MachineDeployment">;
export type AnyObject = ClusterObject | MachineObject | MachineSetObject | MachineDeploymentObject;
export type { Kind, MachineSpec };

/** One Cluster and everything that belongs to it, validated and defaulted. Lists in document order. */
export interface Desired {
  readonly cluster: ClusterObject;
  readonly machines: readonly MachineObject[];
  readonly machineSets: readonly MachineSetObject[];
  readonly machineDeployments: readonly MachineDeploymentObject[];
}

/** "<namespace>/<name>". */
export function clusterNameOf(cluster: ClusterObject): string {
  return `${cluster.metadata.namespace}/${cluster.metadata.name}`;
}

/** One stack per Cluster: "<namespace>.<name>". */
export function stackNameOf(cluster: ClusterObject): string {
  return `${cluster.metadata.namespace}.${cluster.metadata.name}`;
}

/** Control plane is who runs a control plane version. Source: reference/cluster-api.md 1.0. */
export function isControlPlane(spec: MachineSpec): boolean {
  return spec.versions.controlPlane !== undefined;
}
