import { omitUndefined } from "../api/omit-undefined.js";
import { keyOf, type NodeKey } from "../graph/graph.js";
import type { EtcdHealth } from "../workload/etcd/etcd-health.js";
import type { OrphanedResource, RemainingPlan } from "../plan/plan.js";
import {
  isOpen,
  isRecordKind,
  type PendingOperation,
  type PriorState,
  unrecordedRevision,
} from "../records/prior-state.js";
import { leadsToNothing, nextAction, type NextAction } from "../plan/waves/next-action.js";

/** Where a stack stands, as its records alone tell. docs/lifecycle.md says what is true in each. */
export type Standing =
  /** Nothing is recorded. */
  | "absent"
  | "idle"
  /** A transaction toward what somebody asked for is not committed. */
  | "forward"
  /** A transaction back to the last revision is not committed. */
  | "back"
  /** Committed, but what was superseded is not all deleted, or an operation was left pending. */
  | "owing";

/** Pure. What only a look at the cloud can tell (drift, orphaned resources) does not count. */
export function standingOf(prior: PriorState): Standing {
  if (prior.transaction === undefined) return prior.resources.length === 0 ? "absent" : "owing";
  if (isOpen(prior)) return prior.transaction.direction;
  const wanted = new Set(prior.revision?.target.nodes.map(keyOf));
  const owed = prior.resources.some(
    ({ key, type, kind, deleting, unfinished }) =>
      deleting || unfinished || (type === "resource" && !isRecordKind(kind) && !wanted.has(key)),
  );
  return owed || prior.pending.length > 0 ? "owing" : "idle";
}

/** Everything that decides what a run does next. */
export interface Situation {
  /** Toward the target of this run, made from the present state and a present look at the cloud. */
  readonly plan: RemainingPlan;
  readonly prior: PriorState;
  /** "<kind> <key>" of each step that this run's first plan showed. */
  readonly shown: ReadonlySet<string>;
  /** Creations and updates whose pass this run has ended well. */
  readonly done: ReadonlySet<NodeKey>;
  /** Those, and those of passes that have failed: some of them may have been made. */
  readonly tried: ReadonlySet<NodeKey>;
  /** Hosts that the cloud shows running, for as long as their sets ask for. */
  readonly available: ReadonlySet<NodeKey>;
  /** How the members of etcd are; absent: nobody has asked, or nobody has to. */
  readonly etcd?: EtcdHealth;
  readonly nowMs: number;
  /** The lock was taken from somebody dead, and what they last asked of the cloud may still happen. */
  readonly unsettled: boolean;
  /** What the last action failed with. */
  readonly failure?: string;
  /** Open steps when the failure before that one came; more than any number without. */
  readonly openAtLastFailure: number;
  readonly onFailure: "rollBack" | "keep";
  /** The last pass has ended well in this run: the one that commits and deletes, or that clears the records. */
  readonly closed: boolean;
  /** What two listings say against the state; undefined before they were made. */
  readonly differences?: readonly string[];
}

/** The next thing to do. Pure data; the reason is for people. */
export type Action =
  /** Let every call of a dead predecessor come to its end. */
  | { readonly kind: "settle"; readonly reason: string }
  /** Read records again. `isOwn`: this run has changed them all, and their cloud shows more of them by now, as outputs that come late. */
  | {
      readonly kind: "refresh";
      readonly keys: readonly NodeKey[];
      readonly isOwn: boolean;
      readonly reason: string;
    }
  /** Clear the entries of interrupted operations on what is not recorded. */
  | { readonly kind: "forget"; readonly keys: readonly NodeKey[]; readonly reason: string }
  | {
      readonly kind: "remove";
      readonly resources: readonly OrphanedResource[];
      readonly reason: string;
    }
  /** Find out about interrupted creations, and clear their entries. */
  | { readonly kind: "resolve"; readonly keys: readonly NodeKey[]; readonly reason: string }
  /** Record the revision again that Transaction alone tells of: the next begin overwrites that. */
  | { readonly kind: "restore"; readonly reason: string }
  /** Write Transaction, and nothing else. */
  | { readonly kind: "begin"; readonly number: number; readonly reason: string }
  /** "clear" deletes the records of the transaction itself, after a verification. */
  | NextAction
  /** Two consistent listings against the state. */
  | { readonly kind: "verify"; readonly reason: string }
  /** Try again what is left, after a failure in which something was achieved. */
  | { readonly kind: "retry"; readonly reason: string }
  /** Toward the last revision, or again toward it by another plan. */
  | { readonly kind: "rollBack"; readonly reason: string }
  | { readonly kind: "end" }
  | { readonly kind: "stop"; readonly result: StopResult; readonly reason: string };

