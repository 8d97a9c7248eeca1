import type { AnyObject } from "./types.js";

/**
 * How a change gets to a machine. `preferInPlace`: in place where the provider can, by a new host
 * otherwise. `inPlaceOnly`: never by a new host; what needs one is refused. `replaceOnly`: always by a
 * new host.
 */
export const updatePolicies = ["preferInPlace", "inPlaceOnly", "replaceOnly"] as const;
export type UpdatePolicy = (typeof updatePolicies)[number];

/** What begins so is read by this project alone. */
export const ownAnnotationPrefix = "capstan.dev/";

/** The annotation that asks for an update policy: the API has no field for it. */
export const updatePolicyAnnotation = `${ownAnnotationPrefix}update-policy`;

/** Those of one object, if it has any. */
export type Annotations = Readonly<Record<string, string>> | undefined;

/** The first policy that somebody asks for, nearest first; `preferInPlace` without any. Pure. */
export function nearestPolicy(nearestFirst: readonly Annotations[]): UpdatePolicy {
  const asked = nearestFirst.map((annotations) => annotations?.[updatePolicyAnnotation]);
  return asked.find((value) => isUpdatePolicy(value)) ?? "preferInPlace";
}

function isUpdatePolicy(value: unknown): value is UpdatePolicy {
  return updatePolicies.some((policy) => policy === value);
}

/** The annotations of an object that speak about its machines, nearest to them first. Pure. */
export function machineAnnotations(object: AnyObject): Annotations[] {
  switch (object.kind) {
    case "MachineSet":
    case "MachineDeployment":
      return [object.spec.template.metadata?.annotations, object.metadata.annotations];
    case "Cluster":
    case "Machine":
      return [object.metadata.annotations];
    case "MachineClass":
    case "MachineDrainRule":
    case "MachineHealthCheck":
      return [];
  }
}
