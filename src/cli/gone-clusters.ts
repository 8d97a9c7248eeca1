import { type Desired, stackNameOf } from "../api/types.js";
import type { Engine } from "../engine/pulumi/engine.js";
import type { ManifestSource, ManifestSources } from "../engine/backend/manifest-notes.js";
import { BadInput } from "../manifest/bad-input.js";
import { fileOwner, openHandOver } from "../records/hand-over.js";
import { refuseDestruction } from "../plan/refusals/protection.js";
import type { PriorState } from "../records/prior-state.js";
import { isCovered } from "./manifest-options.js";
import type { PlanOptions } from "./plan-options.js";

/** A cluster that was applied from the same manifests and is no longer in them. */
export interface GoneCluster {
  readonly stack: string;
  /** "<namespace>/<name>". */
  readonly cluster: string;
  /** What is recorded of it. */
  readonly state: PriorState;
}

/**
 * Clusters that these manifests once held, that still exist, and that are gone from them: renamed
 * or removed. A file that disappears must not delete a cluster by itself. No other manifests may hold it, as far as
 * is noted (`allNoted`, by stack), and all of what it was made from has to be among `sources`, as `sourcesOf` says them; `isHeldHere` may ask for less.
 */
export async function findGoneClusters(
  clusters: readonly Desired[],
  sources: ManifestSource,
  engine: Engine,
  allNoted: Readonly<Record<string, ManifestSources>>,
  isHeldHere: (noted: ManifestSources, sources: ManifestSource) => boolean = areFromAmong,
): Promise<GoneCluster[]> {
  const wanted = new Set(clusters.map(({ cluster }) => stackNameOf(cluster)));
  const candidates = Object.entries(allNoted)
    .filter(([stack, noted]) => !wanted.has(stack) && isHeldHere(noted, sources))
    .map(([stack]) => stack);
  const gone: GoneCluster[] = [];
  for (const stack of candidates) {
    const state = await engine.readState(stack);
    const { transaction } = state;
    // One that an API server has taken over, or that is on its way, is not missing here.
    if (transaction?.owner !== fileOwner || openHandOver(state) !== undefined) continue;
    gone.push({ stack, cluster: transaction.target.cluster, state });
  }
  return gone;
}

/**
 * Under the lock of its stack, once more before it is taken down: while other clusters were worked on somebody may have applied it
 * from other manifests. Why it is kept; undefined where it is still gone. Pure.
 */
export function keptMeanwhile(
  stack: string,
  sources: ManifestSource,
  noted: ManifestSources,
): string | undefined {
  if (areFromAmong(noted, sources)) return undefined;
  const others = noted.filter((one) => !isCovered(one, sources));
  const why = noted.length === 0 ? "destroyed or moved" : `applied from ${textOf(others)}`;
  return `Stack ${stack} is left as it is: it was ${why} meanwhile`;
}

/** Whether a cluster is held by these sources, whoever else holds it. Pure. */
export function isAlsoFrom(noted: ManifestSources, sources: ManifestSource): boolean {
  return noted.some((one) => isCovered(one, sources));
}

/** Whether all that holds a cluster is among these sources; not where nobody knows what does. Pure. */
export function areFromAmong(noted: ManifestSources, sources: ManifestSource): boolean {
  return noted.length > 0 && noted.every((one) => isCovered(one, sources));
}

/**
 * Clusters that these manifests once held and do not hold, and that others hold, or held together with these: whether they are
 * gone from the others nobody has looked. `text`: a sentence about it. Pure.
 */
export function leftBehind(
  clusters: readonly Desired[],
  given: ManifestSource,
  noted: Readonly<Record<string, ManifestSources>>,
): { readonly stack: string; readonly text: string }[] {
  const wanted = new Set(clusters.map(({ cluster }) => stackNameOf(cluster)));
  const isHeldBeside = (sources: ManifestSources) => {
    const isOwn = isAlsoFrom(sources, given) || sources.some((one) => isPartOf(given, one));
    return isOwn && !areFromAmong(sources, given);
  };
  return Object.entries(noted)
    .filter(([stack, sources]) => !wanted.has(stack) && isHeldBeside(sources))
    .map(([stack, sources]) => ({
      stack,
      text: `Stack ${stack} was applied from ${textOf(sources)} and is not in ${given.join(", ")}: it is left as it is`,
    }));
}

function isPartOf(given: ManifestSource, source: ManifestSource): boolean {
  const isLess = source.length > given.length && given.length > 0;
  return isLess && given.every((file) => source.includes(file));
}

function textOf(sources: ManifestSources): string {
  const words = sources.map((one) => (one.length === 0 ? "standard input" : one.join(", ")));
  return words.join(" and from ");
}

/** The clusters, and the state of each that somebody has seen, as a saved plan remembers them. */
export function pruneBindings(gone: readonly GoneCluster[]): string[] {
  const bindings = gone.map(({ stack, state: { transaction } }) => {
    const { clusterUid = "", number = 0 } = transaction ?? {};
    return `${stack} ${clusterUid} ${number}`;
  });
  return bindings.sort();
}

/**
 * Throws BadInput: to delete these clusters takes --prune. With it, throws PROTECTED for a cluster that
 * holds protected objects, before anything is touched.
 */
export function refuseGoneClusters(
  gone: readonly GoneCluster[],
  { prune, file: files }: Pick<PlanOptions, "prune" | "file">,
): void {
  if (prune === true) refuseDestruction(gone.map(({ state }) => state));
  if (gone.length === 0 || prune === true) return;
  throw new BadInput(
    gone.map(({ cluster }) => ({
      code: "CLUSTER_GONE",
      severity: "error",
      position: { file: files[0] ?? "-", line: 1, column: 1 },
      subject: `Cluster ${cluster}`,
      summary: "was applied from these manifests and is no longer in them",
      detail: "A Cluster cannot be renamed: the new name is another cluster.",
      hint: "put it back, or delete it with --prune",
    })),
  );
}
