import { isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import { type Observation, shownIn } from "../../plan/observation.js";
import { newMembersOfPoints } from "../../plan/undo/point-of-no-return.js";
import type { CallContext, InfrastructureProvider, Observed } from "../../provider/port.js";
import type { PriorState } from "../../records/prior-state.js";
import { nodeHostOf } from "./node-host.js";
import { RunBootstrap } from "./run-bootstrap.js";
import type { OpenWorkload } from "./workload-cluster.js";

/** Who asks a cluster about the hosts of its open transaction, and how. */
interface Asked {
  readonly provider: InfrastructureProvider;
  readonly records: PriorState;
  readonly context: CallContext;
  /** Absent: the cluster is not asked. */
  readonly openWorkload?: OpenWorkload | undefined;
}

/**
 * The observation with the new control-plane hosts of an open upgrade that have not joined their cluster. The cluster is asked
 * only where such hosts exist; one that does not answer proves nothing, and the observation stays as it is. Throws nothing but
 * an interruption.
 */
export async function withUnjoinedMembers(
  observation: Observation,
  { provider, records, context, openWorkload }: Asked,
): Promise<Observation> {
  const points = new Set(newMembersOfPoints(provider, records));
  const hosts = shownIn(observation).filter(
    ({ who, phase }) => points.has(keyOf(who)) && phase !== "gone" && phase !== "deleting",
  );
  const target = records.transaction?.target;
  if (hosts.length === 0 || target === undefined) return observation;
  const report = () => undefined;
  const bootstrap = RunBootstrap.of(target, omitUndefined({ provider, openWorkload, report }));
  if (bootstrap === undefined) return observation;
  try {
    const unjoined = await unjoinedAmong(hosts, bootstrap, observation, { records, context });
    return { ...observation, unjoinedMembers: new Set(unjoined) };
  } catch (error) {
    context.signal.throwIfAborted();
    if (!isCapstanError(error)) throw error;
    return observation;
  }
}

/** An API server serves once its etcd has joined, and kubeadm registers the Node about then: a host with neither never served. */
async function unjoinedAmong(
  hosts: readonly Observed[],
  bootstrap: RunBootstrap,
  observation: Observation,
  { records, context }: Pick<Asked, "records" | "context">,
): Promise<NodeKey[]> {
  const [first] = hosts;
  if (first === undefined) return [];
  const cluster = await bootstrap.workload.beside(observation, first, records, context);
  const known = hosts.map(nodeHostOf);
  const nodes = await cluster.nodes(known);
  const etcd = await cluster.etcd(known, context.signal);
  const members = new Set(etcd?.members.map(({ host }) => host));
  return hosts
    .filter(({ who }) => !nodes.has(who.name) && !members.has(who.name))
    .map(({ who }) => keyOf(who));
}
