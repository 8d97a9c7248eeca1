import type { Annotations } from "./update-policy.js";

/** What a Machine is annotated with to say how its deletion goes. Source: docs/cluster-api.md#deletion. */
export const deletionAnnotations = {
  excludeDrain: "machine.cluster.x-k8s.io/exclude-node-draining",
  excludeVolumes: "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach",
  preDrainHook: "pre-drain.delete.hook.machine.cluster.x-k8s.io",
  preTerminateHook: "pre-terminate.delete.hook.machine.cluster.x-k8s.io",
} as const;

/** Whether an annotation is one of these; the name of a hook only begins so. Pure. */
export function isAboutDeletion(name: string): boolean {
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
