import { leadsToNothing } from "../../plan/waves/next-action.js";
import { type NodeKey, nodeName } from "../../graph/graph.js";
import type { InfrastructureProvider } from "../../provider/port.js";
import { keptForm } from "../../sweep/clusters.js";
import type { ClusterLife } from "../pulumi/engine-options.js";
import type { Plan, PlannedTransaction, RemainingPlan } from "../../plan/plan.js";
import { importIn } from "../../records/imports.js";
import type { PriorState } from "../../records/prior-state.js";
import type { RunOptions } from "./run-options.js";

// What a run asks of the plan that it drives.

/** Whether what there is only gets records. Pure. */
export function isRecording({ transaction: { goal } }: Plan): boolean {
  return goal.kind === "adopt" || goal.kind === "import";
}

/** Ids of hosts that an import takes, by their keys. Pure. */
export function importsOf({ transaction: { goal }, target }: Plan): ReadonlyMap<NodeKey, string> {
  const imported = importIn(goal, target);
  return new Map(imported && [[imported.host, imported.id]]);
}

/** The cluster of a plan, as it is noted. Pure. */
function lifeOf(
  { cluster, stack, target, transaction: { clusterUid } }: Plan,
  { name: provider }: Pick<InfrastructureProvider, "name">,
): ClusterLife {
  const keeps = target.nodes.flatMap(({ kind, name, host, keep }) =>
    host === undefined || keep !== true
      ? []
      : [keptForm(kind, name.slice(`${nodeName(host)}-`.length))],
  );
  return { clusterUid, cluster, stack, provider, keeps: [...new Set(keeps)].sort() };
}

/** The cluster of a plan is noted once the engine may work, and before the first call to its cloud. */
export async function beginWork(
  goal: Plan,
  { engine, provider }: Pick<RunOptions, "engine" | "provider">,
): Promise<void> {
  await engine.beginWork();
  engine.noteLife(lifeOf(goal, provider));
}

/** What a plan has shown, in the words of its steps. Pure. */
export function shownBy({ steps }: RemainingPlan): ReadonlySet<string> {
  return new Set(steps.map(({ kind, key }) => `${kind} ${key}`));
}

/** The time of a transaction is that of its begin, however often it is looked at again. Pure. */
export function requestInfoOf(transaction: Omit<PlannedTransaction, "number">) {
  const { clusterUid, owner, goal, by, startedAtMs, deadlineAtMs } = transaction;
  return {
    newClusterUid: clusterUid,
    owner,
    goal,
    by,
    nowMs: startedAtMs,
    deadlineMs: deadlineAtMs - startedAtMs,
  };
}

/** Whether a plan stays open where a hook holds a host: a rollback and a destroy have no other way to go. Pure. */
export function waitsWhereHeld(goal: Plan): boolean {
  return goal.transaction.direction === "forward" && !leadsToNothing(goal);
}

/** Whether the records hold the transaction of a plan. Pure. */
export function isBegun({ transaction }: Plan, records: PriorState): boolean {
  return records.transaction?.number === transaction.number;
}

/** Whether the records hold its revision: what is left of it are deletions. Pure. */
export function isCommitted({ transaction }: Plan, records: PriorState): boolean {
  return records.revision?.number === transaction.number;
}
