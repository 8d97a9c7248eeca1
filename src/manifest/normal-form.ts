import type { AnyObject } from "../api/types.js";
import { canonicalVersions } from "../api/versions.js";
import { machineSpecsIn } from "./object-parts.js";

// Changes an object, in place, to the one form in which it is compared.

/** What an API server or we ourselves write is not wanted by anybody: it must not look like a change. */
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

/** v1.35.0 and 1.35.0 are one version: from here on there is one spelling of it. */
export function spellVersions(object: AnyObject): void {
  for (const { spec } of machineSpecsIn(object)) {
    if (spec.versions !== undefined) spec.versions = canonicalVersions(spec.versions);
  }
}