export type StopResult =
  /** Nothing was begun. */
  | "untouched"
  /** The transaction stays open, as was asked. */
  | "kept"
  /** The transaction stays open: past its point of no return there is only forward. */
  | "forwardOnly"
  /** Committed, but not everything superseded could be deleted. */
  | "owing"
  /** Rolled back in part only. */
  | "incomplete";

/**
 * The transaction's state machine: one decision from everything that is known, never from what
 * happened before. Whoever comes next makes the same decisions from the same records. Pure;
 * architecture section 6, docs/lifecycle.md.
 */
export function step(situation: Situation): Action {
  const { plan, failure } = situation;
  if (failure !== undefined) return afterFailure(situation, failure);
  if (situation.closed) return afterClosing(situation);
  if (isBegun(situation) && situation.nowMs > deadlineOf(plan, situation.prior)) {
    return afterFailure(situation, "it was not done by its deadline");
  }
  const recovery = recoveryOf(situation);
  if (recovery !== undefined) return recovery;
  const [surprise] = plan.steps.filter((one) => !situation.shown.has(`${one.kind} ${one.key}`));
  if (surprise !== undefined) {
    const what = `${surprise.key} has to be ${pastTense[surprise.kind]} now, which the plan did not show`;
    const reason = surprise.reason === "" ? what : `${what}: ${surprise.reason}`;
    return plan.transaction.direction === "back"
      ? { kind: "rollBack", reason }
      : afterFailure(situation, reason);
  }
  if (!isBegun(situation)) {
    if (unrecordedRevision(situation.prior) !== undefined) {
      return { kind: "restore", reason: "what was committed last has no record of its own" };
    }
    const reason = "what is going to be done is recorded first";
    return { kind: "begin", number: plan.transaction.number, reason };
  }
  return onward(situation);
}

/**
 * Until when the way to the commit may take, milliseconds since the epoch. Deletions that are owed after it have no deadline: nothing is
 * taken back any more. Pure.
 */
export function deadlineOf(
  { transaction }: Pick<RemainingPlan, "transaction">,
  { revision }: Pick<PriorState, "revision">,
): number {
  return revision?.number === transaction.number ? Infinity : transaction.deadlineAtMs;
}

const pastTense = {
  adopt: "adopted",
  import: "imported",
  create: "created",
  update: "updated",
  delete: "deleted",
} as const;

/** The gate before every pass: what a dead predecessor left is dealt with first. */
function recoveryOf(situation: Situation): Action | undefined {
  const { plan, prior, unsettled, tried } = situation;
  if (unsettled) {
    return { kind: "settle", reason: "what a dead command last asked for may still happen" };
  }
  if (plan.stale.length > 0) {
    const isOwn = plan.stale.every((key) => tried.has(key));
    const reason = "their records are not what the cloud shows";
    return { kind: "refresh", keys: plan.stale, isOwn, reason };
  }
  const interrupted = prior.pending.filter(({ type }) => type !== "creating").map(({ key }) => key);
  const recorded = new Set(prior.resources.map(({ key }) => key));
  const changed = interrupted.filter((key) => recorded.has(key));
  if (changed.length > 0) {
    const reason = "an engine was killed while it changed them";
    return { kind: "refresh", keys: changed, isOwn: false, reason };
  }
  if (interrupted.length > 0) {
    // What they may have left in the cloud is no longer taken for theirs, so it is found next.
    const reason = "an engine was killed at them, and they are in no record";
    return { kind: "forget", keys: interrupted, reason };
  }
  // A host may be all that shows that a point of no return is passed: it is not removed before Transaction tells of it.
  if (plan.passed.length > 0 && !isBegun(situation)) return undefined;
  if (plan.orphaned.length > 0) {
    const reason = "an apply that broke off left them in no record";
    return { kind: "remove", resources: plan.orphaned, reason };
  }
  const creates = prior.pending.filter(({ type }) => type === "creating");
  if (creates.length > 0 && creates.every((one) => isResolvable(one, plan, prior))) {
    const keys = creates.map(({ key }) => key);
    return { kind: "resolve", keys, reason: "an engine was killed while it created them" };
  }
  return undefined;
}

