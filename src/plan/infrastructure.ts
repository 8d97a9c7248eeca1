import { digestOf } from "../api/digest.js";
import type { Json, JsonObject } from "../api/json.js";
import { generationHash } from "../compile/compile.js";
import { unknownValue } from "../api/unknown.js";
import {
  type GraphNode,
  inDependencyOrder,
  keyOf,
  type NodeKey,
  type Ref,
  resolveRefs,
} from "../graph/graph.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { canServe, judge, type Judged, serve, supersede } from "./judge.js";
import type { FieldChange, Sightings } from "./step.js";
import type { Wanted } from "./wanted.js";
import type { RecordedResource } from "./target.js";

/** What becomes of one resource of the shared infrastructure. */
export interface InfrastructureDecision {
  /** With its final name and with Refs to final names. */
  readonly node: GraphNode;
  readonly kind: "same" | "create" | "update" | "replace" | "unsupported";
  readonly changes: readonly FieldChange[];
  readonly reason: string;
  /** The record differs from the cloud and has to be read again first. */
  readonly stale: boolean;
}

export interface InfrastructurePlan {
  readonly decisions: readonly InfrastructureDecision[];
  /** Puts final names into a spec's Refs. */
  rename<T extends Json>(spec: T): T;
  /** Puts known values in the place of a renamed spec's Refs, the unknown sentinel for others. */
  resolve<T extends Json>(spec: T): T;
}

/**
 * Decides for each node, in dependency order, whether its recorded resource serves on (as it is or
 * changed in place) or a new one is made beside it under a new name. Pure.
 */
export function planInfrastructure(
  provider: InfrastructureProvider,
  { infrastructure: nodes, isFrozen }: Pick<Wanted, "infrastructure" | "isFrozen">,
  recorded: readonly RecordedResource[],
  sightings: Sightings,
): InfrastructurePlan {
  const finalKeys = new Map<NodeKey, NodeKey>();
  const known = new Map<NodeKey, RecordedResource>();
  const rename = <T extends Json>(spec: T): T =>
    resolveRefs(spec, (ref) => ({ ...ref, $ref: finalKeys.get(ref.$ref) ?? ref.$ref }));
  const resolve = <T extends Json>(spec: T): T =>
    resolveRefs(spec, (ref) => outputOf(known.get(ref.$ref), ref));
  const decisions = inDependencyOrder(nodes).map((node) => {
    const wanted = rename(node.spec);
    const candidates = recorded.filter((resource) => isGenerationOf(node, resource));
    const resolved = resolve(wanted);
    const judged = judge(provider, candidates, resolved, sightings);
    const decision = decide(provider, { ...node, spec: wanted }, judged, isFrozen);
    finalKeys.set(keyOf(node), keyOf(decision.node));
    const current = candidates.find(({ key }) => key === keyOf(decision.node));
    if (current !== undefined && sightings.get(current.key) !== "gone") {
      known.set(current.key, current);
    }
    return decision;
  });
  return { decisions, rename, resolve };
}

function decide(
  provider: InfrastructureProvider,
  node: GraphNode,
  judged: readonly Judged[],
  isFrozen: boolean,
): InfrastructureDecision {
  const serving = judged.find(({ verdict, gone }) => !gone && canServe(verdict));
  if (serving !== undefined) {
    return { node: { ...node, name: serving.resource.name }, ...serve(serving) };
  }
  const [first] = judged;
  if (first === undefined) return { node, kind: "create", changes: [], reason: "", stale: false };
  const lost = judged.find(({ gone }) => gone);
  if (lost !== undefined) {
    const reason = "it is gone from the cloud";
    const again = { ...node, name: lost.resource.name };
    return { node: again, kind: "create", changes: [], reason, stale: true };
  }
  const superseded = supersede(first);
  const isFree = isFrozen && !judged.some(({ resource }) => resource.name === node.name);
  const next = isFree ? node.name : nextName(provider, node, judged);
  const name = superseded.kind === "unsupported" ? first.resource.name : next;
  return { node: { ...node, name }, ...superseded };
}

/**
 * Named by the inputs that cannot change, Refs by name: ids are not known at first, and the name must
 * not depend on when the plan is made. A name that is taken already is told apart by a count.
 */
function nextName(
  provider: InfrastructureProvider,
  node: GraphNode,
  judged: readonly Judged[],
): string {
  const taken = new Set(judged.map(({ resource }) => resource.name));
  let hash = generationHash(provider, node.kind, node.spec);
  for (let count = 1; taken.has(`${node.name}-${hash}`); count += 1) {
    hash = digestOf([hash, count], hash.length);
  }
  return `${node.name}-${hash}`;
}

/** Generations of one node share its name; later ones carry a hash behind it. */
function isGenerationOf(node: GraphNode, resource: RecordedResource): boolean {
  if (resource.kind !== node.kind || resource.deleting) return false;
  const rest = resource.name.slice(node.name.length);
  return resource.name.startsWith(node.name) && /^(-[0-9a-f]{8})?$/.test(rest);
}

function outputOf(resource: RecordedResource | undefined, ref: Ref): Json {
  if (resource === undefined) return unknownValue;
  if (ref.output === "id") return resource.id ?? unknownValue;
  const status = (resource.outputs["status"] ?? {}) as JsonObject;
  return status[ref.output] ?? unknownValue;
}
