import { createRequire } from "node:module";
import "./inline/fitting-node.js";

/**
 * Capstan inside an ordinary Pulumi program:
 *
 *     import { cluster } from "capstan";
 *     const demo = cluster({ manifests: "clusters/demo" });
 *     export const revision = demo.then((outputs) => outputs.revision);
 */
// An old Node.js fails while it links imports of what it lacks, before any module could say what helps. What
// is required is linked after the check above. This stays synchronous: CommonJS programs cannot load what awaits.
export const { cluster } = createRequire(import.meta.url)(
  "#program",
) as typeof import("./inline/cluster.js");

export type { ClusterOptions } from "./inline/cluster.js";
export type { ManifestValue, ManifestValues } from "./inline/values.js";
export type { ClusterOutputs } from "./inline/outputs.js";
export { CapstanError, type ErrorCode, isCapstanError } from "./api/error.js";
