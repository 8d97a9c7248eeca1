import { type NodeKey, nodeName } from "../../graph/graph.js";
import { hostsInName } from "../../records/host-name.js";
import { changesRecordsOnly, type TransactionGoal } from "../../records/transaction.js";
import { leftoversToRemove } from "../leftovers.js";
import type { RemainingPlan } from "../plan.js";
import type { Leftover } from "../../provider/leftovers.js";
import { isLettingGo, type Step } from "../step.js";
import {
  type HostSet,
  hostSetOf,
  stepsByKey,
  hostOf,
  type WaveProgress,
  type Round,
} from "./host-set.js";
import { heldByEtcd, membersRound } from "./members.js";
import { sharedRound } from "./shared.js";
import { workersRound } from "./workers.js";

/** The next thing to do. Pure data; the reason is for people. */
export type NextAction =
  | Exclude<Round, { kind: "settled" }>
  /** Remove what controllers in the cluster have made, now that none of them runs. */
  | {
      readonly kind: "removeLeftovers";
      readonly leftovers: readonly Leftover[];
      readonly reason: string;
    }
  /** Nothing is left that could be deleted: what remains are the records of the transaction itself. */
  | { readonly kind: "clear"; readonly reason: string }
  /** The pass that commits the revision and then deletes. `later`: what may go once that is gone. */
  | {
      readonly kind: "commit";
      readonly deletions: readonly NodeKey[];
      readonly later: readonly NodeKey[];
      readonly reason: string;
    };

/**
 * What may happen next: infrastructure and control plane first, one member at a time; then workers, as
 * many as their deployments' bounds allow; what is left of the deletions with the commit, once every
 * host of the target is available. Leaving a step out never deletes anything. Decided from what there
 * is, so that whoever comes next goes on from wherever it stands. Pure; architecture section 4.
 */
export function nextAction(
  plan: RemainingPlan,
  progress: WaveProgress,
  steps = stepsByKey(plan),
): NextAction {
  const hostSet = hostSetOf(plan, progress, steps);
  return lettingGoLast(withSatellites(actionOf(plan, progress, hostSet), hostSet), hostSet);
}

/**
 * What is let go and lives with a host goes once that is in no record any more. Before, the host may stay after all: its deletion fails, or
 * somebody takes it back or wants its machine again. It would then serve without its data, which would be nobody's. What lives with a host
 * bears its name.
 */
export function lettingGoLast(action: NextAction, { open }: HostSet): NextAction {
  if (action.kind !== "change" && action.kind !== "commit") return action;
  const forgotten = open.filter(isLettingGo);
  if (forgotten.length === 0) return action;
  const leaving = new Set(open.filter(({ kind }) => kind === "delete").map(nameIn));
  const livesWithOne = (step: Step) => hostsInName(nameIn(step)).some((one) => leaving.has(one));
  const waiting = new Set(forgotten.filter(livesWithOne).map(keyIn));
  const deletions = action.deletions.filter((key) => !waiting.has(key));
  return action.kind === "commit"
    ? { ...action, deletions, later: [...waiting] }
    : { ...action, deletions };
}

function actionOf(plan: RemainingPlan, progress: WaveProgress, hostSet: HostSet): NextAction {
  if (leadsToNothing(plan)) return removal(hostSet, leftoversToRemove(plan.leftovers));
  const { goal } = plan.transaction;
  if (changesRecordsOnly(goal)) return recordsRound(hostSet, goal.kind);
  const { shared, waiting, held } = sharedRound(plan, progress, hostSet);
  const first = { deletions: [], reason: "infrastructure comes first" };
  if (held && shared.length > 0) return { kind: "change", keys: shared, ...first };
  const ready = { kind: "wait", keys: waiting, of: "infrastructure" } as const;
  if (held) return { ...ready, reason: "others need what they tell" };
  const members = membersRound(hostSet);
  if (members.kind === "change") return { ...members, keys: [...shared, ...members.keys] };
  if (shared.length > 0) return { kind: "change", keys: shared, ...first };
  if (members.kind === "wait" || members.kind === "waitForEtcd") return members;
  const workers = workersRound(plan, hostSet);
  if (workers.kind !== "settled") return workers;
  if (waiting.length > 0) return { ...ready, reason: "what machines share has to be ready" };
  const commit = commitOf(hostSet);
  return heldByEtcd({ keys: [], deletions: commit.deletions, commits: true }, hostSet) ?? commit;
}

