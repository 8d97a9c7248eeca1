import { clusterNameLabel } from "../../../src/api/schema.js";
import type { Desired } from "../../../src/api/types.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../../support/manifests.js";

/** A Machine as cases name it. With a version of the control plane it is a member of that. */
export interface GivenMember {
  readonly name: string;
  readonly versions?: { readonly controlPlane?: string };
}

export function isMember({ versions }: GivenMember): boolean {
  return (versions?.controlPlane ?? "") !== "";
}

export interface GivenCluster {
  /** "" for none. */
  readonly namespace: string;
  readonly name: string;
  readonly machines: readonly GivenMember[];
}

export interface GivenObject {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** Cases are of a version that no provider has any more: whether they name one is all that counts. */
const servedVersion = "1.34.2";

/** The Cluster with its Machines, as a user would write them. */
export function clusterOf({ namespace, name, machines }: GivenCluster): Desired {
  const members = machines.map((one) => {
    return machine(one.name, isMember(one) ? { controlPlane: servedVersion } : {});
  });
  return desiredOf([cluster({ name }), ...members].map(belongingTo(namespace, name)));
}

/**
 * The clusters that objects make, one for each namespace. A namespace without a Cluster gets one, and a case without
 * objects one with a member of each kind: every object is of a Cluster here, and what fails has to be reached.
 */
export function clustersOf(given: readonly GivenObject[]): Desired[] {
  const namespaces = [...new Set(given.map(({ namespace }) => namespace))];
  if (namespaces.length === 0) return [clusterOfObjects("default", carried)];
  return namespaces.map((namespace) =>
    clusterOfObjects(
      namespace,
      given.filter((one) => one.namespace === namespace),
    ),
  );
}

const carried: readonly Pick<GivenObject, "kind" | "name">[] = [
  { kind: "Machine", name: "carried-control-plane" },
  { kind: "MachineSet", name: "carried-set" },
  { kind: "MachineDeployment", name: "carried-deployment" },
];

function clusterOfObjects(
  namespace: string,
  objects: readonly Pick<GivenObject, "kind" | "name">[],
): Desired {
  const name = objects.find(({ kind }) => kind === "Cluster")?.name ?? "carrier";
  const members = objects.filter(({ kind }) => kind !== "Cluster").map(memberOf);
  return desiredOf([cluster({ name }), ...members].map(belongingTo(namespace, name)));
}

function memberOf({ kind, name }: Pick<GivenObject, "kind" | "name">): Manifest {
  switch (kind) {
    case "Machine":
      return machine(name, name.endsWith("control-plane") ? { controlPlane: servedVersion } : {});
    case "MachineSet":
      return machineSet(name, 1);
    case "MachineDeployment":
      return machineDeployment(name, 1);
    default:
      throw new Error(`objects of kind ${kind} are not covered yet`);
  }
}

function belongingTo(namespace: string, name: string): (manifest: Manifest) => Manifest {
  return (manifest) => {
    const { labels, ...metadata } = manifest["metadata"] as Manifest;
    const place = namespace === "" ? {} : { namespace };
    const belongs = labels === undefined ? {} : { labels: { [clusterNameLabel]: name } };
    return { ...manifest, metadata: { ...metadata, ...place, ...belongs } };
  };
}
