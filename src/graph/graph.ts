import { CapstanError } from "../api/error.js";
import { isJsonObject, type Json, type JsonObject } from "../api/json.js";
import { withoutSecretFields } from "../api/secret-fields.js";

/** "<Kind>/<name>": names a node within one graph. */
export type NodeKey = string & { readonly __brand: "NodeKey" };

export function nodeKey(kind: string, name: string): NodeKey {
  return `${kind}/${name}` as NodeKey;
}

/** The kind in a node's key. */
export function nodeKind(key: NodeKey): string {
  return key.slice(0, key.indexOf("/"));
}

/** The name in a node's key. */
export function nodeName(key: NodeKey): string {
  return key.slice(key.indexOf("/") + 1);
}

/** An input that is another node's output, e.g. {"$ref": "LocalNetwork/network", "output": "id"}. */
export interface Ref extends JsonObject {
  readonly $ref: NodeKey;
  /** "id" for the resource's id, otherwise a key of its status. */
  readonly output: string;
}

/** The output of another node: its id, or a key of its status. */
export function refTo(kind: string, name: string, output = "id"): Ref {
  return { $ref: nodeKey(kind, name), output };
}

export function isRef(value: unknown): value is Ref {
  return isJsonObject(value) && typeof value["$ref"] === "string";
}

/** What nobody is shown of a resource: fields of its spec, and of the status that a cloud answers with. */
export interface SecretFields {
  /** Absent: none. */
  readonly inputs?: readonly string[];
  /** Absent: none. */
  readonly outputs?: readonly string[];
}

export interface GraphNode {
  readonly kind: string;
  readonly name: string;
  /**
   * A component groups others and has no life in a cloud. An external one is there and not ours: its spec is an
   * ExternalSpec, and it is never among the nodes that a target makes.
   */
  readonly type: "component" | "resource" | "external";
  /** The component that this node belongs to. */
  readonly parent?: NodeKey;
  /** May hold Refs at any depth. */
  readonly spec: JsonObject;
  /** Beyond what Refs imply. */
  readonly dependsOn: readonly NodeKey[];
  /** The host that it lives with: made after it, gone before it. Absent of what machines share, and of hosts. */
  readonly host?: NodeKey;
  /** When its host goes it stays in the cloud, without our marks. Of satellites alone. */
  readonly keep?: true;
  /** What of it is a secret, as its provider says. Of what a target has; absent: nothing. */
  readonly secret?: SecretFields;
}

/** Which one an external node is, and what Refs to it stand for. */
export interface ExternalSpec extends JsonObject {
  readonly id: string;
  /** Outputs that Refs name, as they were when they were first read; absent: the id alone is used. */
  readonly outputs?: JsonObject;
}

/** The spec of an external node. */
export function externalSpecOf({ spec }: Pick<GraphNode, "spec">): ExternalSpec {
  const { id, outputs } = spec;
  const pinned = isJsonObject(outputs) ? { outputs } : {};
  return { id: String(id), ...pinned };
}

/** Nodes in the order they were compiled. Keys are unique. */
export type ResourceGraph = readonly GraphNode[];

export function keyOf(node: Pick<GraphNode, "kind" | "name">): NodeKey {
  return nodeKey(node.kind, node.name);
}

/** Its inputs as everybody may see them. Pure. */
export function shownSpec({ spec, secret }: Pick<GraphNode, "spec" | "secret">): JsonObject {
  return withoutSecretFields(spec, secret?.inputs);
}

/** Whether the machines of a cluster share it: neither a host, which its machine's component holds, nor what lives with one. Pure. */
export function isShared({ type, parent, host }: GraphNode): boolean {
  return type === "resource" && parent === undefined && host === undefined;
}

/** Every Ref inside a value, in document order. */
export function refsIn(value: Json | undefined): Ref[] {
  if (isRef(value)) return [value];
  if (Array.isArray(value)) return value.flatMap((item: Json) => refsIn(item));
  if (isJsonObject(value)) return Object.values(value).flatMap(refsIn);
  return [];
}

/** A copy of the value with each Ref replaced by what `resolve` gives for it. */
export function resolveRefs<T extends Json>(value: T, resolve: (ref: Ref) => Json): T;
export function resolveRefs(value: Json, resolve: (ref: Ref) => Json): Json {
  if (isRef(value)) return resolve(value);
  if (Array.isArray(value)) return value.map((item: Json) => resolveRefs(item, resolve));
  if (isJsonObject(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, resolveRefs(member, resolve)]),
    );
  }
  return value;
}

/** What must exist before the node: parent, explicit dependencies and Refs, without duplicates. */
export function dependenciesOf(node: GraphNode): NodeKey[] {
  const keys = new Set<NodeKey>(node.dependsOn);
  if (node.parent !== undefined) keys.add(node.parent);
  for (const ref of refsIn(node.spec)) keys.add(ref.$ref);
  return [...keys];
}

/**
 * The nodes so that each stands behind everything it depends on; otherwise in the order given, so
 * the same graph always gives the same order. Dependencies outside the graph are ignored.
 * Linear in nodes and edges (Kahn). Throws GRAPH_CYCLE naming the circle.
 */
export function inDependencyOrder<Node extends GraphNode>(graph: readonly Node[]): Node[] {
  const nodes = new Map(graph.map((node) => [keyOf(node), node]));
  const waitingFor = new Map<NodeKey, number>();
  const dependents = new Map<NodeKey, Node[]>();
  for (const [key, node] of nodes) {
    const known = dependenciesOf(node).filter((dependency) => nodes.has(dependency));
    waitingFor.set(key, known.length);
    for (const dependency of known) {
      const waiting = dependents.get(dependency);
      if (waiting === undefined) dependents.set(dependency, [node]);
      else waiting.push(node);
    }
  }
  const ordered = [...nodes.values()].filter((node) => waitingFor.get(keyOf(node)) === 0);
  // It grows while it is walked: whoever waits for nothing any more comes next.
  for (const node of ordered) {
    for (const dependent of dependents.get(keyOf(node)) ?? []) {
      const key = keyOf(dependent);
      const left = (waitingFor.get(key) ?? 0) - 1;
      waitingFor.set(key, left);
      if (left === 0) ordered.push(dependent);
    }
  }
  if (ordered.length < nodes.size) {
    const circle = findCircle(nodes, waitingFor);
    throw new CapstanError({
      code: "GRAPH_CYCLE",
      source: "engine",
      message: `cannot order resources: ${circle.join(" -> ")}`,
      hint: "a provider compiled resources that wait for each other; report it to its author",
    });
  }
  return ordered;
}

/** Walks from any node that still waits to one that it waits for, until a node comes up again. */
function findCircle(
  nodes: ReadonlyMap<NodeKey, GraphNode>,
  waitingFor: ReadonlyMap<NodeKey, number>,
): NodeKey[] {
  const waits = (node: GraphNode): boolean => (waitingFor.get(keyOf(node)) ?? 0) > 0;
  const path: GraphNode[] = [];
  let current = [...nodes.values()].find(waits);
  while (current !== undefined && !path.includes(current)) {
    path.push(current);
    current = dependenciesOf(current)
      .flatMap((key) => nodes.get(key) ?? [])
      .find(waits);
  }
  const circle = current === undefined ? path : [...path.slice(path.indexOf(current)), current];
  return circle.map(keyOf);
}
