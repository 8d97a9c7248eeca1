/**
 * Capstan inside an ordinary Pulumi program:
 *
 *     import { cluster } from "capstan";
 *     export const { revision } = await cluster({ manifests: "clusters/demo" });
 */
export { cluster, type ClusterOptions } from "./inline/cluster.js";
export type { ClusterOutputs } from "./inline/outputs.js";
export { CapstanError, type ErrorCode, isCapstanError } from "./api/error.js";
