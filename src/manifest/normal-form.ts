import { omitUndefined } from "../api/omit-undefined.js";
import type { AnyObject } from "../api/types.js";
import { canonicalVersions } from "../api/versions.js";
import { machineSpecsIn } from "./object-parts.js";

// The one form in which objects are compared.

/** The object without empty labels and annotations, which API servers do not store: {} and absent are one value. Pure. */
export function withoutEmptyMarks<O extends AnyObject>(object: O): O {
  const { labels, annotations, ...metadata } = object.metadata;
  const filled = <M extends object>(marks: M | undefined): M | undefined =>
    marks === undefined || Object.keys(marks).length === 0 ? undefined : marks;
  const marks = { labels: filled(labels), annotations: filled(annotations) };
  return { ...object, metadata: omitUndefined({ ...metadata, ...marks }) };
}

/** Changes the object in place. What an API server or we ourselves write is not wanted by anybody: it must not look like a change. */
export function dropServerFields(object: AnyObject): void {
  const { metadata } = object;
  delete metadata.uid;
  delete metadata.resourceVersion;
  delete metadata.generation;
  delete metadata.creationTimestamp;
  delete metadata.finalizers;
  delete metadata.ownerReferences;
  delete object.status;
  for (const { spec } of machineSpecsIn(object)) {
    delete spec.providerID;
    for (const taint of spec.taints ?? []) delete taint.timeAdded;
  }
}

/** Changes the object in place. v1.35.0 and 1.35.0 are one version: from here on there is one spelling of it. */
export function spellVersions(object: AnyObject): void {
  for (const { spec } of machineSpecsIn(object)) {
    if (spec.versions !== undefined) spec.versions = canonicalVersions(spec.versions);
  }
}
