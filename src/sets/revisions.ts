import { omitUndefined } from "../api/omit-undefined.js";
import { oldestFirst, type SetCounts } from "./counts.js";
import type { Profile } from "../api/set-profile.js";

export const revisionAnnotation = "machinedeployment.clusters.k8s.io/revision";
export const revisionHistoryAnnotation = "machinedeployment.clusters.k8s.io/revision-history";

/** A MachineSet with the annotations that tell its revision. */
interface RevisedSet {
  readonly annotations?: Readonly<Record<string, string>>;
}

/** What the new set is annotated with; the deployment gets the revision too. */
interface RevisionMarks {
  readonly revision: number;
  /** Revisions that the same set had before, oldest first, as a list with commas. */
  readonly history?: string;
}

/**
 * The revision of a deployment's new set: one above all old ones, and never lower than it was. A set
 * that becomes new again (a rollback) gets a new number and remembers the one before. Pure.
 * Source: docs/cluster-api.md#rollouts.
 */
export function revisionOf(newSet: RevisedSet, oldSets: readonly RevisedSet[]): RevisionMarks {
  const next = Math.max(0, ...oldSets.map((set) => numberOf(set) ?? 0)) + 1;
  const current = numberOf(newSet);
  const history = newSet.annotations?.[revisionHistoryAnnotation] ?? "";
  const revision = Math.max(next, current ?? 0);
  const earlier = current === undefined || current === revision ? [] : [String(current)];
  const known = [...(history === "" ? [] : [history]), ...earlier].join(",");
  return omitUndefined({ revision, history: known === "" ? undefined : known });
}

/** A text that is no number says nothing about revisions. */
function numberOf({ annotations }: RevisedSet): number | undefined {
  const text = annotations?.[revisionAnnotation] ?? "";
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** An old set that may be cleaned up. */
export interface CleanableSet extends Pick<
  SetCounts,
  "name" | "createdAtMs" | "replicas" | "existing"
> {
  readonly deleting: boolean;
  /** Its status is of its present generation. */
  readonly observed: boolean;
}

/**
 * Old sets that a complete deployment no longer needs, oldest first: v1alpha1 keeps the newest
 * `revisionHistoryLimit`, today's Cluster API keeps none. A set that has, or may have, machines
 * always stays. Pure. Source: docs/cluster-api.md#rollouts.
 */
export function setsToForget(
  oldSets: readonly CleanableSet[],
  revisionHistoryLimit: number,
  profile: Profile,
): string[] {
  const standing = oldestFirst(oldSets.filter(({ deleting }) => !deleting));
  const limit = profile === "modern" ? 0 : revisionHistoryLimit;
  return standing
    .slice(0, Math.max(standing.length - limit, 0))
    .filter(({ replicas, existing, observed }) => replicas === 0 && existing === 0 && observed)
    .map(({ name }) => name);
}
