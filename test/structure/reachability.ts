import { nameGraph, type NameGraph, type NameId } from "./name-graph.js";
import type { Sources } from "./sources.js";

/** A program, the ways into it, and what may stay out of reach for now. */
export interface Reach {
  readonly sources: Sources;
  /** Modules whose exports are for others; what loading them does counts too. */
  readonly entries: ReadonlySet<string>;
  readonly tests: Sources;
  /** Exports that something yet to come will use; what they use themselves counts as reached. */
  readonly awaited: readonly NameId[];
}

/**
 * A line for each export that is there for nobody, and for each awaited one that is not what it is
 * listed as, in name order. Tests may name what the program itself reaches, but reach nothing.
 */
export function outOfReach({ sources, entries, tests, awaited }: Reach): string[] {
  const graph = nameGraph(new Map([...sources, ...tests]));
  const isExported = (id: NameId) => graph.get(id)?.exported === true;
  const isRoot = (id: NameId) => entries.has(pathOf(id)) && (isExported(id) || id.endsWith("#"));
  const roots = [...graph.keys()].filter(isRoot);
  const reached = reachedFrom([...roots, ...awaited], graph);
  const users = usersIn(graph);
  const isOpen = (id: NameId) => sources.has(pathOf(id)) && !isRoot(id) && !awaited.includes(id);
  const unused = [...graph.keys()].filter(isExported).flatMap((id) => {
    const others = users.get(id)?.filter((user) => pathOf(user) !== pathOf(id)) ?? [];
    const inTests = others.filter((user) => tests.has(pathOf(user)));
    const isUsed = reached.has(id) && inTests.length > 0;
    if (!isOpen(id) || isUsed || others.some((user) => reached.has(user))) return [];
    if (others.length > inTests.length) return [`${id}: only what is out of reach uses it`];
    if (inTests.length > 0) return [`${id}: only tests use it`];
    return [`${id}: ${reached.has(id) ? "only its own file" : "nothing"} uses it`];
  });
  const reachedAnyway = reachedFrom(roots, graph);
  const stale = awaited.flatMap((id) => {
    if (!isExported(id)) return [`${id}: awaited, and not there`];
    return reachedAnyway.has(id) ? [`${id}: awaited, and within reach`] : [];
  });
  return [...unused, ...stale].sort();
}

function pathOf(id: NameId): string {
  return id.slice(0, id.indexOf("#"));
}

function reachedFrom(roots: readonly NameId[], graph: NameGraph): ReadonlySet<NameId> {
  const reached = new Set(roots);
  // It grows while it is walked.
  for (const id of reached) for (const next of graph.get(id)?.mentions ?? []) reached.add(next);
  return reached;
}

/** By name, the names that mention it. */
function usersIn(graph: NameGraph): ReadonlyMap<NameId, readonly NameId[]> {
  const users = new Map<NameId, NameId[]>();
  for (const [id, { mentions }] of graph) {
    for (const mentioned of mentions) {
      const known = users.get(mentioned);
      if (known === undefined) users.set(mentioned, [id]);
      else known.push(id);
    }
  }
  return users;
}
