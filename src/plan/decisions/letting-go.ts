import { keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import { importedSince, openImport } from "../../records/imports.js";
import { cloudResources, isOpen } from "../../records/prior-state.js";
import { machineKey, type Target } from "../../records/target.js";
import type { PlanInput } from "../plan-input.js";

type LettingGo = Pick<PlanInput, "goal" | "prior" | "unrecorded">;

/**
 * What goes without being deleted: it loses our marks and stays. Those are the hosts of a machine that is to be
 * forgotten, what a transaction was importing or, on the way back behind an import, has imported, and what an
 * earlier transaction could not let go yet. While anything is open all of it is kept in mind, whether it is seen or
 * not: a call of somebody dead may still put marks on. What is wanted again is kept. Pure.
 */
export function letGoIn(input: LettingGo, { nodes }: Target): ReadonlySet<NodeKey> {
  const { goal, prior, unrecorded } = input;
  const recorded = cloudResources(prior);
  const wanted = new Set(nodes.map(keyOf));
  const forgotten = goal.kind === "forget" ? machineKey(goal.machine) : undefined;
  const imported =
    goal.kind === "rollback" ? importedSince(prior.revision, goal.to) : new Set<string>();
  const leaving = recorded.filter(
    ({ parent, id = "" }) =>
      (parent !== undefined && parent === forgotten) || (id !== "" && imported.has(id)),
  );
  const owed = [...(prior.transaction?.letGo ?? []), openImport(prior)?.host];
  const seen = new Set([
    ...recorded.map(({ key }) => key),
    ...unrecorded.map(({ who }) => nodeKey(who.kind, who.name)),
  ]);
  const some = [...owed, ...leaving.map(({ key }) => key)].flatMap((key) => key ?? []);
  return new Set(some.filter((key) => !wanted.has(key) && (isOpen(prior) || seen.has(key))));
}
