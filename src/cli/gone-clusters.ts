import { resolve } from "node:path";
import { type Desired, stackNameOf } from "../api/types.js";
import type { Engine } from "../engine/engine.js";
import type { Workspace } from "../engine/workspace.js";
import { BadInput } from "../manifest/bad-input.js";
import { fileOwner } from "../plan/hand-over.js";

/** A cluster that was applied from the same manifests and is no longer in them. */
export interface GoneCluster {
  readonly stack: string;
  /** "<namespace>/<name>". */
  readonly cluster: string;
}

/**
 * Clusters that these manifests once held, that still exist, and that are gone from them: renamed
 * or removed. A file that disappears must not delete a cluster by itself.
 */
export async function findGoneClusters(
  clusters: readonly Desired[],
  files: readonly string[],
  engine: Engine,
  workspace: Workspace,
): Promise<GoneCluster[]> {
  const wanted = new Set(clusters.map(({ cluster }) => stackNameOf(cluster)));
  const source = files.map((file) => resolve(file)).join(",");
  const candidates = Object.entries(workspace.readSources())
    .filter(([stack, from]) => !wanted.has(stack) && from.join(",") === source)
    .map(([stack]) => stack);
  const gone: GoneCluster[] = [];
  for (const stack of candidates) {
    const { transaction } = await engine.readState(stack);
    // One that an API server has taken over is not missing here.
    if (transaction?.owner !== fileOwner) continue;
    gone.push({ stack, cluster: transaction.target.cluster });
  }
  return gone;
}

export function stacksIn(gone: readonly GoneCluster[]): string[] {
  return gone.map(({ stack }) => stack).sort();
}

/** Throws BadInput: to delete these clusters takes --prune. */
export function refuseGoneClusters(gone: readonly GoneCluster[], files: readonly string[]): void {
  if (gone.length === 0) return;
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
