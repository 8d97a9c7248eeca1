import { digestOf } from "../api/digest.js";
import type { NodeReports } from "../engine/run/node-reports.js";
import type { NodeKey } from "../graph/graph.js";
import { mapBounded } from "../provider/bounded.js";
import type { CallContext, InfrastructureProvider, NodeReport } from "../provider/port.js";
import type { EtcdHealth } from "../workload/etcd/etcd-health.js";
import type { ClusterState } from "./cluster-state.js";
import { lookPaced, type Pace } from "./paced-looks.js";

interface NodePolling extends Pace {
  readonly nodeReports: Pick<NodeReports, "of" | "etcdOf" | "isToLift">;
  readonly providers: readonly InfrastructureProvider[];
  readonly context: CallContext;
  readonly remembered: () => ReadonlyMap<string, ClusterState>;
  /** The Nodes of a cluster say something else than when nothing was left to do, or a drain has left a cordon on one. */
  readonly onChange: (key: string) => void;
}

/** Each has an API server of its own; the certificates for them are made here. */
const clustersAtATime = 16;
/** Looks at the Nodes of settled clusters, which no listing of a cloud tells of. Until the signal; never throws for what a cluster answers. */
export async function pollNodes(polling: NodePolling, signal: AbortSignal): Promise<void> {
  const look = () =>
    mapBounded([...polling.remembered()], clustersAtATime, ([key, cluster]) =>
      inspect(key, cluster, polling),
    );
  try {
    await lookPaced(polling, signal, look);
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
  const looked = { provider, records, context, asksEtcd: true, isRemembered: true };
  const nodes = await nodeReports.of({ observedResources }, looked);
  if (nodes === undefined) return;
  const observation = { observedResources, unrecorded: [], listed: 0, nodes };
  const etcd = await nodeReports.etcdOf(observation, looked);
  // Work that went on meanwhile has looked for itself.
  if (cluster.baseline !== baseline) return;
  // Nobody who works on it would have left a cordon to a settled cluster: it is lifted under the lock of its stack.
  const isLeftOver = nodeReports.isToLift(nodes, looked);
  if (!isLeftOver && nodesDigestOf(nodes, etcd?.health) === baseline.nodesDigest) return;
  cluster.unsettled();
  onChange(key);
}

/** Tells whether Nodes, and members of etcd, say the same in two looks: neither order nor words of an ailment count. Pure. */
export function nodesDigestOf(
  nodes: ReadonlyMap<NodeKey, NodeReport>,
  etcd: EtcdHealth = [],
): string {
  const sorted = [...nodes].toSorted(([left], [right]) => (left < right ? -1 : 1));
  const members = etcd.map(({ name, state }) => `${name} ${state}`).toSorted();
  return digestOf([sorted, members], 16);
}
