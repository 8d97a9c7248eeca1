import type { Json } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import {
  type GraphNode,
  nodeKey,
  type NodeKey,
  nodeName,
  resolveRefs,
  type ResourceGraph,
} from "../graph/graph.js";
import type { Satellite } from "../provider/port.js";

// What lives with one host: its name begins with the host's, so a new host has its own.

/** The graph node of a satellite. Pure. */
export function satelliteNode(
  { kind, name, spec, whenHostGoes }: Satellite,
  host: NodeKey,
): GraphNode {
  return omitUndefined({
    kind,
    name: `${nodeName(host)}-${name}`,
    type: "resource",
    spec,
    dependsOn: [host],
    host,
    keep: whenHostGoes === "keep" ? true : undefined,
  });
}

/** The satellites of each machine in a recorded graph, as a compiler would give them. Pure. */
export function recordedSatellites(
  nodes: ResourceGraph,
  machines: readonly { readonly name: string; readonly host: NodeKey }[],
  hostKind: string,
): ReadonlyMap<string, readonly Satellite[]> {
  const machineOf = new Map(machines.map(({ host, name }) => [host, name]));
  const satellites = new Map<string, Satellite[]>();
  for (const { host, kind, name, spec, keep } of nodes) {
    const machine = host === undefined ? undefined : machineOf.get(host);
    if (host === undefined || machine === undefined) continue;
    const own: Satellite = {
      kind,
      name: name.slice(`${nodeName(host)}-`.length),
      spec: withHost(spec, host, nodeKey(hostKind, machine)),
      whenHostGoes: keep === true ? "keep" : "delete",
    };
    satellites.set(machine, [...(satellites.get(machine) ?? []), own]);
  }
  return satellites;
}

/** The same for another host. Pure. */
export function withHost<T extends Json>(spec: T, from: NodeKey, to: NodeKey): T {
  return resolveRefs(spec, (ref) => (ref.$ref === from ? { ...ref, $ref: to } : ref));
}
