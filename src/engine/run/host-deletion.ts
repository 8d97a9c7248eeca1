import type { NodeKey } from "../../graph/graph.js";
import type { DeletionTerms } from "../../workload/drain/deletion-terms.js";
import type { MachineDrainRule } from "../../workload/drain/drain-rule.js";
import type { DrainBlocker } from "../../workload/drain/eviction-round.js";
import type { NodeHost, WorkloadCluster } from "./workload-cluster.js";

/** What a host waits for before it goes; `sinceMs`: milliseconds since the epoch. */
type DeletionStage =
  | {
      readonly kind: "draining";
      readonly sinceMs: number;
      readonly blockers: readonly DrainBlocker[];
    }
  | {
      readonly kind: "detachingVolumes";
      readonly sinceMs: number;
      readonly volumes: readonly string[];
    };

/** As many as fit into a line that people read. */
const mostNamed = 3;

/** One host on its way out, as far as its own cluster goes: pods move, then volumes are detached. Source: docs/adr/0041. */
export class HostDeletion {
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

/** "2 pods have to go first since 2026-11-25T13:23:07Z: default/a (is ending), default/b (...)". Pure. */
export function stageText(stage: DeletionStage): string {
  const since = sinceText(stage.sinceMs);
  switch (stage.kind) {
    case "draining": {
      const named = stage.blockers.map(({ pod, why }) => `${pod} (${why})`);
      const count = named.length === 1 ? "1 pod has" : `${named.length} pods have`;
      return `${count} to go first ${since}: ${fewOf(named)}`;
    }
    case "detachingVolumes": {
      const { volumes } = stage;
      const count = volumes.length === 1 ? "1 volume has" : `${volumes.length} volumes have`;
      return `${count} to be detached first ${since}: ${fewOf(volumes)}`;
    }
  }
}

/** "since 2026-11-25T13:23:07Z". Pure. */
export function sinceText(sinceMs: number): string {
  return `since ${new Date(sinceMs).toISOString().replace(/\.\d+Z$/, "Z")}`;
}

function fewOf(names: readonly string[]): string {
  const more = names.length > mostNamed ? [`${names.length - mostNamed} more`] : [];
  return [...names.slice(0, mostNamed), ...more].join(", ");
}
