import type { NodeKey } from "../../graph/graph.js";
import type { Plan } from "../plan.js";
import { fleetOf, type Progress, type Round } from "./fleet.js";
import { membersRound } from "./members.js";
import { workersRound } from "./workers.js";

/** The next thing to do. Pure data; the reason is for people. */
export type NextAction =
  | Exclude<Round, { kind: "settled" }>
  /** The pass that commits the revision and then deletes. */
  | { readonly kind: "commit"; readonly deletions: readonly NodeKey[]; readonly reason: string };

/**
 * What may happen next: infrastructure and control plane first, one member at a time; then workers, as
 * many as their deployments' bounds allow; what is left of the deletions with the commit, once every
 * host of the target is available. Leaving a step out never deletes anything. Decided from what there
 * is, so that whoever comes next goes on from wherever it stands. Pure; architecture section 4.
 */
export function nextAction(plan: Plan, progress: Progress): NextAction {
  const fleet = fleetOf(plan, progress);
  const hosts = new Set(fleet.hosts.map(({ host }) => host));
  const shared = fleet.open
    .filter(({ kind, key }) => kind !== "delete" && !hosts.has(key))
    .map(({ key }) => key);
  const members = membersRound(fleet);
  if (members.kind === "change") return { ...members, keys: [...shared, ...members.keys] };
  if (shared.length > 0) {
    return { kind: "change", keys: shared, deletions: [], reason: "infrastructure comes first" };
  }
  if (members.kind === "wait") return members;
  const workers = workersRound(plan, fleet);
  if (workers.kind !== "settled") return workers;
  const deletions = fleet.open.filter(({ kind }) => kind === "delete").map(({ key }) => key);
  const reason = deletions.length > 0 ? "what is superseded goes last" : "everything runs";
  return { kind: "commit", deletions, reason };
}
