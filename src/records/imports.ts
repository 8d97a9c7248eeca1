import type { NodeKey } from "../graph/graph.js";
import { openRecordsRequest, type PriorState } from "./prior-state.js";
import type { Target } from "./target.js";
import type { RevisionRecord, TransactionGoal } from "./transaction.js";

/** A host that was there before a transaction and that it gives our marks and a record. */
interface ImportedHost {
  readonly machine: string;
  /** The cloud's. */
  readonly id: string;
  /** Under which it is recorded. */
  readonly host: NodeKey;
}

/** What a transaction imports; undefined of one that does not. Pure. */
export function importIn(goal: TransactionGoal, { machines }: Target): ImportedHost | undefined {
  if (goal.kind !== "import") return undefined;
  const { machine, id } = goal;
  const host = machines.find(({ name }) => name === machine)?.host;
  return host === undefined ? undefined : { machine, id, host };
}

/** The import that was begun and not committed: until then its host is not ours to delete. Pure. */
export function openImport(prior: PriorState): ImportedHost | undefined {
  const goal = openRecordsRequest(prior);
  const { target } = prior.transaction ?? {};
  return goal && target && importIn(goal, target);
}

/** Ids of the hosts that were imported, as far as history tells: a rollback deletes none of them. Pure. */
export function importedIds(revision: RevisionRecord | undefined): ReadonlySet<string> {
  const history = revision?.history ?? [];
  return new Set(history.flatMap(({ goal }) => (goal?.kind === "import" ? [goal.id] : [])));
}
