/**
 * Capstan inside an ordinary Pulumi program:
 *
 *     import { cluster } from "capstan";
 *     const demo = cluster({ manifests: "clusters/demo" });
 *     export const revision = demo.then((outputs) => outputs.revision);
 */
export { cluster, type ClusterOptions } from "./inline/cluster.js";
export type { ClusterOutputs } from "./inline/outputs.js";
export { CapstanError, type ErrorCode, isCapstanError } from "./api/error.js";
