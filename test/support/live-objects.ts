import type { Kind, SharedKind } from "../../src/api/schema.js";
import type {
  LiveCluster,
  LiveMetadata,
  LiveObject,
  OwnerReference,
} from "../../src/kube/live-object.js";
import {
  cluster,
  healthCheck,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "./manifests.js";

type Shown = Partial<Omit<LiveObject, "metadata">> & { readonly metadata?: Partial<LiveMetadata> };

/** A manifest as an API server gives it back. */
export function live(manifest: Manifest, about: Shown = {}): LiveObject {
  const object = manifest as unknown as LiveObject;
  const { name } = object.metadata;
  const given: LiveMetadata = {
    name,
    namespace: "default",
    uid: `uid-of-${name}`,
    resourceVersion: "7",
    generation: 1,
  };
  return { ...object, ...about, metadata: { ...given, ...object.metadata, ...about.metadata } };
}

export const deleted = { deletionTimestamp: "2026-05-04T10:11:12Z" };

/** What a controller of that kind writes on what it makes. */
export function controlledBy(kind: string, name: string, apiVersion?: string): OwnerReference[] {
  const uid = `uid-of-${name}`;
  return [
    { apiVersion: apiVersion ?? "cluster.k8s.io/v1alpha1", kind, name, uid, controller: true },
  ];
}

export function liveCluster(members: readonly LiveObject[] = [], about: Shown = {}): LiveCluster {
  return {
    key: "default/prod",
    cluster: live(cluster(), about),
    members,
    classes: [],
    drainRules: [],
  };
}

/** One of each kind that belongs to a cluster, as their user wrote them. */
export function written(kind: Exclude<Kind, "Cluster" | SharedKind>, name: string): Manifest {
  switch (kind) {
    case "Machine":
      return machine(name);
    case "MachineSet":
      return machineSet(name, 1);
    case "MachineDeployment":
      return machineDeployment(name, 1);
    case "MachineHealthCheck":
      return healthCheck(name);
  }
}
