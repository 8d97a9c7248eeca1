import type { Annotations } from "./update-policy.js";

/** What a Machine is annotated with to say how its deletion goes. Source: docs/cluster-api.md#deletion. */
export const deletionAnnotations = {
  excludeDrain: "machine.cluster.x-k8s.io/exclude-node-draining",
  excludeVolumes: "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach",
  preDrainHook: "pre-drain.delete.hook.machine.cluster.x-k8s.io",
  preTerminateHook: "pre-terminate.delete.hook.machine.cluster.x-k8s.io",
} as const;

/** A Machine with it is let alone by health checks. Source: docs/cluster-api.md#health-checks. */
export const skipRemediationAnnotation = "cluster.x-k8s.io/skip-remediation";

/** Whether an annotation is one of these; the name of a hook only begins so. Pure. */
function isAboutDeletion(name: string): boolean {
  const { excludeDrain, excludeVolumes, preDrainHook, preTerminateHook } = deletionAnnotations;
  return (
    name === excludeDrain ||
    name === excludeVolumes ||
    name.startsWith(preDrainHook) ||
    name.startsWith(preTerminateHook)
  );
}

/** Those among some that say how the deletion of a Machine goes. Pure. */
export function deletionAnnotationsAmong(annotations: Annotations = {}): NonNullable<Annotations> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => isAboutDeletion(name)));
}

/** Whether an annotation says something of the Machine that carries it, or of each that is made from a template. Pure. */
export function isOfMachines(name: string): boolean {
  return isAboutDeletion(name) || name === skipRemediationAnnotation;
}

/** Those among some that say something of the Machine that carries them. Pure. */
export function machineAnnotationsAmong(annotations: Annotations = {}): NonNullable<Annotations> {
  return Object.fromEntries(Object.entries(annotations).filter(([name]) => isOfMachines(name)));
}
