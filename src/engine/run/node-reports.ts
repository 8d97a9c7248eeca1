import { renewalDaysOf } from "../../api/certificate-renewal.js";
import { isCapstanError } from "../../api/error.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { withNodeMarks } from "../../drift/node-fields.js";
import type { NodeKey } from "../../graph/graph.js";
import type { Observation } from "../../plan/observation.js";
import type {
  CallContext,
  InfrastructureProvider,
  InventoryScope,
  NodeReport,
} from "../../provider/port.js";
import { isOpen, type PriorState } from "../../records/prior-state.js";
import type { Target } from "../../records/target.js";
import type { TransactionRecord } from "../../records/transaction.js";
import {
  etcdAmong,
  type EtcdLook,
  nodesAmong,
  tryToKeepMarks,
  tryToSettleControlPlane,
} from "./cluster-nodes.js";
import { observe } from "./observe.js";
import type { RunEvent } from "./run-event.js";
import { RunBootstrap } from "./run-bootstrap.js";
import { withUnjoinedMembers } from "./unjoined-members.js";
import { Silences } from "./silences.js";
import type { OpenWorkload } from "./workload-cluster.js";

export interface Looked {
  readonly provider: InfrastructureProvider;
  readonly records: PriorState;
  readonly context: CallContext;
  /** Somebody wants to know how etcd is: one more round of calls. */
  readonly asksEtcd?: boolean;
  /** The records are those of an earlier look: by now somebody may be at work, whose cordons nobody lifts. */
  readonly isRemembered?: boolean;
}

/**
 * What the Nodes of clusters say of themselves, read from their own API servers. A cluster that does not answer is no news: its
 * hosts are then as their provider tells.
 */
export class NodeReports {
  /** Clusters whose API servers did not tell of Nodes. */
  private readonly silent = new Silences();
  /** Clusters whose etcd could not be asked. */
  private readonly etcdSilent = new Silences();
  /** Clusters that have not let their Nodes be uncordoned. */
  private readonly refused = new Silences();
  /** The revision of each cluster, by its UID, whose kubeadm-config and addons have been looked at. */
  private readonly settled = new Map<string, number>();

  /**
   * `settles`: a controller also lifts cordons that a drain has left on Nodes of settled clusters, and writes what their control planes say
   * of themselves. What their Machines want Nodes to bear it corrects by a plan, as drift.
   */
  constructor(
    private readonly openWorkload: OpenWorkload,
    private readonly settles = false,
  ) {}

  /** The cloud, and what Nodes say. Throws what a look at the cloud throws. */
  async observe(scope: InventoryScope, looked: Looked): Promise<Observation> {
    const { provider, records, context } = looked;
    return this.over(await observe(provider, context, scope, records), looked);
  }

  /** The observation with what Nodes say; as it is where nobody says anything. Throws nothing but an interruption. */
  async over(observation: Observation, looked: Looked): Promise<Observation> {
    const nodes = await this.of(observation, looked);
    const etcd = await this.etcdOf(omitUndefined({ ...observation, nodes }), looked);
    const certificates =
      etcd !== undefined && etcd.certificates.size > 0 ? etcd.certificates : undefined;
    const known = await withUnjoinedMembers(observation, {
      ...looked,
      openWorkload: this.openWorkload,
    });
    const observedResources = withNodeMarks(looked.records, omitUndefined({ ...known, nodes }));
    return omitUndefined({
      ...known,
      observedResources,
      nodes,
      etcd: etcd?.health,
      certificates,
    });
  }

  /**
   * How etcd is, where somebody asks for it or wants its members renewed in time. Undefined where nobody asks, or can tell; one
   * that has just not answered is not asked again. Throws nothing but an interruption.
   */
  async etcdOf(
    observation: Observation,
    { provider, records, context, asksEtcd = false }: Looked,
  ): Promise<EtcdLook | undefined> {
    const { transaction } = records;
    if (transaction?.keys === undefined) return undefined;
    const { target, clusterUid } = transaction;
    if (!asksEtcd && renewalDaysOf(target.objects) === undefined) return undefined;
    const bootstrap = this.bootstrapOf(target, provider);
    if (bootstrap === undefined) return undefined;
    const nowMs = context.clock.now();
    const because =
      this.etcdSilent.holds(clusterUid, nowMs) ??
      (observation.nodes === undefined ? this.silent.holds(clusterUid, nowMs) : undefined);
    const { hostKind } = provider;
    const seen = { bootstrap, observation, records, context };
    const look = await etcdAmong(seen, { hostKind, because });
    if (because !== undefined) return look;
    const silence = look?.unknown;
    if (silence === undefined) this.etcdSilent.answered(clusterUid);
    else this.etcdSilent.failed(clusterUid, silence, context.clock.now());
    return look;
  }

