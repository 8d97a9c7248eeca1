import { CapstanError } from "./error.js";
import { digestOf } from "./digest.js";
import type { JsonObject } from "./json.js";
import type { ObjectOf, SharedKind, WrittenMachineSpec, WrittenVersions } from "./schema.js";

export type ClusterObject = ObjectOf<"Cluster">;
/** Address ranges of Services and Pods, and the domain of Services. */
export type ClusterNetwork = ClusterObject["spec"]["clusterNetwork"];
export type MachineObject = ObjectOf<"Machine">;
export type MachineSetObject = ObjectOf<"MachineSet">;
export type MachineDeploymentObject = ObjectOf<"MachineDeployment">;
export type MachineClassObject = ObjectOf<"MachineClass">;
export type MachineDrainRuleObject = ObjectOf<"MachineDrainRule">;
export type MachineHealthCheckObject = ObjectOf<"MachineHealthCheck">;
export type AnyObject =
  | ClusterObject
  | MachineObject
  | MachineSetObject
  | MachineDeploymentObject
  | MachineClassObject
  | MachineDrainRuleObject
  | MachineHealthCheckObject;
/** An object that is a cluster or belongs to one. */
export type ClusterMember = Exclude<AnyObject, ObjectOf<SharedKind>>;
export type { WrittenMachineSpec, WrittenVersions };

/** A container runtime of which nothing is left to choose. */
export type ContainerRuntime = Required<NonNullable<WrittenVersions["containerRuntime"]>>;

/** The versions of a Machine once those that were left out are chosen. */
export type MachineVersions = Omit<WrittenVersions, "kubelet" | "containerRuntime"> & {
  readonly kubelet: string;
  readonly containerRuntime?: ContainerRuntime;
};

/** A Machine's spec as it is planned: versions chosen. */
export type MachineSpec = Omit<WrittenMachineSpec, "versions"> & {
  readonly versions: MachineVersions;
};

/** One Cluster and everything that belongs to it, validated and defaulted. Lists in document order. */
export interface Desired {
  readonly cluster: ClusterObject;
  readonly machines: readonly MachineObject[];
  readonly machineSets: readonly MachineSetObject[];
  readonly machineDeployments: readonly MachineDeploymentObject[];
  /** Those of its namespace that are for Machines of it. */
  readonly drainRules: readonly MachineDrainRuleObject[];
  readonly healthChecks: readonly MachineHealthCheckObject[];
}

/** All of its objects in one list. */
export function objectsOf(desired: Desired): AnyObject[] {
  const { cluster, machineDeployments, machineSets, machines, drainRules, healthChecks } = desired;
  return [
    cluster,
    ...machineDeployments,
    ...machineSets,
    ...machines,
    ...drainRules,
    ...healthChecks,
  ];
}

/** The labels of each Machine of an object. */
export function machineLabelsOf(
  object: MachineObject | MachineSetObject | MachineDeploymentObject,
): Readonly<Record<string, string>> {
  const { metadata } = object.kind === "Machine" ? object : object.spec.template;
  return metadata?.labels ?? {};
}

/** "<namespace>/<name>". */
export function clusterNameOf(cluster: ClusterObject): string {
  return `${cluster.metadata.namespace}/${cluster.metadata.name}`;
}

/** A name becomes a part of paths and keys. Source: https://www.pulumi.com/docs/iac/concepts/stacks/#stack-naming */
const stackNamePattern = /^[A-Za-z0-9][\w.-]*$/;

/**
 * The stack of a cluster that is named "default/prod" or "default.prod", however long the name is; the name of a stack
 * is its own. Throws BAD_USAGE for what can be none. Pure.
 */
export function stackNamed(word: string): string {
  const full = word.replace("/", ".");
  if (stackNamePattern.test(full)) return fittingStackName(full);
  throw new CapstanError({
    code: "BAD_USAGE",
    source: "user",
    message: `${JSON.stringify(word)} is no name of a stack`,
    hint: "a stack is named <namespace>/<cluster> or <namespace>.<cluster>; manifests are named with -f",
  });
}

/** Pulumi refuses longer stack names. Source: architecture section 7. */
export const maxStackNameLength = 100;

/** One stack per Cluster: "<namespace>.<name>", cut and hashed where that is too long for Pulumi. */
export function stackNameOf(cluster: {
  readonly metadata: Pick<ClusterObject["metadata"], "namespace" | "name">;
}): string {
  return fittingStackName(`${cluster.metadata.namespace}.${cluster.metadata.name}`);
}

function fittingStackName(full: string): string {
  if (full.length <= maxStackNameLength) return full;
  const hash = digestOf(full, 8);
  return `${full.slice(0, maxStackNameLength - hash.length - 1)}-${hash}`;
}

/** Control plane is who runs a control plane version. Source: docs/cluster-api.md#older-spellings. */
export function isControlPlane(spec: Pick<MachineSpec, "versions">): boolean {
  return spec.versions.controlPlane !== undefined;
}

/** The same of a spec as written, whose versions may still have to be chosen: its role says it, too. */
export function asksForControlPlane({ roles, versions }: WrittenMachineSpec): boolean {
  return roles?.includes("Master") === true || versions?.controlPlane !== undefined;
}

/** The provider's object of a spec whose references were resolved by src/manifest. */
export function providerValue(spec: {
  readonly providerSpec: WrittenMachineSpec["providerSpec"];
}): JsonObject {
  const { value } = spec.providerSpec;
  if (value === undefined) throw new Error("a validated providerSpec has a value");
  return value;
}
