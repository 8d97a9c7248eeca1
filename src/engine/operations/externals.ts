import { CapstanError, isCapstanError, messageOf } from "../../api/error.js";
import { clusterNameOf, type ClusterObject } from "../../api/types.js";
import { unknownValue } from "../../api/unknown.js";
import { compileParts } from "../../compile/compile.js";
import { informed } from "../../compile/lookups.js";
import { externalSpecOf, type GraphNode, keyOf, type NodeKey } from "../../graph/graph.js";
import type { ExternalSight, ExternalSights } from "../../plan/observation.js";
import { type Refusal, RefusedChange } from "../../plan/refused-change.js";
import { mapBounded } from "../../provider/bounded.js";
import type { CallContext, InfrastructureProvider, Lookups } from "../../provider/port.js";
import { cloudResources, type PriorState } from "../../records/prior-state.js";
import { clusterIn, type Target } from "../../records/target.js";
import { looksAtATime, reading } from "../run/observe.js";

/** What the cloud shows of external nodes, and why it could not be told of others. */
interface ExternalsRead {
  readonly sights: ExternalSights;
  readonly unknown: ReadonlyMap<NodeKey, CapstanError>;
}

/** What a cluster uses that is not ours, as its objects say it; without what nobody knows the id of yet. Pure. */
export function externalsOf(
  provider: InfrastructureProvider,
  cluster: ClusterObject,
  lookups: Lookups,
): readonly GraphNode[] {
  const { infrastructure } = compileParts(informed(provider, lookups), cluster, []);
  return infrastructure.filter(
    (node) => node.type === "external" && externalSpecOf(node).id !== unknownValue,
  );
}

/**
 * What the cloud shows of external nodes: read by the `find` of their kinds, which changes nothing. What nobody can
 * tell is left out, with the reason.
 */
export async function readExternals(
  nodes: readonly GraphNode[],
  provider: InfrastructureProvider,
  context: CallContext,
): Promise<ExternalsRead> {
  const sights = new Map<NodeKey, ExternalSight>();
  const unknown = new Map<NodeKey, CapstanError>();
  await mapBounded(nodes, looksAtATime, async (node) => {
    const key = keyOf(node);
    try {
      sights.set(key, await sightOf(node, provider, context));
    } catch (error) {
      if (!isCapstanError(error) || context.signal.aborted) throw error;
      unknown.set(key, error);
    }
  });
  return { sights, unknown };
}

async function sightOf(
  node: GraphNode,
  { name, handlers }: InfrastructureProvider,
  context: CallContext,
): Promise<ExternalSight> {
  const handler = handlers.get(node.kind);
  if (handler?.find === undefined) throw notReadable(node, name);
  const { id } = externalSpecOf(node);
  const found = await reading(context, async () => handler.find?.(context, id));
  return found === undefined || found.phase === "gone" ? "missing" : found;
}

function notReadable({ kind }: GraphNode, provider: string): CapstanError {
  return new CapstanError({
    code: "UNSUPPORTED_CHANGE",
    source: "user",
    message: `provider ${provider} has no find for ${kind}, so nothing of that kind can be used that is not ours`,
  });
}

/** What a recorded target uses has to be there for whoever goes back to it. Throws what `refuseUnusable` throws. */
export async function refuseWithoutExternals(
  target: Target,
  prior: PriorState,
  {
    provider,
    context,
  }: { readonly provider: InfrastructureProvider; readonly context: CallContext },
): Promise<void> {
  const { externals = [] } = target;
  if (externals.length === 0) return;
  const read = await readExternals(externals, provider, context);
  refuseUnusable(externals, read, { prior, cluster: clusterIn(target) });
}

/**
 * Throws RefusedChange naming everything that is not there, cannot be read, or is ours; UNKNOWN_PRESENCE where the
 * cloud cannot tell: unknown is never absent. Pure.
 */
export function refuseUnusable(
  nodes: readonly GraphNode[],
  { sights, unknown }: ExternalsRead,
  { prior, cluster }: { readonly prior: PriorState; readonly cluster: ClusterObject },
): void {
  const refusals = nodes.flatMap((node): Refusal[] => {
    const error = unknown.get(keyOf(node));
    const reason =
      error === undefined
        ? whyNot(node, sights.get(keyOf(node)), { prior, cluster })
        : messageOf(error);
    const subject = `${node.kind} ${node.name}`;
    return reason === undefined ? [] : [{ subject, reason, verb: "use" }];
  });
  if (refusals.length === 0) return;
  const [uncertain] = [...unknown.values()].filter(({ source }) => source === "cloud");
  if (uncertain === undefined) {
    throw new RefusedChange(refusals, "nothing was changed; name what is there, or make it first");
  }
  throw new CapstanError({
    code: "UNKNOWN_PRESENCE",
    source: "cloud",
    subject: clusterNameOf(cluster),
    message: refusals.map(({ subject, reason }) => `cannot use ${subject}: ${reason}`).join("\n"),
    hint: "nothing was changed; try again when the cloud answers",
    retryable: uncertain.retryable,
    cause: uncertain,
  });
}

/** Law 5 from its other side: what we would delete one day is nobody else's. */
function whyNot(
  node: GraphNode,
  sight: ExternalSight | undefined,
  { prior, cluster }: { readonly prior: PriorState; readonly cluster: ClusterObject },
): string | undefined {
  const { id } = externalSpecOf(node);
  if (sight === undefined || sight === "missing") return `the cloud has no ${node.kind} ${id}`;
  const isRecorded = cloudResources(prior).some((one) => one.id === sight.id);
  const isOurs = isRecorded || sight.who?.cluster === clusterNameOf(cluster);
  return isOurs ? `${id} is the cluster's own, and goes when the cluster does` : undefined;
}
