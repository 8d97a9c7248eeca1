import { hasDrift, type JudgedDrift } from "../drift/judge.js";

/** One cluster's drift, with what people know the cluster by. */
export interface DriftedCluster {
  /** "<namespace>/<name>". */
  readonly cluster: string;
  readonly stack: string;
  readonly provider: string;
  /** Number of the last committed revision; 0 for none. */
  readonly revision: number;
  /** A transaction that is open: what it has still to do is no drift. */
  readonly openTransaction?: number;
  readonly judged: JudgedDrift;
}

/** What one run of `capstan drift` found, for every format. */
export interface DriftRun {
  /** The release that looked. */
  readonly release: string;
  readonly clusters: readonly DriftedCluster[];
}

/** Whether anything drifted that somebody wants to know of. Pure. */
export function anyDrift({ clusters }: DriftRun): boolean {
  return clusters.some(({ judged }) => hasDrift(judged));
}

/** Whether some cloud could not be read, so that nothing is known of what depends on it. Pure. */
export function anyUnreadable({ clusters }: DriftRun): boolean {
  return clusters.some(({ judged }) => judged.report.unreadable !== undefined);
}

/** What a person reads; of what could not be read nothing is known one by one. Pure. */
export function shownItems({ judged }: DriftedCluster): JudgedDrift["items"] {
  return judged.items.filter(({ item }) => item.class !== "unknown");
}

/** "2026-01-02 03:04 UTC". Pure. */
export function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}
