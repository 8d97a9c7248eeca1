import { omitUndefined } from "../api/omit-undefined.js";
import type { InventoryScope } from "../provider/port.js";
import type { ClusterState } from "./cluster-state.js";
import { lookPaced, type Pace } from "./paced-looks.js";
import { observedDigestOf, listedOf, type SharedListing } from "./shared-listing.js";

interface PollOptions extends Pace {
  readonly listing: SharedListing;
  readonly remembered: () => ReadonlyMap<string, ClusterState>;
  /** A cluster looks otherwise than it did when nothing was left to do. */
  readonly onChange: (key: string) => void;
  /** A listing failed: nothing is known, so nothing has changed. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Looks for drift: one listing of everything in each cloud, held against how each settled cluster looked when nothing
 * was left to do. Until the signal; never throws for what a cloud answers.
 */
export async function pollDrift(options: PollOptions, signal: AbortSignal): Promise<void> {
  const onFailure = (error: unknown) => {
    if (!signal.aborted) options.onFailure(error);
  };
  await lookPaced(options, signal, () => inspect({ ...options, onFailure }));
}

async function inspect({ listing, remembered, onChange, onFailure }: PollOptions): Promise<void> {
  const { name } = listing.provider;
  const settled = [...remembered()].filter(
    ([, cluster]) =>
      cluster.baseline !== undefined && cluster.view?.records.transaction?.target.provider === name,
  );
  const byCloud = new Map<SharedListing, (readonly [string, ClusterState])[]>();
  for (const one of settled) {
    const own = listing.of(one[1].view?.records.transaction?.target.objects);
    byCloud.set(own, [...(byCloud.get(own) ?? []), one]);
  }
  await Promise.all(
    [...byCloud].map(([one, clusters]) =>
      inspectCloud(one, clusters, onChange).catch((error: unknown) => onFailure(error)),
    ),
  );
}

/** Clusters whose resources are all in one listing. */
async function inspectCloud(
  listing: SharedListing,
  settled: readonly (readonly [string, ClusterState])[],
  onChange: (key: string) => void,
): Promise<void> {
  if (!listing.canShare) {
    for (const [key] of settled) onChange(key);
    return;
  }
  const before = new Map(settled.map(([key, cluster]) => [key, cluster.baseline]));
  const listed = await listing.fresh();
  for (const [key, cluster] of settled) {
    // Work that went on meanwhile has looked for itself.
    const { baseline } = cluster;
    if (baseline === undefined || baseline !== before.get(key)) continue;
    const clusterUid = cluster.view?.clusterUid;
    const scope: InventoryScope = omitUndefined({ cluster: key, clusterUid });
    const own = listedOf(listed, scope);
    if (observedDigestOf(own, listing.provider) !== baseline.observedDigest) onChange(key);
  }
}
