import type { NotedCluster } from "./clusters.js";
import type { StackView } from "./stack-view.js";

/** How many names of clusters a sweep asks a cloud about: each takes several calls. */
export const mostGoneNames = 50;

/**
 * Clusters of a backend that have ended and that no stack holds, newest first, one for each provider and
 * name: their controllers knew no namespaces, so what one of that name has left is another's of it too. Of a name that a
 * cluster still bears, or may bear since its stack cannot be read or is lost, there is none. Pure.
 */
export function goneClusters(
  noted: readonly NotedCluster[],
  backend: string,
  views: readonly StackView[],
): NotedCluster[] {
  const held = new Set<string>();
  const stacks = new Set(noted.map(({ stack }) => stack));
  for (const view of views) {
    if (view.kind === "read" && view.holds !== undefined) {
      held.add(nameKey(view.holds));
    } else if (view.kind === "unreadable") {
      // A stack of another name may be a renamed one, and then hold any of them.
      if (!stacks.has(view.stack)) return [];
      for (const one of noted) if (one.stack === view.stack) held.add(nameKey(one));
    }
  }
  const newestFirst = noted.toSorted((one, other) => other.notedAtMs - one.notedAtMs);
  // A cluster that another backend holds, or that no end is recorded of, may live on.
  for (const one of noted) {
    if (one.backend !== backend || one.endedAtMs === undefined) held.add(nameKey(one));
  }
  return newestFirst.filter((one) => {
    const key = nameKey(one);
    const isGone = !held.has(key);
    held.add(key);
    return isGone;
  });
}

function nameKey({ cluster, provider }: Pick<NotedCluster, "cluster" | "provider">): string {
  return `${provider} ${cluster.split("/").at(-1) ?? cluster}`;
}
