import { ownAnnotationPrefix } from "./update-policy.js";

/**
 * On a Cluster in an API server: whatever its value, nothing of the cluster is changed or deleted while it
 * is there.
 */
export const pausedAnnotation = `${ownAnnotationPrefix}paused`;
