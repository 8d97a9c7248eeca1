import { digestOf } from "../api/digest.js";
import type { NodeReports } from "../engine/run/node-reports.js";
import type { NodeKey } from "../graph/graph.js";
import { mapBounded } from "../provider/bounded.js";
import type { CallContext, InfrastructureProvider, NodeReport } from "../provider/port.js";
import type { ClusterState } from "./cluster-state.js";

interface NodePolling {
  readonly nodeReports: Pick<NodeReports, "of">;
  readonly providers: readonly InfrastructureProvider[];
  readonly context: CallContext;
  /** Milliseconds between two looks at least, give or take a tenth. */
  readonly periodMs: number;
  /** From 0 to below 1, as Math.random. */
  readonly random: () => number;
  readonly remembered: () => ReadonlyMap<string, ClusterState>;
  /** The Nodes of a cluster say something else than when nothing was left to do. */
  readonly onChange: (key: string) => void;
}

/** Each has an API server of its own; the certificates for them are made here. */
const clustersAtATime = 16;
/** So many times as long as a look has taken is waited before the next. */
const pauseFactor = 3;

/** Looks at the Nodes of settled clusters, which no listing of a cloud tells of. Until the signal; never throws. */
export async function pollNodes(polling: NodePolling): Promise<void> {
  const { context, periodMs, random, remembered } = polling;
  const { clock, signal } = context;
  let lookMs = 0;
  try {
    while (!signal.aborted) {
      const pauseMs = Math.max(periodMs, pauseFactor * lookMs);
      await clock.sleep(pauseMs * (0.9 + 0.2 * random()), signal);
      const begunMs = clock.now();
      await mapBounded([...remembered()], clustersAtATime, ([key, cluster]) =>
        inspect(key, cluster, polling),
      );
      lookMs = clock.now() - begunMs;
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function inspect(key: string, cluster: ClusterState, polling: NodePolling): Promise<void> {
  const { nodeReports, providers, context, onChange } = polling;
  const { baseline, view } = cluster;
  if (baseline === undefined || view?.observedResources === undefined) return;
  const { records, observedResources } = view;
  const provider = providers.find(({ name }) => name === records.transaction?.target.provider);
  if (provider === undefined) return;
  const nodes = await nodeReports.of({ observedResources }, { provider, records, context });
  // Work that went on meanwhile has looked for itself.
  if (nodes === undefined || cluster.baseline !== baseline) return;
  if (nodesDigestOf(nodes) === baseline.nodesDigest) return;
  cluster.unsettled();
  onChange(key);
}

/** Tells whether Nodes say the same in two looks: order does not count. Pure. */
export function nodesDigestOf(nodes: ReadonlyMap<NodeKey, NodeReport>): string {
  const sorted = [...nodes].toSorted(([left], [right]) => (left < right ? -1 : 1));
  return digestOf(sorted, 16);
}
