import type { JsonObject } from "../api/json.js";
import type { ManagedFields } from "./field-owners.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { apiVersion, clusterNameLabel, isSharedKind, type Kind } from "../api/schema.js";

/** What an API server keeps in metadata of the objects that we read. */
export interface LiveMetadata {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  /** Somebody asked to delete it, and finalizers are left. */
  readonly deletionTimestamp?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly ManagedFields[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** An object of ours as an API server has it: of the right shape by its CRD, but not yet validated. */
export interface LiveObject {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: LiveMetadata;
  readonly spec?: JsonObject;
  /** Of a MachineClass. */
  readonly providerSpec?: JsonObject;
  readonly status?: JsonObject;
}

/** An object without a namespace, as an API server has it. */
export interface ClusterWideObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: LiveMetadata;
  readonly spec?: unknown;
}

/** "<namespace>/<name>" of a Cluster. */
export type ClusterKey = string;

/** An object of a cluster that is known. */
export type ObjectName = Pick<LiveObject, "kind"> & Pick<LiveMetadata, "name">;

/** "Machine default/cp-0". Unique in an API server. */
export function liveName(object: {
  readonly kind: string;
  readonly metadata: Pick<LiveMetadata, "name" | "namespace">;
}): string {
  return `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
}

/** The Cluster that an object is, or says that it belongs to; undefined for what clusters of a namespace share, and for strays. Pure. */
export function clusterKeyOf(object: LiveObject): ClusterKey | undefined {
  const { kind, metadata, spec } = object;
  if (isSharedKind(kind)) return undefined;
  const { namespace, name, labels } = metadata;
  if (kind === "Cluster") return `${namespace}/${name}`;
  if (kind === "MachineHealthCheck") {
    const checked = spec?.["clusterName"];
    return typeof checked === "string" ? `${namespace}/${checked}` : undefined;
  }
  const cluster =
    labels?.[clusterNameLabel] ?? templateMetadataOf(object).labels?.[clusterNameLabel];
  return cluster === undefined ? undefined : `${namespace}/${cluster}`;
}

/** What a set gives to the Machines that it makes; nothing of any other object. Pure. */
export function templateMetadataOf({
  spec,
}: Pick<LiveObject, "spec">): Pick<LiveObject["metadata"], "labels" | "annotations"> {
  const template = spec?.["template"] as Partial<Pick<LiveObject, "metadata">> | undefined;
  return template?.metadata ?? {};
}

/** Whether another object made it and keeps it: not a goal of a user, but what follows from one. */
export function controllerOf({ metadata }: LiveObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

/** Whether something else than we keeps it: its makers alone change it or let it go. */
export function isForeign(object: LiveObject): boolean {
  const controller = controllerOf(object);
  if (controller === undefined || object.kind === "Cluster") return false;
  const isSet = controller.kind === "MachineSet" || controller.kind === "MachineDeployment";
  return !isSet || controller.apiVersion !== apiVersion;
}

export function isDeleting({ metadata }: Pick<LiveObject, "metadata">): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** Everything in an API server that has to do with one Cluster. */
export interface LiveCluster {
  readonly key: ClusterKey;
  /** Absent where only members are left. */
  readonly cluster?: LiveObject;
  /** Machines, MachineSets and MachineDeployments, users' and derived ones, and MachineHealthChecks. */
  readonly members: readonly LiveObject[];
  /** MachineClasses of the namespace. */
  readonly classes: readonly LiveObject[];
  /** MachineDrainRules of the namespace. */
  readonly drainRules: readonly LiveObject[];
}

/** A Cluster of what belongs to it and what the clusters of its namespace share, of any kinds. Pure. */
export function liveClusterOf(
  key: ClusterKey,
  own: readonly LiveObject[],
  beside: readonly LiveObject[],
): LiveCluster {
  return omitUndefined({
    key,
    cluster: own.find(({ kind }) => kind === "Cluster"),
    members: own.filter(({ kind }) => kind !== "Cluster"),
    classes: beside.filter(({ kind }) => kind === "MachineClass"),
    drainRules: beside.filter(({ kind }) => kind === "MachineDrainRule"),
  });
}
