import { keyOf, nodeKey, type NodeKey } from "../../graph/graph.js";
import { importedIds, openImport } from "../../records/imports.js";
import { cloudResources, isOpen, type PriorState } from "../../records/prior-state.js";
import { livingWith, machineKey } from "../../records/target.js";
import { directionOf, type TransactionGoal } from "../../records/transaction.js";
import { recordedHostOf } from "./satellites.js";
import type { PlanInput } from "../plan-input.js";

/**
 * What is not to be deleted when it goes: it loses our marks and stays. Those are the hosts of a machine that is to
 * be forgotten, what was imported where a rollback leads back behind it, each with what lives with it, and what is owed. Pure.
 */
export function letGoIn({
  goal,
  prior,
  unrecorded,
  provider,
  letGo = [],
}: Pick<PlanInput, "goal" | "prior" | "unrecorded" | "provider" | "letGo">): ReadonlySet<NodeKey> {
  const recorded = cloudResources(prior);
  const imported = goal.kind === "rollback" ? importedIds(prior.revision) : new Set<string>();
  const hosts = [
    ...(goal.kind === "forget" ? hostsOf(goal.machine, prior) : []),
    ...recorded.filter(({ id = "" }) => imported.has(id)).map(({ key }) => key),
  ];
  const among = new Set(hosts);
  const dependents = recorded.filter((one) => {
    const host = recordedHostOf(one, provider);
    return host !== undefined && among.has(host);
  });
  const { target } = prior.revision ?? {};
  const leaving = [
    ...hosts,
    ...dependents.map(({ key }) => key),
    ...(target === undefined ? [] : livingWith(hosts, target)),
  ];
  const seen = new Set([
    ...recorded.map(({ key }) => key),
    ...unrecorded.map(({ who }) => nodeKey(who.kind, who.name)),
  ]);
  const owed = owedIn(prior, goal).filter((key) => isOpen(prior) || seen.has(key));
  return new Set([...letGo, ...owed, ...leaving]);
}

/** The hosts of a machine, also one that was committed and whose record is lost. */
export function hostsOf(machine: string, prior: PriorState): NodeKey[] {
  const nodes = [...cloudResources(prior), ...(prior.revision?.target.nodes ?? [])];
  return nodes.filter(({ parent }) => parent === machineKey(machine)).map(keyOf);
}

/** All that these touch and that was not there before they have made; others give records to what is there. */
const makers: ReadonlySet<TransactionGoal["kind"]> = new Set(["up", "rollback", "rotateKeys"]);

/**
 * Of what is let go what changes have made that were never committed, and that others have taken the place of: a way back deletes it, as it
 * deletes all that they made. What they wanted again, and was to be let go before them, was there, and so may be what they did not make. Pure.
 */
export function uncommittedAmong(
  letGo: ReadonlySet<NodeKey>,
  { prior, goal }: Pick<PlanInput, "prior" | "goal">,
): NodeKey[] {
  const { transaction, revision } = prior;
  if (!isOpen(prior) || transaction === undefined || directionOf(goal) === "back") return [];
  const { uncommitted = [], touched = [], target } = transaction;
  const before = new Set([
    ...(revision?.target.nodes.map(keyOf) ?? []),
    ...(transaction.letGo ?? []),
  ]);
  const made = makers.has(transaction.goal.kind)
    ? target.nodes.map(keyOf).filter((key) => touched.includes(key) && !before.has(key))
    : [];
  return [...new Set([...uncommitted, ...made])].filter((key) => letGo.has(key));
}

/**
 * What earlier transactions were to let go, and what one was importing. While anything is open all of it is kept in
 * mind, seen or not, wanted again or not: a call of somebody dead may still put marks on, and the way back may lead to
 * before it was wanted. What is wanted once that is committed is ours.
 */
function owedIn(prior: PriorState, goal: TransactionGoal): NodeKey[] {
  const { letGo = [], uncommitted = [], target } = prior.transaction ?? {};
  const imported = openImport(prior);
  if (isOpen(prior)) {
    const made = new Set(directionOf(goal) === "back" ? uncommitted : []);
    const owed = letGo.filter((key) => !made.has(key));
    return imported === undefined ? owed : [...owed, imported.host];
  }
  const wanted = new Set(target?.nodes.map(keyOf));
  return letGo.filter((key) => !wanted.has(key));
}
