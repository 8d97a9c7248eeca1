import { type CapstanError, isCapstanError } from "../../api/error.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import type { CallContext, Identity, Observed, UserDataTerms } from "../../provider/port.js";
import { isHostOf } from "../../records/host-name.js";
import type { PriorState } from "../../records/prior-state.js";
import { keepsControlPlane, type Target, type TargetMachine } from "../../records/target.js";
import type { EtcdHealth } from "../../workload/etcd/etcd-health.js";
import { type DeadMember, deadMembers } from "./dead-members.js";
import { goneHosts, memberJudge, membersAmong, type MemberHosts } from "./member-hosts.js";
import { nodeHostOf } from "./node-host.js";
import type { Observation } from "./observe.js";
import type { RunWorkload } from "./run-workload.js";
import type { WorkloadCluster } from "./workload-cluster.js";

/** How long a member that does not serve is asked to leave before its host goes all the same. */
const leavePatienceMs = 60_000;

interface MembersOptions {
  readonly target: Target;
  readonly hostKind: string;
  readonly terms: Pick<UserDataTerms, "markLeft">;
  readonly workload: RunWorkload;
}

/**
 * Which hosts of a control plane one run has found dead or ill, and how their members leave etcd, without which the others count on them
 * for their majority. Source: docs/adr/0047.
 */
export class LeavingMembers {
  /** Members that have left their control plane, by their tokens. */
  private readonly left = new Set<string>();
  /** Since when a member is to leave, by its token, milliseconds since the epoch. */
  private readonly leavingSinceMs = new Map<string, number>();
  /** Members whose hosts are gone, or failed and not wanted. */
  private dead: readonly DeadMember[] = [];
  /** Those that etcd alone still knows, as it was asked last. */
  private forgotten: readonly DeadMember[] = [];
  /** Members whose hosts are there, and that etcd finds ill. */
  private ill: readonly Observed[] = [];
  /** Recorded hosts that are positively gone, by name. */
  private gone: ReadonlySet<string> = new Set();

  constructor(private readonly options: MembersOptions) {}

  /** What a look at the cloud tells of members. */
  noteLook(observation: Observation, records: PriorState): void {
    const { target, hostKind } = this.options;
    this.dead = deadMembers({ target, records, hostKind }, observation);
    this.gone = goneHosts(observation, records, hostKind);
  }

  /** Which of these hosts are members that etcd finds ill, as it was asked last, and whom it counts on that nobody else knows. */
  noteEtcd(hosts: readonly Observed[], health: EtcdHealth, forgotten: readonly DeadMember[]): void {
    this.forgotten = forgotten;
    const ill = new Set(health.flatMap(({ host, state }) => (state === "ill" ? [host] : [])));
    this.ill = hosts.filter(({ who }) => ill.has(keyOf(who)));
  }

  /** What stands beside a host of this name. */
  beside(self: string, observed: readonly Observed[], records: PriorState): MemberHosts {
    const { target, hostKind } = this.options;
    return membersAmong({ target, records, hostKind, observed, gone: this.gone }, self);
  }

  /**
   * Takes members out of etcd whose hosts are dead: all, or some by their keys. kubeadm lets nobody join an etcd that counts on members
   * which do not answer. Each is asked for once in a run. One that has only failed may be started again by somebody, and bears the mark of
   * it. Throws API_SERVER, and what the provider throws.
   */
  async removeDead(
    ctx: CallContext,
    cluster: WorkloadCluster,
    keys?: ReadonlySet<NodeKey>,
  ): Promise<void> {
    const due = [...this.dead, ...this.forgotten].filter(({ who }) => !this.left.has(who.token));
    for (const host of due.filter(({ who }) => keys?.has(keyOf(who)) ?? true)) {
      if (host.observed !== undefined) await this.leave(ctx, host.observed, cluster);
      else await cluster.removeMember(nodeHostOf(host), ctx.signal);
      this.left.add(host.who.token);
    }
  }

  /** The same for a member that runs, is ill, and gets a host of this machine in its place: it leaves before, as it would with its host. */
  async removeIll(
    ctx: CallContext,
    { name }: TargetMachine,
    cluster: WorkloadCluster,
  ): Promise<void> {
    const own = this.ill.filter(({ who }) => isHostOf(name, who.name) && !this.left.has(who.token));
    for (const host of own) await this.leave(ctx, host, cluster);
  }

  /**
   * Before a host goes. One that does not run, or that nobody is left beside, holds no other up. Throws API_SERVER for a member that
   * cannot leave, and NOT_FOUND for one whose cluster's keys nobody knows.
   */
  async release(ctx: CallContext, host: Observed, records: PriorState): Promise<void> {
    const { who } = host;
    if (this.left.has(who.token) || !this.isMember(who, records)) return;
    const { workload } = this.options;
    try {
      const observed = await workload.listed(ctx, who);
      if (this.beside(who.name, observed, records).hasOtherMember) {
        const cluster = await workload.among(observed, who, records, ctx);
        // Nobody is marked whose cluster does not answer.
        await cluster.nodes([nodeHostOf(host)]);
        await this.leave(ctx, host, cluster);
      }
    } catch (error) {
      if (!isCapstanError(error) || this.mustLeave(host, error, ctx.clock.now())) throw error;
    }
    this.left.add(who.token);
  }

  /** A member leaves etcd for good, and bears the mark of that before it does. */
  private async leave(ctx: CallContext, host: Observed, cluster: WorkloadCluster): Promise<void> {
    await ctx.assertEngineAlive();
    await this.options.terms.markLeft?.(ctx, host);
    await ctx.assertEngineAlive();
    await cluster.removeMember(nodeHostOf(host), ctx.signal);
    this.left.add(host.who.token);
  }

  /** One that serves, always; one that does not may be what keeps its control plane from answering. */
  private mustLeave(
    { who, phase, hasLeft }: Observed,
    error: CapstanError,
    nowMs: number,
  ): boolean {
    const sinceMs = this.leavingSinceMs.get(who.token) ?? nowMs;
    this.leavingSinceMs.set(who.token, sinceMs);
    return (
      phase === "ready" ||
      hasLeft === true ||
      (error.retryable && nowMs < sinceMs + leavePatienceMs)
    );
  }

  private isMember({ kind, name }: Identity, records: PriorState): boolean {
    const { hostKind, target } = this.options;
    if (kind !== hostKind || !keepsControlPlane(target)) return false;
    return memberJudge({ target, records, hostKind: kind })(name);
  }
}
