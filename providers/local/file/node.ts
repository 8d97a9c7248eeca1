import { isJsonObject, type Json, type JsonObject, sameJson } from "../../../src/api/json.js";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import { isKnownVersion } from "../../../src/api/versions.js";
import type { NodeReport } from "../../../src/provider/port.js";

/** What the simulated images bring where a Machine asks for no container runtime. */
export const runtimeOfImages = { name: "containerd", version: "2.1.5" };

/** The fields of a host's spec that its node has to restart for. */
const restarting = ["kubelet", "controlPlane", "containerRuntime"] as const;

/** What the node of a host says about itself once it runs what the host's spec says. Pure. */
export function nodeOf(spec: JsonObject): NodeReport {
  const { kubelet, controlPlane, containerRuntime, image } = spec;
  return omitUndefined({
    kubelet: String(kubelet),
    controlPlane: typeof controlPlane === "string" ? controlPlane : undefined,
    containerRuntime: (containerRuntime as NodeReport["containerRuntime"]) ?? runtimeOfImages,
    osImage: typeof image === "string" ? image : undefined,
  });
}

/** Name of the container runtime that a host's spec asks for; where it asks for none, that of the images. Pure. */
export function runtimeName(containerRuntime: Json | undefined): Json | undefined {
  if (containerRuntime === undefined) return runtimeOfImages.name;
  return isJsonObject(containerRuntime) ? containerRuntime["name"] : undefined;
}

/** Whether a node with another spec is another one, so that it has to join anew. Pure. */
export function restartsNode(from: JsonObject, to: JsonObject): boolean {
  return restarting.some((field) => !sameJson(from[field], to[field]));
}

/** Whether the cloud has the versions that a host's spec asks for: without them its node never joins. Pure. */
export function canServe({ kubelet, controlPlane }: JsonObject): boolean {
  return [kubelet, controlPlane ?? kubelet].every(
    (version) => typeof version === "string" && isKnownVersion(version),
  );
}
