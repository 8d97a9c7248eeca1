import { type Annotations, ownAnnotationPrefix } from "./update-policy.js";

/** On a Cluster: what its provider has looked up is looked up again whenever this text is another one. */
export const refreshLookupsAnnotation = `${ownAnnotationPrefix}refresh-lookups`;

/** The last wish to look up again; undefined for none. Pure. */
export function lookupWishOf(cluster: {
  readonly metadata: { readonly annotations?: Annotations };
}): string | undefined {
  return cluster.metadata.annotations?.[refreshLookupsAnnotation];
}
