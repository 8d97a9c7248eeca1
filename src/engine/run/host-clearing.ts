import type { NodeKey } from "../../graph/graph.js";
import type { DeletionStage } from "../../workload/drain/deletion-stage.js";
import type { DeletionTerms } from "../../workload/drain/deletion-terms.js";
import type { MachineDrainRule } from "../../workload/drain/drain-rule.js";
import type { NodeHost, WorkloadCluster } from "./workload-cluster.js";

/** One host that is to go or to be disturbed, as far as its own cluster goes: pods move, then volumes are detached. Source: docs/adr/0041. */
export class HostClearing {
  private drainingSinceMs: number | undefined;
  private detachingSinceMs: number | undefined;
  private isDrained = false;
  private isDetached = false;

  constructor(
    readonly key: NodeKey,
    private readonly host: NodeHost,
    private readonly terms: DeletionTerms,
    private readonly rules: readonly MachineDrainRule[],
  ) {}

  /** One round. Undefined: nothing is in its way, or its own time is over. Throws API_SERVER. */
  async next(cluster: WorkloadCluster, nowMs: number): Promise<DeletionStage | undefined> {
    return (await this.drain(cluster, nowMs)) ?? this.detach(cluster, nowMs);
  }

  private async drain(cluster: WorkloadCluster, nowMs: number): Promise<DeletionStage | undefined> {
    const { host, terms } = this;
    if (this.isDrained || !terms.drains) return undefined;
    const { sinceMs, blockers } = await cluster.drain(host, this.rules);
    this.drainingSinceMs ??= sinceMs ?? nowMs;
    const isOver = nowMs >= this.drainingSinceMs + (terms.drainTimeoutMs ?? Infinity);
    this.isDrained = blockers.length === 0 || isOver;
    if (this.isDrained) return undefined;
    return { kind: "draining", sinceMs: this.drainingSinceMs, blockers };
  }

  private async detach(
    cluster: WorkloadCluster,
    nowMs: number,
  ): Promise<DeletionStage | undefined> {
    const { host, terms } = this;
    if (this.isDetached || !terms.waitsForVolumes) return undefined;
    const volumes = await cluster.attachedVolumes(host, this.rules);
    this.detachingSinceMs ??= nowMs;
    const isOver = nowMs >= this.detachingSinceMs + (terms.volumeDetachTimeoutMs ?? Infinity);
    this.isDetached = volumes.length === 0 || isOver;
    if (this.isDetached) return undefined;
    return { kind: "detachingVolumes", sinceMs: this.detachingSinceMs, volumes };
  }
}
