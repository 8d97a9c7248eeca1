import type { ClusterSource } from "../source/cluster-source.js";
import type { ProviderSpecs } from "../api/provider-specs.js";
import type { InfrastructureProvider } from "../provider/port.js";
import type { KubeApi } from "./api.js";
import type { ClusterView } from "../source/cluster-view.js";
import type { Intent } from "../source/intent.js";
import { intentOf } from "./live-intent.js";
import { type ClusterKey, type LiveObject, liveName } from "./live-object.js";
import type { ObjectCache } from "./object-cache.js";
import { type ApiWrite, claimOf, projectionOf } from "./projection.js";
import { releaseOf } from "./release.js";
import type { Regarding } from "./events.js";
import { mapBounded } from "../engine/bounded.js";

export interface SourceOptions {
  readonly api: Pick<KubeApi, "write">;
  readonly cache: ObjectCache;
  readonly providers: readonly ProviderSpecs[];
  /** Names the API server, as the owner of stacks. */
  readonly owner: string;
}

/** Writes at once: an API server's fairness is not strained by one cluster. */
const writesAtATime = 4;
/** Sets need deployments, Machines need sets, statuses need all of them. */
const mostRounds = 6;

/** Clusters as objects in an API server: what they ask for, and what is shown of them. */
export class KubeSource implements ClusterSource {
  /** Generations that the last read of each cluster saw. */
  private readonly generations = new Map<ClusterKey, ReadonlyMap<string, number>>();

  constructor(private readonly options: SourceOptions) {}

  get owner(): string {
    return this.options.owner;
  }

  keys(): ClusterKey[] {
    return this.options.cache.keys();
  }

  /** What is asked of a cluster now. `isDecision`: what follows is shown as of this generation. */
  intentOf(key: ClusterKey, isDecision = false): Intent {
    const live = this.options.cache.clusterOf(key);
    if (isDecision) {
      const all = [...(live.cluster === undefined ? [] : [live.cluster]), ...live.members];
      this.generations.set(
        key,
        new Map(all.map((one) => [liveName(one), one.metadata.generation ?? 0])),
      );
    }
    return intentOf(live, this.options.providers);
  }

  /** The Cluster as Events are about it; undefined for one that is gone. */
  regarding(key: ClusterKey): Regarding | undefined {
    const { cluster } = this.options.cache.clusterOf(key);
    if (cluster === undefined) return undefined;
    const { apiVersion, kind, metadata } = cluster;
    const { namespace, name, uid } = metadata;
    return { apiVersion, kind, namespace, name, uid };
  }

  async claim(key: ClusterKey): Promise<void> {
    for (let round = 0; round < mostRounds; round += 1) {
      const writes = claimOf(this.options.cache.clusterOf(key));
      if (writes.length === 0) return;
      await this.carryOut(writes);
    }
  }

  /**
   * Shows a cluster as it is, and nothing that is shown already. Throws API_SERVER; what was not written
   * is decided anew the next time.
   */
  async show(key: ClusterKey, view: ClusterView, provider: InfrastructureProvider): Promise<void> {
    for (let round = 0; round < mostRounds; round += 1) {
      const writes = this.missing(key, view, provider);
      if (writes.length === 0) return;
      // Who wrote in between is told of by a watch, and that brings the cluster here again.
      if ((await this.carryOut(writes)) === "conflict") return;
    }
  }

  isShown(key: ClusterKey, view: ClusterView, provider: InfrastructureProvider): boolean {
    return this.missing(key, view, provider).length === 0;
  }

  private missing(
    key: ClusterKey,
    view: ClusterView,
    provider: InfrastructureProvider,
  ): ApiWrite[] {
    const known = this.generations.get(key);
    return projectionOf(this.options.cache.clusterOf(key), {
      ...{ view, provider, machines: [] },
      generationOf: (object: LiveObject) => known?.get(liveName(object)),
    });
  }

  /** Lets go of a cluster of which nothing is left: its members first, the Cluster last. */
  async release(key: ClusterKey): Promise<void> {
    for (let round = 0; round < mostRounds; round += 1) {
      const writes = releaseOf(this.options.cache.clusterOf(key));
      if (writes.length === 0) return;
      await this.carryOut(writes);
    }
  }

  private async carryOut(writes: readonly ApiWrite[]): Promise<"done" | "conflict"> {
    const { api, cache } = this.options;
    const results = await mapBounded(writes, writesAtATime, async (write) => {
      const result = await api.write(write);
      if (result.kind === "written") cache.accept({ ...result.object, kind: kindOf(write) });
      if (result.kind === "gone" && write.kind !== "create") cache.drop(write.on);
      return result.kind;
    });
    return results.includes("conflict") ? "conflict" : "done";
  }
}

function kindOf(write: ApiWrite): LiveObject["kind"] {
  return write.kind === "create" ? write.object.kind : write.on.kind;
}