type Commit = Extract<NextAction, { kind: "commit" }>;

/** The commit deletes and releases what the plan shows as going, and nothing else. */
export function commitOf({ open }: HostSet, done?: string): Commit {
  const going = open.filter(({ kind }) => kind === "delete");
  const reason = done ?? commitReason(going);
  return { kind: "commit", deletions: going.map(keyIn), later: [], reason };
}

/** What lives with a host comes in the pass that makes it, and goes in the one that deletes it. */
function withSatellites(action: NextAction, { open }: HostSet): NextAction {
  if (action.kind !== "change") return action;
  const [made, going] = [new Set(action.keys), new Set(action.deletions)];
  const own = open.filter(({ key }) => !made.has(key) && !going.has(key));
  const come = own.filter(({ kind, host }) => kind !== "delete" && host && made.has(host));
  const go = own.filter(({ kind, host }) => kind === "delete" && host && going.has(host));
  return {
    ...action,
    keys: [...action.keys, ...come.map(keyIn)],
    deletions: [...action.deletions, ...go.map(keyIn)],
  };
}

/** Whether a plan ends with no records at all: a destroy, or what takes a first creation back. Pure. */
export function leadsToNothing({ transaction: { goal }, fromRevision }: RemainingPlan): boolean {
  return goal.kind === "destroy" || (goal.kind === "takeBack" && fromRevision === 0);
}

function commitReason(going: readonly Step[]): string {
  if (going.length === 0) return "everything runs";
  return going.every(isLettingGo) ? "its marks are taken off" : "what is superseded goes last";
}

function keyIn({ key }: Step): NodeKey {
  return key;
}

function nameIn({ key }: Step): string {
  return nodeName(key);
}

/** Workers go before what they depend on; where nothing was ever committed nobody depends on anything. */
function removal({ open, leaving, isFirst }: HostSet, leftovers: readonly Leftover[]): NextAction {
  const workers = isFirst ? [] : leaving.filter(({ controlPlane }) => !controlPlane).map(hostOf);
  if (workers.length > 0) {
    return { kind: "change", keys: [], deletions: workers, reason: "workers go first" };
  }
  if (leftovers.length > 0) {
    // A controller that still runs would make them again.
    const hosts = leaving.map(hostOf);
    return hosts.length > 0
      ? { kind: "change", keys: [], deletions: hosts, reason: "no controller may be left" }
      : { kind: "removeLeftovers", leftovers, reason: "what controllers have made goes" };
  }
  const deletions = open.map(({ key }) => key);
  if (deletions.length === 0) return { kind: "clear", reason: "nothing is left" };
  const reason = isFirst ? "there was nothing before" : "control plane and infrastructure go last";
  return { kind: "change", keys: [], deletions, reason };
}

/** Why an adoption or an import acts, and what its commit means. What a release means its steps say. */
const recordReasons: Partial<Record<TransactionGoal["kind"], { reason: string; done: string }>> = {
  adopt: { reason: "they get records", done: "everything that was found has a record" },
  import: { reason: "it gets our marks and a record", done: "it bears our marks and has a record" },
};

/** All records in one pass, then the commit: no resource in the cloud starts by it, so there is nothing to wait for. */
function recordsRound(hostSet: HostSet, kind: TransactionGoal["kind"]): NextAction {
  const { reason = "", done } = recordReasons[kind] ?? {};
  const keys = hostSet.open.filter((one) => one.kind === "adopt" || one.kind === "import");
  if (keys.length === 0) return commitOf(hostSet, done);
  return { kind: "change", keys: keys.map(keyIn), deletions: [], reason };
}
