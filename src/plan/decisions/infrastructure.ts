import { digestOf } from "../../api/digest.js";
import type { Json, JsonObject } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { generationHash } from "../../compile/compile.js";
import { unknownValue } from "../../api/unknown.js";
import {
  type GraphNode,
  inDependencyOrder,
  keyOf,
  nodeKey,
  type NodeKey,
  type Ref,
  resolveRefs,
} from "../../graph/graph.js";
import type { InfrastructureProvider, Observed } from "../../provider/port.js";
import {
  canServe,
  isAlive,
  judge,
  type Judged,
  keep,
  serve,
  succeed,
  supersede,
} from "./verdicts.js";
import type { ChangedField } from "../step.js";
import type { ObservedResources } from "../observation.js";
import type { CompiledGoal } from "../goal/compiled-goal.js";
import { type RecordedResource, recordedStatus } from "../../records/prior-state.js";

/** What becomes of one resource of the shared infrastructure. */
export interface InfrastructureDecision {
  /** With its final name and with Refs to final names. */
  readonly node: GraphNode;
  readonly kind: "same" | "create" | "adopt" | "update" | "replace" | "unsupported";
  readonly changes: readonly ChangedField[];
  /** All of them: that it is gone, and that fields of it differ. */
  readonly reasons: readonly string[];
  /** The record differs from the cloud and has to be read again first. */
  readonly stale: boolean;
  /** It is not as it is wanted, and stays as it is recorded. */
  readonly isLeft?: true;
}

export interface InfrastructurePlan {
  readonly decisions: readonly InfrastructureDecision[];
  /** Puts final names into a spec's Refs. */
  rename<T extends Json>(spec: T): T;
  /** Puts known values in the place of a renamed spec's Refs, the unknown sentinel for others. */
  resolve<T extends Json>(spec: T): T;
}

/** What is known of the infrastructure there is. */
export interface KnownInfrastructure {
  readonly recorded: readonly RecordedResource[];
  readonly unrecorded: readonly UnrecordedCreation[];
  readonly observedResources: ObservedResources;
  /** Names that were planned before and are no longer: a cloud may remember what their tokens once made. */
  readonly used: ReadonlySet<NodeKey>;
  /** What the last revision has. */
  readonly committed: ReadonlySet<NodeKey>;
  /** Whether a recorded resource that is alive may be replaced at all: one that may not stays as it is. */
  readonly mayReplace: (judged: Judged) => boolean;
  /** Whether a recorded resource that failed in the cloud is replaced. A way back leaves what was so before. */
  readonly replacesFailed: (resource: NodeKey) => boolean;
  /** What Refs to resources that are not planned here stand for; unknown values without. */
  readonly outside?: (ref: Ref) => Json;
}

/** What an engine was killed in, or forgot: the cloud shows it, or may have carried it out. */
export interface UnrecordedCreation {
  readonly kind: string;
  readonly name: string;
  readonly spec: JsonObject;
  /** As the cloud shows it; absent while only an entry of a dead engine speaks of it. */
  readonly found?: Pick<Observed, "id" | "status">;
  /** It failed, or the cloud is deleting it: nothing finds it again. */
  readonly isLost?: boolean;
}

/**
 * Decides for each node, in dependency order, whether its recorded resource serves on (as it is or
 * changed in place) or a new one is made beside it under a new name. Pure.
 */
export function planInfrastructure(
  provider: InfrastructureProvider,
  { infrastructure: nodes, isFrozen }: Pick<CompiledGoal, "infrastructure" | "isFrozen">,
  { recorded, unrecorded, observedResources, outside, committed, ...rules }: KnownInfrastructure,
): InfrastructurePlan {
  const finalKeys = new Map<NodeKey, NodeKey>();
  const known = new Map<NodeKey, Existing>();
  const rename = <T extends Json>(spec: T): T =>
    resolveRefs(spec, (ref) => ({ ...ref, $ref: finalKeys.get(ref.$ref) ?? ref.$ref }));
  const own = new Set(nodes.map(keyOf));
  const resolve = <T extends Json>(spec: T): T =>
    resolveRefs(spec, (ref) => {
      const isOutside = outside !== undefined && !own.has(ref.$ref) && !known.has(ref.$ref);
      return isOutside ? outside(ref) : outputOf(known.get(ref.$ref), ref);
    });
  // What is of a node's own name is that node's and no other's: a recorded graph may hold two generations, and users may name a volume like one.
  const mayServe = (node: GraphNode, one: Pick<RecordedResource, "kind" | "name">) =>
    isGenerationOf(node, one) &&
    (nodeKey(one.kind, one.name) === keyOf(node) || !own.has(nodeKey(one.kind, one.name)));
  const decisions = inDependencyOrder(nodes).map((node) => {
    const wanted = rename(node.spec);
    // Of several that could serve on: what served last, and of its own name what was never another's.
    const rank = ({ key }: RecordedResource) =>
      (committed.has(key) ? 0 : 2) + (key === keyOf(node) ? 0 : 1);
    const candidates = recorded
      .filter((resource) => !resource.deleting && mayServe(node, resource))
      .sort((one, other) => rank(one) - rank(other));
    const resolved = resolve(wanted);
    const decision = decide(
      provider,
      { ...node, spec: wanted },
      {
        judged: judge(provider, candidates, resolved, observedResources),
        interrupted: interruptedCreations(provider, node, {
          unrecorded: unrecorded.filter((one) => mayServe(node, one)),
          wanted: resolved,
        }),
        isFrozen,
        ...rules,
      },
    );
    finalKeys.set(keyOf(node), keyOf(decision.node));
    const key = keyOf(decision.node);
    const current = candidates.find((one) => one.key === key);
    if (current !== undefined && observedResources.get(key) !== "gone") {
      known.set(key, omitUndefined({ id: current.id, status: recordedStatus(current) }));
    }
    const found = unrecorded.find((one) => nodeKey(one.kind, one.name) === key)?.found;
    if (current === undefined && found !== undefined) known.set(key, found);
    return decision;
  });
  return { decisions, rename, resolve };
}

