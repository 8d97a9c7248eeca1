import type { JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { apiVersion, clusterNameLabel, type Kind } from "../api/schema.js";
import { revisionAnnotation } from "../sets/revisions.js";
import { templateHashLabel } from "../sets/template.js";
import type { NewObject } from "./api-write.js";
import { machineFinalizer } from "./api-write.js";
import type { LiveObject } from "./live-object.js";
import { withoutClasses } from "./machine-classes.js";
import type { MachineView } from "./machine-views.js";

// What follows from users' objects: the MachineSets of a deployment and the Machines of a set. They carry
// what their MachineClasses held when they were planned, not the names of the classes: a set is the record
// of one revision, and its machines are compared by contents, so that a class may change or go later.

/** What a derived MachineSet is made from, beside its deployment. */
interface DerivedSet {
  readonly name: string;
  readonly cluster: string;
  readonly members: readonly MachineView[];
  /** Its number among the deployment's sets; undefined for all but the newest. */
  readonly revision: number | undefined;
}

/** The MachineSet in which machines of a MachineDeployment are. Pure. */
export function derivedSet(
  { metadata, spec = {} }: LiveObject,
  { name, cluster, members, revision }: DerivedSet,
): NewObject {
  const hash = { [templateHashLabel]: name.slice(metadata.name.length + 1) };
  const selector = (spec["selector"] ?? {}) as JsonObject;
  const template = (spec["template"] ?? {}) as JsonObject;
  const templateMetadata = (template["metadata"] ?? {}) as JsonObject;
  const labels = labelled(cluster, { ...(templateMetadata["labels"] as JsonObject), ...hash });
  return {
    apiVersion,
    kind: "MachineSet",
    metadata: omitUndefined({
      name,
      namespace: metadata.namespace,
      labels,
      annotations: revision === undefined ? undefined : { [revisionAnnotation]: String(revision) },
      ownerReferences: [controlledBy("MachineDeployment", metadata)],
    }),
    spec: {
      replicas: members.filter(({ isWanted }) => isWanted).length,
      minReadySeconds: spec["minReadySeconds"] ?? 0,
      selector: {
        ...selector,
        matchLabels: { ...(selector["matchLabels"] as JsonObject | undefined), ...hash },
      },
      template: {
        metadata: { ...templateMetadata, labels },
        spec: withoutClasses((members[0]?.machine.spec ?? template["spec"] ?? {}) as JsonObject),
      },
    },
  };
}

/** A Machine of a MachineSet. Pure. */
export function derivedMachine(
  { machine }: MachineView,
  { metadata, spec = {} }: LiveObject,
  cluster: string,
): NewObject {
  const template = (spec["template"] ?? {}) as JsonObject;
  const { labels = {}, annotations } = (template["metadata"] ?? {}) as {
    labels?: JsonObject;
    annotations?: JsonObject;
  };
  return {
    apiVersion,
    kind: "Machine",
    metadata: omitUndefined({
      name: machine.name,
      namespace: metadata.namespace,
      labels: labelled(cluster, labels),
      annotations,
      finalizers: [machineFinalizer],
      ownerReferences: [controlledBy("MachineSet", metadata)],
    }),
    spec: derivedSpec({ machine }),
  };
}

/** The spec of a Machine that a set made. Pure. */
export function derivedSpec({ machine }: Pick<MachineView, "machine">): JsonObject {
  return withoutClasses(machine.spec);
}

function labelled(cluster: string, labels: JsonObject): JsonObject {
  return { ...labels, [clusterNameLabel]: cluster };
}

function controlledBy(kind: Kind, { name, uid }: LiveObject["metadata"]): JsonObject {
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}
