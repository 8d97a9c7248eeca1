import type { Json, JsonObject } from "../../api/json.js";
import { unknownValue } from "../../api/unknown.js";
import {
  externalSpecOf,
  type GraphNode,
  keyOf,
  type NodeKey,
  refsIn,
  type ResourceGraph,
  resolveRefs,
} from "../../graph/graph.js";
import type { CompiledParts } from "../../provider/port.js";
import type { ExternalSight, ExternalSights } from "../observation.js";
import { type Refusal, RefusedChange } from "../refused-change.js";

/** What is known of external resources. */
export interface KnownExternals {
  /** As the cloud shows them; absent: nobody has looked. */
  readonly seen?: ExternalSights;
  /** As they were pinned. */
  readonly pinned: ResourceGraph;
}

/** Compiled parts in which nothing refers to an external resource any more. */
interface PinnedParts extends CompiledParts {
  readonly externals: ResourceGraph;
}

/**
 * The parts with values in the place of Refs to external resources: what is pinned of the same resource, and what the
 * cloud shows otherwise. Pure.
 */
export function withExternals(parts: CompiledParts, known: KnownExternals): PinnedParts {
  const found = parts.infrastructure.filter(({ type }) => type === "external");
  if (found.length === 0) return { ...parts, externals: [] };
  const specs: JsonObject[] = [
    ...parts.infrastructure.map(({ spec }) => spec),
    ...parts.hosts.values(),
    ...[...(parts.satellites?.values() ?? [])].flat().map(({ spec }) => spec),
  ];
  const externals = found.map((node) => pinnedNode(node, outputsNamed(specs, keyOf(node)), known));
  if (known.seen !== undefined) refuseUntold(externals);
  const byKey = new Map(externals.map((node) => [keyOf(node), externalSpecOf(node)]));
  const resolve = <T extends Json>(spec: T): T =>
    resolveRefs(spec, (ref) => {
      const external = byKey.get(ref.$ref);
      if (external === undefined) return ref;
      return ref.output === "id" ? external.id : (external.outputs?.[ref.output] ?? unknownValue);
    });
  return {
    externals,
    infrastructure: parts.infrastructure
      .filter(({ type }) => type !== "external")
      .map((node) => ({
        ...node,
        spec: resolve(node.spec),
        dependsOn: node.dependsOn.filter((key) => !byKey.has(key)),
      })),
    hosts: new Map([...parts.hosts].map(([machine, spec]) => [machine, resolve(spec)])),
    ...withSatellites(parts, resolve),
  };
}

function withSatellites(
  { satellites }: CompiledParts,
  resolve: (spec: JsonObject) => JsonObject,
): Pick<CompiledParts, "satellites"> {
  if (satellites === undefined) return {};
  const resolved = [...satellites].map(
    ([machine, own]) => [machine, own.map((one) => ({ ...one, spec: resolve(one.spec) }))] as const,
  );
  return { satellites: new Map(resolved) };
}

/** Outputs beside the id that Refs to a node name, in name order. */
function outputsNamed(specs: readonly JsonObject[], key: NodeKey): string[] {
  const refs = specs.flatMap((spec) => refsIn(spec)).filter(({ $ref }) => $ref === key);
  return [...new Set(refs.map(({ output }) => output))].filter((output) => output !== "id").sort();
}

function pinnedNode(
  node: GraphNode,
  outputs: readonly string[],
  { seen, pinned }: KnownExternals,
): GraphNode {
  const { id } = externalSpecOf(node);
  const key = keyOf(node);
  const before = pinned.find((one) => one.type === "external" && keyOf(one) === key);
  const recorded = before === undefined ? undefined : externalSpecOf(before);
  const known = recorded?.id === id ? recorded.outputs : undefined;
  const sight = seen?.get(key);
  const values = outputs.map((output): [string, Json] => [
    output,
    known?.[output] ?? shownOutput(sight, output) ?? unknownValue,
  ]);
  const spec: JsonObject =
    values.length === 0 ? { id } : { id, outputs: Object.fromEntries(values) };
  return { kind: node.kind, name: node.name, type: "external", spec, dependsOn: [] };
}

/** Throws RefusedChange naming every output that is asked of an external resource and that it does not have. */
function refuseUntold(externals: ResourceGraph): void {
  const refusals = externals.flatMap((node): Refusal[] => {
    const { id, outputs = {} } = externalSpecOf(node);
    if (id === unknownValue) return [];
    const untold = Object.keys(outputs).filter((output) => outputs[output] === unknownValue);
    if (untold.length === 0) return [];
    const reason = `${id} does not tell its ${untold.join(", ")}`;
    return [{ subject: `${node.kind} ${node.name}`, reason, verb: "use" }];
  });
  if (refusals.length === 0) return;
  throw new RefusedChange(refusals, "nothing was changed; name one that has what is asked of it");
}

/** What an external resource says of itself; undefined where it says nothing, or is not there. Pure. */
function shownOutput(sight: ExternalSight | undefined, output: string): Json | undefined {
  return sight === undefined || sight === "missing" ? undefined : sight.status[output];
}
