import { type Desired, stackNameOf } from "../api/types.js";
import type { Engine } from "../engine/pulumi/engine.js";
import type { Workspace } from "../engine/backend/workspace.js";
import { BadInput } from "../manifest/bad-input.js";
import { fileOwner, openHandOver } from "../records/hand-over.js";
import { refuseDestruction } from "../plan/refusals/protection.js";
import type { PriorState } from "../records/prior-state.js";
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
 * or removed. A file that disappears must not delete a cluster by itself. All of what a cluster was made
 * from has to be among `sources`, as `sourcesOf` says them.
 */
export async function findGoneClusters(
  clusters: readonly Desired[],
  sources: readonly string[],
  engine: Engine,
  workspace: Workspace,
): Promise<GoneCluster[]> {
  const wanted = new Set(clusters.map(({ cluster }) => stackNameOf(cluster)));
  const candidates = Object.entries(workspace.readSources())
    .filter(([stack, from]) => !wanted.has(stack) && isFromAmong(from, sources))
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
 * from other manifests. Why it is kept; undefined where it is still gone.
 */
export function keptMeanwhile(
  stack: string,
  sources: readonly string[],
  workspace: Pick<Workspace, "sourcesOf">,
): string | undefined {
  const from = workspace.sourcesOf(stack) ?? [];
  if (isFromAmong(from, sources)) return undefined;
  const why = from.length === 0 ? "destroyed or moved" : `applied from ${from.join(", ")}`;
  return `Stack ${stack} is left as it is: it was ${why} meanwhile`;
}

/** Whether all of what a cluster was made from is among these sources; not where nobody knows what it was. Pure. */
export function isFromAmong(
  from: readonly string[] | undefined = [],
  sources: readonly string[],
): boolean {
  return from.length > 0 && from.every((one) => sources.includes(one));
}

/**
 * Clusters that were applied from these manifests and others, and are not in these: whether they are gone from
 * the others nobody has looked. A sentence each. Pure.
 */
export function leftBehind(
  clusters: readonly Desired[],
  given: readonly string[],
  sources: Readonly<Record<string, readonly string[]>>,
): string[] {
  const wanted = new Set(clusters.map(({ cluster }) => stackNameOf(cluster)));
  return Object.entries(sources)
    .filter(([stack, from]) => !wanted.has(stack) && from.length > given.length && given.length > 0)
    .filter(([, from]) => given.every((file) => from.includes(file)))
    .map(
      ([stack, from]) =>
        `Stack ${stack} was applied from ${from.join(", ")} and is not in ${given.join(", ")}: it is left as it is`,
    );
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
