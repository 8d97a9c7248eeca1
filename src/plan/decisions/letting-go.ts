import { keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import { importedIds, openImport } from "../../records/imports.js";
import { cloudResources, isOpen, type PriorState } from "../../records/prior-state.js";
import { machineKey } from "../../records/target.js";
import { recordedHostOf } from "./satellites.js";
import type { PlanInput } from "../plan-input.js";

/**
 * What is not to be deleted when it goes: it loses our marks and stays. Those are the hosts of a machine that is to
 * be forgotten, with what lives with them, what was imported where a rollback leads back behind it, and what is owed. Pure.
 */
export function letGoIn({
  goal,
  prior,
  unrecorded,
  provider,
}: Pick<PlanInput, "goal" | "prior" | "unrecorded" | "provider">): ReadonlySet<NodeKey> {
  const recorded = cloudResources(prior);
  const forgotten = goal.kind === "forget" ? machineKey(goal.machine) : undefined;
  const imported = goal.kind === "rollback" ? importedIds(prior.revision) : new Set<string>();
  const leaving = recorded.filter(
    ({ parent, id = "" }) => (parent !== undefined && parent === forgotten) || imported.has(id),
  );
  const hosts = new Set(leaving.map(({ key }) => key));
  const livingWith = recorded.filter((one) => {
    const host = recordedHostOf(one, provider);
    return goal.kind === "forget" && host !== undefined && hosts.has(host);
  });
  const seen = new Set([
    ...recorded.map(({ key }) => key),
    ...unrecorded.map(({ who }) => nodeKey(who.kind, who.name)),
  ]);
  const owed = owedIn(prior).filter((key) => isOpen(prior) || seen.has(key));
  return new Set([...owed, ...[...leaving, ...livingWith].map(({ key }) => key)]);
}

/**
 * What earlier transactions were to let go, and what one was importing. While anything is open all of it is kept in
 * mind, seen or not, wanted again or not: a call of somebody dead may still put marks on, and the way back may lead to
 * before it was wanted. What is wanted once that is committed is ours.
 */
function owedIn(prior: PriorState): NodeKey[] {
  const { letGo = [], target } = prior.transaction ?? {};
  const imported = openImport(prior);
  if (isOpen(prior)) return imported === undefined ? [...letGo] : [...letGo, imported.host];
  const wanted = new Set(target?.nodes.map(keyOf));
  return letGo.filter((key) => !wanted.has(key));
}