  /** What a run does at its end, for a cluster of which nothing is to be changed: whoever ran last may have died before. */
  async keepMarks(
    observation: Observation,
    { provider, records, context }: Looked,
    report: (event: RunEvent) => void,
  ): Promise<void> {
    const { transaction } = records;
    // A cluster that has just not answered is not asked once more.
    const { nodes } = observation;
    if (transaction === undefined || nodes === undefined) return;
    const bootstrap = this.bootstrapOf(transaction.target, provider, report);
    if (bootstrap === undefined) return;
    const seen = { bootstrap, observation, records, context };
    const { target } = transaction;
    const uncordons = !isOpen(records) && this.isToLift(nodes, { records, context });
    const marks = await tryToKeepMarks(seen, { target, uncordons, except: drifted(nodes) });
    if (marks.kind === "failed" || isOpen(records)) return;
    const unsettled = await tryToSettleControlPlane(seen);
    if (unsettled !== undefined) bootstrap.reportUnsettled(unsettled);
  }

  /** By host; undefined where nobody says anything. Throws nothing but an interruption. */
  async of(
    { observedResources }: Pick<Observation, "observedResources">,
    looked: Looked,
  ): Promise<ReadonlyMap<NodeKey, NodeReport> | undefined> {
    const { provider, records, context, isRemembered = false } = looked;
    const { transaction } = records;
    if (transaction?.keys === undefined) return undefined;
    const { clusterUid, target } = transaction;
    const { clock, signal } = context;
    if (this.silent.holds(clusterUid, clock.now()) !== undefined) return undefined;
    const bootstrap = this.bootstrapOf(target, provider);
    if (bootstrap === undefined) return undefined;
    try {
      const seen = { bootstrap, observation: { observedResources }, records, context };
      const nodes = await nodesAmong(seen, provider.hostKind);
      this.silent.answered(clusterUid);
      if (!this.settles || isOpen(records)) return nodes;
      const uncordons = !isRemembered && this.isToLift(nodes, looked);
      const marks = await tryToKeepMarks(seen, { target, uncordons, except: drifted(nodes) });
      const hasFailed = marks.kind === "failed";
      if (!hasFailed && !isRemembered) await this.settleControlPlane(seen, transaction);
      if (!uncordons) return nodes;
      if (hasFailed) {
        this.refused.failed(clusterUid, marks.error.message, clock.now());
        return nodes;
      }
      this.refused.answered(clusterUid);
      return await nodesAmong(seen, provider.hostKind);
    } catch (error) {
      signal.throwIfAborted();
      if (!isCapstanError(error)) throw error;
      this.silent.failed(clusterUid, error.message, clock.now());
      return undefined;
    }
  }

  /** Whether Nodes bear what a drain of ours has left, and it is not too early to try again what was refused. */
  isToLift(
    nodes: ReadonlyMap<NodeKey, NodeReport>,
    { records, context }: Pick<Looked, "records" | "context">,
  ): boolean {
    const isLeft = [...nodes.values()].some(
      (node) => node.cordonedBy === "capstan" || node.cordonMarkIsLeft === true,
    );
    const { clusterUid = "" } = records.transaction ?? {};
    return isLeft && this.refused.holds(clusterUid, context.clock.now()) === undefined;
  }

  /** Once for each revision: another process may have begun a change by the time that a remembered one is written again. */
  private async settleControlPlane(
    seen: Parameters<typeof tryToSettleControlPlane>[0],
    { clusterUid, number }: TransactionRecord,
  ): Promise<void> {
    if (this.settled.get(clusterUid) === number) return;
    const failure = await tryToSettleControlPlane(seen);
    if (failure === undefined) this.settled.set(clusterUid, number);
  }

  /** Undefined of hosts that are no Nodes of anybody. */
  private bootstrapOf(
    target: Target,
    provider: InfrastructureProvider,
    report: (event: RunEvent) => void = () => undefined,
  ): RunBootstrap | undefined {
    const { openWorkload } = this;
    return RunBootstrap.of(target, { provider, openWorkload, report });
  }
}

/** Hosts whose Nodes bear something else than is wanted: a plan shows it, and what it shows is not done before. Pure. */
function drifted(nodes: ReadonlyMap<NodeKey, NodeReport>): ReadonlySet<NodeKey> {
  return new Set(
    [...nodes].flatMap(([key, { otherMarks }]) => (otherMarks === undefined ? [] : [key])),
  );
}
