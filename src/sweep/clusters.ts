import { omitUndefined } from "../api/omit-undefined.js";
import type { StackView } from "./stack-view.js";

/** A cluster UID that was minted, or taken over, through a state folder. */
export interface NotedCluster {
  readonly clusterUid: string;
  /** "<namespace>/<name>". */
  readonly cluster: string;
  readonly stack: string;
  /** Name of the provider. */
  readonly provider: string;
  /** Names the backend that holds the stack; opaque. */
  readonly backend: string;
  /** When it was first noted, milliseconds since the epoch. */
  readonly notedAtMs: number;
  /** When two listings showed that nothing of it was left, and its records went; absent: that never happened. */
  readonly endedAtMs?: number;
  /** `keptForm` of what its targets kept when a host goes (whenHostGoes: keep); absent: unknown. */
  readonly keeps?: readonly string[];
}

/** One life of a cluster that is ours to sweep after. */
export interface KnownCluster {
  readonly clusterUid: string;
  /** "<namespace>/<name>". */
  readonly cluster: string;
  /** Stacks that hold it, or held it when it was noted; at least one, in name order. */
  readonly stacks: readonly string[];
  /** It was last changed through another backend: what is recorded in this one is outdated. */
  readonly movedAway: boolean;
  /** Its end was recorded. */
  readonly hasEnded: boolean;
  /** As `NotedCluster.keeps`. */
  readonly keeps?: readonly string[];
}

/** "LocalVolume data": a dependent resource of any host of a cluster, by its kind and its name beside the host's. Pure. */
export function keptForm(kind: string, name: string): string {
  return `${kind} ${name}`;
}

/**
 * The clusters of a backend: those that were noted for it and those that its stacks hold, in the order
 * of their UIDs. Pure.
 */
export function knownClusters(
  noted: readonly NotedCluster[],
  backend: string,
  views: readonly StackView[],
): KnownCluster[] {
  const known = new Map<string, KnownCluster>();
  const notes = new Map(noted.map((one) => [one.clusterUid, one]));
  const add = (clusterUid: string, cluster: string, stack: string) => {
    const stacks = new Set([...(known.get(clusterUid)?.stacks ?? []), stack]);
    const { endedAtMs, keeps } = notes.get(clusterUid) ?? {};
    known.set(
      clusterUid,
      omitUndefined({
        clusterUid,
        cluster,
        stacks: [...stacks].sort(),
        movedAway: false,
        hasEnded: endedAtMs !== undefined,
        keeps,
      }),
    );
  };
  for (const one of noted) {
    if (one.backend === backend) add(one.clusterUid, one.cluster, one.stack);
  }
  for (const view of views) {
    if (view.kind === "read" && view.holds !== undefined) {
      add(view.holds.clusterUid, view.holds.cluster, view.stack);
    }
  }
  for (const { clusterUid, backend: last } of noted) {
    const one = known.get(clusterUid);
    if (one !== undefined && last !== backend) known.set(clusterUid, { ...one, movedAway: true });
  }
  return [...known.values()].sort((left, right) => (left.clusterUid < right.clusterUid ? -1 : 1));
}

/** Names of the providers that a backend's clusters are on, in name order. Pure. */
export function usedProviders(
  noted: readonly NotedCluster[],
  backend: string,
  views: readonly StackView[],
): string[] {
  const fromNotes = noted.filter((one) => one.backend === backend).map(({ provider }) => provider);
  const fromStacks = views.flatMap((view) =>
    view.kind === "read" && view.holds !== undefined ? [view.holds.provider] : [],
  );
  return [...new Set([...fromNotes, ...fromStacks])].sort();
}
