import type { ClusterObject } from "./types.js";
import { ownAnnotationPrefix } from "./update-policy.js";

/** On a Cluster: what its keys are made of, when they are made. */
export const keyAlgorithmAnnotation = `${ownAnnotationPrefix}key-algorithm`;

/** Elliptic curves first, which is what is taken unless something old has to read them. */
export const keyAlgorithms = ["ECDSA-P256", "RSA-2048", "RSA-4096"] as const;
export type KeyAlgorithm = (typeof keyAlgorithms)[number];

/** What a cluster's keys are to be made of. Pure. */
export function keyAlgorithmOf({ metadata }: ClusterObject): KeyAlgorithm {
  const asked = metadata.annotations?.[keyAlgorithmAnnotation];
  return keyAlgorithms.find((one) => one === asked) ?? keyAlgorithms[0];
}