/** What Refs to a resource stand for. */
export interface Existing {
  readonly id?: string;
  readonly status: JsonObject;
}

/** What there is or may be of one node. */
interface Generations extends Pick<KnownInfrastructure, "mayReplace" | "replacesFailed" | "used"> {
  readonly judged: readonly Judged[];
  readonly interrupted: readonly InterruptedCreation[];
  readonly isFrozen: boolean;
}

/** An unrecorded creation of a generation of one node. */
interface InterruptedCreation {
  readonly name: string;
  readonly canServe: boolean;
}

function interruptedCreations(
  provider: InfrastructureProvider,
  node: GraphNode,
  { unrecorded, wanted }: Pick<KnownInfrastructure, "unrecorded"> & { readonly wanted: JsonObject },
): InterruptedCreation[] {
  return unrecorded
    .filter((creation) => isGenerationOf(node, creation))
    .map(({ kind, name, spec, isLost = false }) => ({
      name,
      canServe: !isLost && canServe(provider.verdict(kind, spec, wanted)),
    }));
}

function decide(
  provider: InfrastructureProvider,
  node: GraphNode,
  generations: Generations,
): InfrastructureDecision {
  const { judged } = generations;
  const kept = judged.find((one) => isAlive(one) && !generations.mayReplace(one));
  if (kept !== undefined) return { node: { ...node, name: kept.resource.name }, ...keep(kept) };
  const isFit = ({ unfit, resource }: Judged) =>
    unfit === undefined || !generations.replacesFailed(resource.key);
  const serving = judged.find((one) => isAlive(one) && isFit(one) && canServe(one.verdict));
  if (serving !== undefined) {
    return { node: { ...node, name: serving.resource.name }, ...serve(serving) };
  }
  const [first] = judged;
  if (first === undefined) {
    const name = firstName(provider, node, generations);
    return { node: { ...node, name }, kind: "create", changes: [], reasons: [], stale: false };
  }
  const lost = judged.find(({ gone }) => gone);
  if (lost !== undefined) {
    const again = succeed(lost);
    // Whatever the record says: without it, it would be a name that was used.
    if (generations.used.has(lost.resource.key)) {
      const name = nextName(provider, node, generations);
      return { ...again, node: { ...node, name } };
    }
    const { name } = lost.resource;
    return { ...again, node: { ...node, name }, kind: "create", changes: [], stale: true };
  }
  const superseded = supersede(first);
  const name =
    superseded.kind === "unsupported" ? first.resource.name : nextName(provider, node, generations);
  return { node: { ...node, name }, ...superseded };
}

/** An interrupted creation that can serve is found again; one that cannot is left to be removed. */
function firstName(
  provider: InfrastructureProvider,
  node: GraphNode,
  generations: Generations,
): string {
  const found = generations.interrupted.find((creation) => creation.canServe);
  if (found !== undefined) return found.name;
  const isTaken =
    generations.used.has(keyOf(node)) ||
    generations.interrupted.some(({ name }) => name === node.name);
  return isTaken ? nextName(provider, node, generations) : node.name;
}

/**
 * Named by the inputs that cannot change, Refs by name: ids are not known at first, and the name must
 * not depend on when the plan is made. A name that is taken already is told apart by a count.
 */
function nextName(
  provider: InfrastructureProvider,
  node: GraphNode,
  { judged, interrupted, isFrozen, used }: Generations,
): string {
  const taken = new Set([
    ...judged.map(({ resource }) => resource.name),
    ...interrupted.filter((creation) => !creation.canServe).map(({ name }) => name),
  ]);
  const isFree = (name: string) => !taken.has(name) && !used.has(nodeKey(node.kind, name));
  if (isFrozen && isFree(node.name)) return node.name;
  let hash = generationHash(provider, node.kind, node.spec);
  for (let count = 1; !isFree(`${node.name}-${hash}`); count += 1) {
    hash = digestOf([hash, count], hash.length);
  }
  return `${node.name}-${hash}`;
}

/** Generations of one node share its name; later ones carry a hash behind it. */
export function isGenerationOf(
  node: Pick<GraphNode, "kind" | "name">,
  resource: Pick<RecordedResource, "kind" | "name">,
): boolean {
  if (resource.kind !== node.kind) return false;
  const rest = resource.name.slice(node.name.length);
  return resource.name.startsWith(node.name) && /^(-[0-9a-f]{8})?$/.test(rest);
}

/** The node among some that a resource is a generation of; one of just its name goes before all. Pure. */
export function nodeBehind<Node extends Pick<GraphNode, "kind" | "name">>(
  nodes: readonly Node[],
  resource: Pick<RecordedResource, "kind" | "name">,
): Node | undefined {
  const same = nodes.find(({ kind, name }) => kind === resource.kind && name === resource.name);
  return same ?? nodes.find((node) => isGenerationOf(node, resource));
}

/** What a Ref to it stands for; the unknown value as long as nobody can tell. Pure. */
export function outputOf(existing: Existing | undefined, ref: Ref): Json {
  if (existing === undefined) return unknownValue;
  if (ref.output === "id") return existing.id ?? unknownValue;
  return existing.status[ref.output] ?? unknownValue;
}
