import { ownAnnotationPrefix } from "../api/update-policy.js";

/** Tells a Node that a drain of ours has cordoned, and when, from one that somebody else keeps free. */
export const cordonAnnotation = `${ownAnnotationPrefix}cordoned`;

/** A Node as its API server shows it, as far as it takes pods. Source: core/v1, NodeSpec. */
export interface CordonedNode {
  readonly metadata?:
    { readonly annotations?: Readonly<Record<string, string>> | undefined } | undefined;
  readonly spec?: { readonly unschedulable?: boolean | undefined } | undefined;
}

/** Who keeps pods from a Node; undefined: it takes them. Pure. */
export function cordonedBy({ metadata, spec }: CordonedNode): "capstan" | "others" | undefined {
  if (spec?.unschedulable !== true) return undefined;
  return metadata?.annotations?.[cordonAnnotation] === undefined ? "others" : "capstan";
}

/**
 * Whether a Node takes pods that a drain of ours has cordoned: somebody has lifted that by another way, and our mark is left. It has to go, as it
 * would call the next cordon ours. Pure.
 */
export function isMarkLeft({ metadata, spec }: CordonedNode): boolean {
  return spec?.unschedulable !== true && metadata?.annotations?.[cordonAnnotation] !== undefined;
}

/** Since when a drain of ours has kept pods from a Node, milliseconds since the epoch; undefined: none does, or it does not tell. Pure. */
export function cordonedAtMsOf({ metadata, spec }: CordonedNode): number | undefined {
  if (spec?.unschedulable !== true) return undefined;
  const sinceMs = Date.parse(metadata?.annotations?.[cordonAnnotation] ?? "");
  return Number.isNaN(sinceMs) ? undefined : sinceMs;
}
