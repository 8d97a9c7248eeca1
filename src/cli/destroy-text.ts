import type { CapstanError } from "../api/error.js";
import { ResourcesFailed } from "../engine/run/failures.js";
import type { NodeKey } from "../graph/graph.js";
import { letGoReason } from "../plan/changes/changes.js";
import { planTree, type TreeLine } from "../plan/changes/tree.js";
import { leftoverLine } from "../plan/leftovers.js";
import type { Plan } from "../plan/plan.js";
import { isLettingGo } from "../plan/step.js";
import { cloudResources, type PriorState } from "../records/prior-state.js";
import { courseLines, type Terminal, treeLines } from "./terminal.js";

/**
 * What a destroy deletes: the tree of `up` with the ids of what goes, what no line of it shows, and how much that is. Ends
 * with a line end. Pure.
 */
export function destroyText(
  { plan, records }: { readonly plan: Plan; readonly records: PriorState },
  { colors, columns }: Pick<Terminal, "colors" | "columns">,
): string {
  const resources = cloudResources(records);
  const ids = new Map(resources.map(({ key, id }) => [key, id ?? "no id"]));
  const kept = keptBy(plan);
  const fate = (key: NodeKey) =>
    `${ids.get(key) ?? "no id"}${kept.has(key) ? `: ${letGoReason}` : ""}`;
  const tree = planTree(plan).map((line): TreeLine =>
    line.key === undefined || !ids.has(line.key) ? line : { ...line, detail: fate(line.key) },
  );
  const shown = new Set(tree.flatMap(({ key }) => key ?? []));
  const others = [
    ...resources
      .filter(({ key }) => !shown.has(key))
      .map(({ key, kind, name }) => `${kind} ${name}   ${fate(key)}`),
    ...plan.orphaned.map(({ id, who }) => `${who.kind} ${who.name}   ${id}, in no record`),
    ...(plan.leftovers ?? []).filter(({ does }) => does === "remove").map(leftoverLine),
  ];
  const deleted = [...shown].filter((key) => ids.has(key)).length + others.length - kept.size;
  const forgotten = kept.size === 0 ? "" : `, ${kept.size} to forget`;
  return [
    `Cluster ${plan.cluster}   provider ${plan.provider}`,
    "",
    ...treeLines(tree, { colors, columns }),
    ...(others.length === 0 ? [] : ["", "  In no line of the tree:"]),
    ...others.map((what) => colors.red(`  - ${what}`)),
    "",
    `Plan: ${deleted} to delete${forgotten}`,
    ...courseLines(plan, { colors, columns }),
    "",
  ].join("\n");
}

/** So many are named of what a failed destroy leaves. */
const mostNamed = 10;

/**
 * What a destroy has not come to, since what failed goes before it or uses it: with the failures that an error names, all that is
 * left. Empty where that is all. Pure.
 */
export function notTriedText(failure: CapstanError, records: PriorState): string {
  const tried = failure instanceof ResourcesFailed ? failure.resources.map(({ key }) => key) : [];
  const rest = cloudResources(records).filter(({ key }) => !tried.includes(key));
  if (rest.length === 0) return "";
  const names = rest
    .slice(0, mostNamed)
    .map(({ kind, name, id }) => `${kind} ${name} (${id ?? "no id"})`);
  const more = rest.length > mostNamed ? [`and ${rest.length - mostNamed} more`] : [];
  return `Not tried, as these go later: ${[...names, ...more].join(", ")}`;
}

/** How to destroy what was applied from manifests that are no longer valid. Pure. */
export function byNameHint(clusters: readonly string[]): string {
  if (clusters.length === 0) {
    return "a cluster is also destroyed by its name: capstan destroy NAMESPACE/NAME; capstan status lists the names";
  }
  return `what was applied from these manifests is also destroyed by name: capstan destroy ${clusters.join(" ")}`;
}

/** What loses our marks and stays. Pure. */
export function keptBy({ steps }: Pick<Plan, "steps">): ReadonlySet<NodeKey> {
  return new Set(steps.filter(isLettingGo).map(({ key }) => key));
}
