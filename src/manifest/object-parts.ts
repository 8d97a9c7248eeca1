import { isJsonObject } from "../api/json.js";
import type { MemberPath } from "../api/diagnostic-codes.js";
import { clusterNameLabel, isKind, type Kind } from "../api/schema.js";
import type { AnyObject, ClusterMember, WrittenMachineSpec } from "../api/types.js";
import type { Diagnostic } from "./diagnostic.js";

/** What holds objects: an API server keeps more of them than their users wrote. */
export type ObjectHolder = "files" | "apiServer";

/** A Machine's spec wherever it stands: on a Machine or in a template. */
export interface PlacedSpec {
  readonly spec: WrittenMachineSpec;
  /** Where the spec stands in its object. */
  readonly path: MemberPath;
}

/** The Machine specs in an object: a Machine's own, or a template's. */
export function machineSpecsIn(object: AnyObject): PlacedSpec[] {
  switch (object.kind) {
    case "Machine":
      return [{ spec: object.spec, path: ["spec"] }];
    case "MachineSet":
    case "MachineDeployment":
      return [{ spec: object.spec.template.spec, path: ["spec", "template", "spec"] }];
    case "Cluster":
    case "MachineClass":
    case "MachineDrainRule":
    case "MachineHealthCheck":
      return [];
  }
}

/** Labels and annotations, and what carries them: an object, each Machine of a template, or a Node. */
export interface PlacedMetadata {
  readonly metadata: Pick<AnyObject["metadata"], "labels" | "annotations">;
  readonly place: Kind | "template" | "Node";
  /** Where they stand in their object. */
  readonly path: MemberPath;
}

/** All labels and annotations in an object: its own, those of its template, those of Nodes. */
export function metadataIn(object: AnyObject): PlacedMetadata[] {
  const isSet = object.kind === "MachineSet" || object.kind === "MachineDeployment";
  const { metadata: ofTemplate = {} } = isSet ? object.spec.template : {};
  return [
    { metadata: object.metadata, place: object.kind, path: ["metadata"] },
    { metadata: ofTemplate, place: "template", path: ["spec", "template", "metadata"] },
    ...machineSpecsIn(object).map(({ spec: { metadata = {} }, path }): PlacedMetadata => ({
      metadata,
      place: "Node",
      path: [...path, "metadata"],
    })),
  ];
}

/** The providerSpecs in an object. A MachineClass has a bare provider's object instead. */
export function providerSpecsIn(object: AnyObject) {
  if (object.kind === "Cluster") {
    return [{ spec: object.spec.providerSpec, path: ["spec", "providerSpec"] }];
  }
  return machineSpecsIn(object).map(({ spec, path }) => ({
    spec: spec.providerSpec,
    path: [...path, "providerSpec"],
  }));
}

/** Where objects of a kind hold a provider's object. */
export function providerValuePaths(kind: Kind): MemberPath[] {
  const value = ["spec", "providerSpec", "value"];
  switch (kind) {
    case "Cluster":
    case "Machine":
      return [value];
    case "MachineSet":
    case "MachineDeployment":
      return [["spec", "template", ...value]];
    case "MachineClass":
      return [["providerSpec"]];
    case "MachineDrainRule":
    case "MachineHealthCheck":
      return [];
  }
}

/** What stands at a path, undefined where nothing does. */
export function valueAt(value: unknown, path: MemberPath): unknown {
  return path.reduce<unknown>(
    (current, part) => (isJsonObject(current) ? current[part] : undefined),
    value,
  );
}

/** A value with something else at a path; the same one where nothing is there, or nothing else comes. */
export function withReplaced<T>(
  value: T,
  [part, ...rest]: MemberPath,
  replace: (found: unknown) => unknown,
): T {
  if (part === undefined) return replace(value) as T;
  const members: unknown = value;
  if (!isJsonObject(members) || members[part] === undefined) return value;
  const member = withReplaced<unknown>(members[part], rest, replace);
  return member === members[part] ? value : ({ ...members, [part]: member } as T);
}

/** The name of the Cluster that a health check names, that is on the object itself or, for sets, on their template. */
export function clusterOf(object: ClusterMember): string | undefined {
  if (object.kind === "MachineHealthCheck") return object.spec.clusterName;
  const own = object.metadata.labels?.[clusterNameLabel];
  if (own !== undefined || !("template" in object.spec)) return own;
  return object.spec.template.metadata?.labels?.[clusterNameLabel];
}

/** Whether the object is of the Cluster, which is none of its own. */
export function belongsTo(object: ClusterMember, cluster: AnyObject): boolean {
  return (
    object.kind !== "Cluster" &&
    object.metadata.namespace === cluster.metadata.namespace &&
    clusterOf(object) === cluster.metadata.name
  );
}

/** "Machine default/cp-0", as far as the value tells. */
export function describe(value: unknown): string {
  const kind = valueAt(value, ["kind"]);
  const name = valueAt(value, ["metadata", "name"]);
  const namespace = valueAt(value, ["metadata", "namespace"]);
  const shownKind = typeof kind === "string" ? kind : "object";
  if (typeof name !== "string") return shownKind;
  return `${shownKind} ${typeof namespace === "string" ? namespace : "default"}/${name}`;
}

/** The object that a diagnostic is about, from its subject; undefined for none. Pure. */
export function objectOf({ subject = "" }: Diagnostic): { kind: Kind; name: string } | undefined {
  const [kind = "", path = ""] = subject.split(" ");
  const [, name] = path.split("/");
  return name === undefined || !isKind(kind) ? undefined : { kind, name };
}
