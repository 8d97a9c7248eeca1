import { isJsonObject, type Json, type JsonObject } from "../api/json.js";
import type { NodeReport } from "../provider/port.js";
import type { DriftedField } from "./fields.js";

/**
 * What runs on a host otherwise than its spec says, by what its Node says of itself: another kubelet, another container runtime. A version
 * counts by its three numbers, since vendors append what they like ("1.34.2-eks-113cf36"). Pure.
 */
export function nodeFields(wanted: JsonObject, node: NodeReport | undefined): DriftedField[] {
  if (node === undefined) return [];
  const { kubelet, containerRuntime: seen } = node;
  const runtime = wanted["containerRuntime"];
  const asked = isJsonObject(runtime) ? runtime : {};
  return [
    ...versionField("node.kubelet", wanted["kubelet"], kubelet),
    ...(seen === undefined
      ? []
      : nameField("node.containerRuntime.name", asked["name"], seen.name)),
    ...versionField("node.containerRuntime.version", asked["version"], seen?.version),
  ];
}

function versionField(path: string, recorded: Json | undefined, seen = ""): DriftedField[] {
  if (typeof recorded !== "string") return [];
  const [asked, runs] = [numbersIn(recorded), numbersIn(seen)];
  return asked === undefined || runs === undefined || asked === runs
    ? []
    : [{ path, recorded, seen }];
}

function nameField(path: string, recorded: Json | undefined, seen: string): DriftedField[] {
  return typeof recorded !== "string" || recorded === seen ? [] : [{ path, recorded, seen }];
}

/** "1.34.2" of "v1.34.2-eks-113cf36"; undefined of what is no version. */
function numbersIn(version: string): string | undefined {
  return /^v?(\d+\.\d+\.\d+)/.exec(version)?.[1];
}
