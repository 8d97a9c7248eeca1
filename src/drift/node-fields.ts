import { isJsonObject, type Json, type JsonObject } from "../api/json.js";
import type { NodeKey } from "../graph/graph.js";
import type { Observation, ObservedResource, ObservedResources } from "../plan/observation.js";
import type { NodeReport } from "../provider/port.js";
import { isOpen, type PriorState } from "../records/prior-state.js";
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

/**
 * Hosts with what their Nodes bear of their specs, where these were compared: a label that its Machine asks for and that a user took off the Node is
 * then missing in the host, and goes the way of every other difference. Pure.
 */
export function withNodeMarks(
  state: PriorState,
  observation: Pick<Observation, "observedResources" | "nodes">,
): ObservedResources {
  return new Map(
    [...observation.observedResources].map(([key, observed]): [NodeKey, ObservedResource] => {
      const { otherMarks } = heldNode(state, observation, key) ?? {};
      if (otherMarks === undefined || observed === "gone") return [key, observed];
      return [key, { ...observed, spec: { ...observed.spec, ...otherMarks } }];
    }),
  );
}

/** What the Node of a host says that is held against its spec: of one that serves, while nothing is open. Pure. */
export function heldNode(
  state: PriorState,
  { observedResources, nodes }: Pick<Observation, "observedResources" | "nodes">,
  key: NodeKey,
): NodeReport | undefined {
  const observed = observedResources.get(key);
  if (observed === undefined || observed === "gone" || observed.phase !== "ready") return undefined;
  return isOpen(state) ? undefined : nodes?.get(key);
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
