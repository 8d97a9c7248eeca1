import type { AnyObject, ClusterObject } from "./types.js";
import { type Annotations, ownAnnotationPrefix } from "./update-policy.js";

/** On a Cluster, Machine, MachineSet or MachineDeployment: "true" keeps it from being removed. */
export const protectAnnotation = `${ownAnnotationPrefix}protect`;
export const protectValues = ["true", "false"] as const;

/** On a Cluster: what it may lose although it could not live on, or would have no workers. */
export const allowRemovalAnnotation = `${ownAnnotationPrefix}allow-removal`;

/** What a cluster loses only if somebody says so. */
export const removals = ["control-plane", "workers"] as const;
export type Removal = (typeof removals)[number];

/** "control-plane, workers"; undefined for anything else, and for nothing. Pure. */
export function parseRemovals(text: string): readonly Removal[] | undefined {
  const words = text.split(",").map((word) => word.trim());
  const known = words.flatMap((word) => removals.find((removal) => removal === word) ?? []);
  return known.length === words.length ? known : undefined;
}

/** What the objects of a cluster allow it to lose. Pure. */
export function allowedRemovals({ metadata }: ClusterObject): readonly Removal[] {
  return parseRemovals(metadata.annotations?.[allowRemovalAnnotation] ?? "") ?? [];
}

/** Whether annotations ask for protection. Pure. */
export function isProtecting(annotations: Annotations): boolean {
  return annotations?.[protectAnnotation] === "true";
}

/** "Machine default/cp-0": how a protected object is named, wherever it was written. Pure. */
export function protectedName({ kind, metadata }: Pick<AnyObject, "kind" | "metadata">): string {
  return `${kind} ${metadata.namespace}/${metadata.name}`;
}
