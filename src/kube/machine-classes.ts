import { isJsonObject, type Json } from "../api/json.js";
import { type ApiWrite, patched, released, withFinalizer } from "./api-write.js";
import {
  isDeleting,
  isForeign,
  type LiveCluster,
  type LiveObject,
  liveName,
} from "./live-object.js";

// MachineClasses are shared by the clusters of a namespace. A class that a cluster's objects name is kept,
// as Kubernetes keeps a volume that a Pod uses: deleting it waits until nobody names it any more.

const inUse = ".capstan.dev/in-use";

/** Kept on a MachineClass as long as objects of that Cluster name it, one for each: "prod.capstan.dev/in-use". */
export function classFinalizer(cluster: string): string {
  return `${cluster}${inUse}`;
}

/** Names of the Clusters that keep a class. Pure. */
export function clustersKeeping({ kind, metadata }: LiveObject): string[] {
  if (kind !== "MachineClass") return [];
  const own = (metadata.finalizers ?? []).filter((one) => one.endsWith(inUse));
  return own.map((one) => one.slice(0, -inUse.length));
}

/** Keeps the classes that the cluster's objects name. Pure. */
export function claimedClasses(live: LiveCluster): ApiWrite[] {
  const finalizer = classFinalizer(clusterNameIn(live));
  return usedClasses(live)
    .map(({ machineClass }) => machineClass)
    .filter((one) => !isForeign(one))
    .flatMap((on) =>
      patched(on, { metadata: { ...on.metadata, finalizers: withFinalizer(on, finalizer) } }),
    );
}

/** Lets the classes go that the cluster's objects name no more. Pure. */
export function releasedClasses(live: LiveCluster): ApiWrite[] {
  const used = new Set(usedClasses(live).map(({ machineClass }) => machineClass));
  return live.classes
    .filter((one) => !used.has(one))
    .flatMap((one) => released(one, [classFinalizer(clusterNameIn(live))]));
}

/** Says which classes somebody has deleted although the cluster's objects name them; undefined for none. Pure. */
export function goingClassesText(live: LiveCluster): string | undefined {
  const going = usedClasses(live).filter(({ machineClass }) => isDeleting(machineClass));
  if (going.length === 0) return undefined;
  return going
    .map(
      ({ machineClass, users }) =>
        `${liveName(machineClass)} is being deleted, and is kept while ${users.map(liveName).join(", ")} names it`,
    )
    .join("; ");
}

interface UsedClass {
  readonly machineClass: LiveObject;
  readonly users: readonly LiveObject[];
}

/**
 * The classes that the cluster's objects name. What is being deleted needs none any more: its machines are
 * recorded with what their classes held. Pure.
 */
function usedClasses({ cluster, members, classes }: LiveCluster): UsedClass[] {
  if (cluster === undefined || isDeleting(cluster)) return [];
  const objects = [cluster, ...members].filter((one) => !isDeleting(one));
  return classes.flatMap((machineClass) => {
    const users = objects.filter((one) => classNamedBy(one) === machineClass.metadata.name);
    return users.length === 0 ? [] : [{ machineClass, users }];
  });
}

/** The classes that any of the objects names. Pure. */
export function classesNamedBy(
  objects: readonly LiveObject[],
  classes: readonly LiveObject[],
): LiveObject[] {
  const names = new Set(objects.map(classNamedBy));
  return classes.filter(({ metadata }) => names.has(metadata.name));
}

function classNamedBy({ kind, spec }: LiveObject): string | undefined {
  const isSet = kind === "MachineSet" || kind === "MachineDeployment";
  const path = ["providerSpec", "valueFrom", "machineClass", "name"];
  const name = [...(isSet ? ["template", "spec"] : []), ...path].reduce<unknown>(
    (value, member) => (isJsonObject(value) ? value[member] : undefined),
    spec,
  );
  return typeof name === "string" ? name : undefined;
}

function clusterNameIn({ key }: LiveCluster): string {
  return key.slice(key.indexOf("/") + 1);
}

/** The object with what its MachineClasses say in the place of their names. */
export function withoutClasses<T>(object: T): T {
  return inlined(object as Json) as T;
}

function inlined(value: Json): Json {
  if (Array.isArray(value)) return value.map((item: Json) => inlined(item));
  if (!isJsonObject(value)) return value;
  const isResolved = "value" in value && "valueFrom" in value;
  const members = Object.entries(value).filter(([key]) => !isResolved || key !== "valueFrom");
  return Object.fromEntries(members.map(([key, member]) => [key, inlined(member)]));
}
