import { type CapstanError, isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { type DriftFilter, hiddenIn } from "../../drift/drift-filter.js";
import type { NodeKey } from "../../graph/graph.js";
import { isHostKey } from "../../records/host-name.js";
import { type Observation, presentAmong } from "../../plan/observation.js";
import type { CallContext, NodeReport } from "../../provider/port.js";
import type { PriorState } from "../../records/prior-state.js";
import { keepsControlPlane, type Target } from "../../records/target.js";
import { marksOf } from "../../workload/node-marks.js";
import { type EtcdHealth, unknownHealth } from "../../workload/etcd/etcd-health.js";
import type { EtcdReport } from "../../workload/etcd/etcd-report.js";
import { askEtcd } from "./ask-etcd.js";
import { membersAmongSeen, type SeenMember } from "./seen-members.js";
import { nodeHostOf } from "./node-host.js";
import type { RunOptions } from "./run-options.js";
import type { RunBootstrap } from "./run-bootstrap.js";

/** Hosts as they were seen, and how their cluster is reached. */
interface SeenHosts {
  readonly bootstrap: RunBootstrap;
  readonly observation: Pick<Observation, "observedResources">;
  readonly records: PriorState;
  readonly context: CallContext;
}

/**
 * What the Nodes of hosts that are there say of themselves; nothing where there is no host. Throws API_SERVER, UNKNOWN_PRESENCE where
 * the cloud shows no endpoint, and NOT_FOUND where nobody knows the keys.
 */
export async function nodesAmong(
  { bootstrap, observation, records, context }: SeenHosts,
  hostKind: string,
): Promise<ReadonlyMap<NodeKey, NodeReport>> {
  const keys = [...observation.observedResources.keys()];
  const hosts = [
    ...presentAmong(
      keys.filter((key) => isHostKey(key, hostKind)),
      observation,
    ),
  ];
  const [first] = hosts;
  if (first === undefined) return new Map();
  const cluster = await bootstrap.workload.beside(observation, first[1], records, context);
  const machines = records.transaction?.target.machines ?? [];
  const marks = new Map(machines.map(({ host, spec }) => [host, marksOf(spec)]));
  const nodes = await cluster.nodes(
    hosts.map(([key, host]) => omitUndefined({ ...nodeHostOf(host), marks: marks.get(key) })),
  );
  return new Map(
    hosts.flatMap(([key, { who }]) => {
      const report = nodes.get(who.name);
      return report === undefined ? [] : [[key, report] as const];
    }),
  );
}

/** Etcd as its members tell, and until when their certificates count, milliseconds since the epoch, where they tell. */
export interface EtcdLook {
  readonly health: EtcdHealth;
  /** As etcd on a member shows its own, which was made with the others. */
  readonly certificates: ReadonlyMap<NodeKey, number>;
  /** What kept it from being asked. */
  readonly unknown?: string;
}

/**
 * How etcd is, asked once. Where it cannot be asked, nobody knows how those are that run. Undefined where nobody can tell: no member
 * runs, or etcd is outside of the cluster's pods. `because`: the cluster has just not answered, and is not asked again. Throws nothing but
 * an interruption.
 */
export async function etcdAmong(
  { bootstrap, observation, records, context }: SeenHosts & { readonly observation: Observation },
  { hostKind, because }: { readonly hostKind: string; readonly because?: string | undefined },
): Promise<EtcdLook | undefined> {
  const { transaction } = records;
  if (transaction === undefined || !keepsControlPlane(transaction.target)) return undefined;
  const { target } = transaction;
  const hosts = membersAmongSeen({ target, records, hostKind }, observation);
  const members = hosts.map(({ member }) => member);
  const running = hosts.find(({ member }) => member.phase === "runs")?.observed;
  if (running === undefined) return undefined;
  const unknown = (why: string) => ({
    health: unknownHealth(why, members),
    certificates: new Map<NodeKey, number>(),
    unknown: why,
  });
  if (because !== undefined) return unknown(because);
  try {
    const known = { target, records, hostKind, hosts, running };
    const answered = await askEtcd({
      ...known,
      bootstrap,
      observation,
      shown: observation,
      context,
    });
    return (
      answered && {
        health: answered.health,
        certificates: certificatesIn(answered.report, hosts),
      }
    );
  } catch (error) {
    context.signal.throwIfAborted();
    if (!isCapstanError(error)) throw error;
    return unknown(error.message);
  }
}

function certificatesIn(
  { members }: EtcdReport,
  hosts: readonly SeenMember[],
): ReadonlyMap<NodeKey, number> {
  return new Map(
    hosts.flatMap(({ member: { key, name } }) => {
      const untilMs = members.find(({ host }) => host === name)?.answer.certificateUntilMs;
      return untilMs === undefined ? [] : [[key, untilMs] as const];
    }),
  );
}

/** What the Nodes of a settled cluster are to bear. */
interface KeptNodes {
  readonly target: Target;
  /** Hosts whose Nodes keep what they bear: a plan, or a drift policy, decides about those. */
  readonly except: ReadonlySet<NodeKey>;
  /** Those of the target take pods again that a drain of ours has cordoned: nobody is at work who could have done that just now. */
  readonly uncordons: boolean;
}

/**
 * The Nodes of the target's machines bear what these want them to, and nothing that a run has left. The hosts whose Nodes bore something
 * else. Throws what `nodesAmong` throws.
 */
async function keepMarks(
  { bootstrap, observation, records, context }: SeenHosts,
  { target, uncordons, except }: KeptNodes,
): Promise<readonly NodeKey[]> {
  const hosts = presentAmong(
    target.machines.map(({ host }) => host),
    observation,
  );
  const marked = target.machines.flatMap(({ host: key, spec }) => {
    const host = hosts.get(key);
    return host === undefined ? [] : [{ key, host: nodeHostOf(host), marks: marksOf(spec) }];
  });
  const [first] = hosts.values();
  if (first === undefined || !keepsControlPlane(target)) return [];
  const cluster = await bootstrap.workload.beside(observation, first, records, context);
  // First, as pods wait for it.
  if (uncordons) await cluster.uncordon(marked.map(({ host }) => host));
  const changed = await cluster.keepMarks(marked.filter(({ key }) => !except.has(key)));
  return marked.flatMap(({ key, host: { name } }) => (changed.includes(name) ? [key] : []));
}

/** The hosts whose Nodes bore something else than is wanted, or what kept that from being found out. */
type KeptMarks =
  | { readonly kind: "kept"; readonly changed: readonly NodeKey[] }
  | { readonly kind: "failed"; readonly error: CapstanError };

/** Once, at the end of a run: all is done by then, and the next command does what fails. */
export async function tryToKeepMarks(seen: SeenHosts, kept: KeptNodes): Promise<KeptMarks> {
  if (seen.records.transaction?.keys === undefined) return { kind: "kept", changed: [] };
  try {
    return { kind: "kept", changed: await keepMarks(seen, kept) };
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    return { kind: "failed", error };
  }
}

/**
 * Once, for a cluster that has reached its target: kubeadm-config, kube-proxy and CoreDNS say what its members have. A cluster
 * that does not answer keeps what it has until the next command; the error tells why.
 */
export async function tryToSettleControlPlane({
  bootstrap,
  observation,
  records,
  context,
}: SeenHosts): Promise<CapstanError | undefined> {
  if (records.transaction?.keys === undefined) return undefined;
  try {
    await bootstrap.settleControlPlane(context, observation, records);
    return undefined;
  } catch (error) {
    if (!isCapstanError(error)) throw error;
    return error;
  }
}

/** What the Nodes of a run that is done are to bear: no cordon is left, and hidden drift stays. Pure. */
export function keptOnceDone(target: Target, driftFilter: DriftFilter | undefined): KeptNodes {
  return { target, uncordons: true, except: hiddenIn(driftFilter) };
}

/**
 * What a run that is done still asks its cluster for: what it owes that, at most so long, what its Nodes bear, what its control
 * plane says of itself, and that no token is left.
 */
export async function finishNodes(
  seen: SeenHosts,
  target: Target,
  { timeoutMs, driftFilter }: Pick<RunOptions, "timeoutMs" | "driftFilter">,
): Promise<void> {
  const { bootstrap, context, observation, records } = seen;
  await bootstrap.owed.finish(context, timeoutMs);
  const marks = await tryToKeepMarks(seen, keptOnceDone(target, driftFilter));
  if (marks.kind === "kept") bootstrap.reportMarks(marks.changed);
  const failure = marks.kind === "failed" ? marks.error : await tryToSettleControlPlane(seen);
  if (failure !== undefined) {
    // A cluster that has just not answered is not asked once more: tokens expire.
    bootstrap.reportUnsettled(failure);
    return;
  }
  await bootstrap.revokeOthers(context, observation, records).catch((error: unknown) => {
    if (!isCapstanError(error)) throw error;
  });
}