/** One that the target wants is found again and recorded by the pass that makes it. */
function isResolvable({ key }: PendingOperation, plan: RemainingPlan, prior: PriorState): boolean {
  const wanted = plan.steps.some(
    (one) => one.key === key && one.kind !== "update" && one.kind !== "delete",
  );
  return !wanted || prior.resources.some((one) => one.key === key);
}

/** Changes in waves, waiting between, then the commit with its deletions. */
function onward(situation: Situation): Action {
  const { plan, done, etcd } = situation;
  const available = availableFor(situation);
  const action = nextAction(plan, omitUndefined({ applied: new Set<NodeKey>(), available, etcd }));
  if (action.kind === "clear") return verified(situation) ?? action;
  const again = action.kind === "change" ? action.keys.filter((key) => done.has(key)) : [];
  if (again.length > 0) {
    const reason = `the cloud accepted a change of ${again.join(", ")} and does not show it`;
    return afterFailure(situation, reason);
  }
  return action;
}

/**
 * A way back waits for what it and those before it have made or changed, in whatever run: what did not run before need not
 * run now.
 */
function availableFor({ plan, tried, available }: Situation): ReadonlySet<NodeKey> {
  const { direction, touched = [] } = plan.transaction;
  if (direction === "forward") return available;
  const changed = new Set([...tried, ...touched]);
  const untouched = plan.target.nodes.map(keyOf).filter((key) => !changed.has(key));
  return new Set([...available, ...untouched]);
}

/** A way forward ends with its commit, one to nothing with its last record; a way back has to be seen first. */
function afterClosing(situation: Situation): Action {
  const { plan } = situation;
  if (plan.transaction.direction === "forward" || leadsToNothing(plan)) return { kind: "end" };
  return verified(situation) ?? { kind: "end" };
}

/** What is still to be seen or done before cloud and state agree; undefined when they do. */
function verified({ plan, differences }: Situation): Action | undefined {
  if (differences === undefined) {
    return { kind: "verify", reason: "the cloud has to show what is recorded, and nothing else" };
  }
  if (differences.length > 0 && plan.orphaned.length > 0) {
    const reason = "listings have shown them only now";
    return { kind: "remove", resources: plan.orphaned, reason };
  }
  const open = plan.steps.map(({ kind, key }) => `${key} is still to be ${pastTense[kind]}`);
  const wrong = [...differences, ...open];
  if (wrong.length === 0) return undefined;
  return { kind: "stop", result: "incomplete", reason: wrong.join("\n") };
}

function afterFailure(situation: Situation, failure: string): Action {
  const { plan, openAtLastFailure, onFailure } = situation;
  const stop = (result: StopResult): Action => ({ kind: "stop", result, reason: failure });
  const begun = isBegun(situation);
  const back = plan.transaction.direction === "back";
  // A destroy that was begun is never taken back by itself: somebody wanted everything gone.
  const goesOn = back || (begun && leadsToNothing(plan));
  if (goesOn || isCommitted(situation)) {
    if (plan.steps.length < openAtLastFailure) return { kind: "retry", reason: failure };
    return stop(goesOn ? "incomplete" : "owing");
  }
  if (!begun) return stop("untouched");
  if (plan.passed.length > 0) return stop("forwardOnly");
  return onFailure === "keep" ? stop("kept") : { kind: "rollBack", reason: failure };
}

function isBegun({ plan, prior }: Situation): boolean {
  return prior.transaction?.number === plan.transaction.number;
}

function isCommitted({ plan, prior }: Situation): boolean {
  return prior.revision?.number === plan.transaction.number;
}
