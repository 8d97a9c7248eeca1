import { sameJson } from "../../api/json.js";
import { deletionAnnotationsAmong } from "../../api/machine-annotations.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import { handOverSummary } from "../../records/hand-over.js";
import { entryOf } from "../../records/history.js";
import { newestWords } from "../../records/host-machine.js";
import { openUpdates } from "../../records/open-updates.js";
import { knownMachines, isOpen, type PriorState, recordAt } from "../../records/prior-state.js";
import { machineNameOf } from "../../records/host-name.js";
import type { PlannedTransaction, RemainingPlan } from "../plan.js";
import type { PlanInput } from "../plan-input.js";
import { heldAs, heldBefore, holdsAsRecorded } from "../decisions/held-words.js";
import { uncommittedAmong } from "../decisions/letting-go.js";
import { deadlineAtMs } from "../deadline.js";
import { isLettingGo, type Step } from "../step.js";
import { withObjects } from "../../records/taken-back.js";
import {
  type ChangeSummary,
  type PassedPoint,
  type Spent,
  type TransactionRecord,
  directionOf,
} from "../../records/transaction.js";
import { type Target, targetDigest, type TargetMachine } from "../../records/target.js";
import { bothCompensable } from "../undo/compensable.js";
import type { Undo } from "../undo/undo.js";

/**
 * The transaction that leads to the target: the open one if it leads there, else the next number. One
 * that is committed and only owes deletions goes on too. Times and numbers are copied, never renewed
 * (laws 2 and 4), but past its deadline a transaction is not gone on with.
 */
export function transactionOf(
  input: PlanInput,
  digest: string,
  found: {
    readonly steps: readonly Step[];
    /** What is not as the target says, by its record or by the cloud. */
    readonly differing: ReadonlySet<NodeKey>;
    readonly undo: Undo;
    readonly spent: Spent;
    readonly hostKeys: TransactionRecord["hostKeys"];
    readonly passed: readonly PassedPoint[];
    readonly givenUp: TransactionRecord["givenUp"];
    readonly former: readonly TargetMachine[];
    readonly superseded: readonly NodeKey[];
    readonly letGo: ReadonlySet<NodeKey>;
    /** Hosts that go, recorded or not, and what is wanted. */
    readonly going: Pick<RemainingPlan, "leaving" | "orphaned" | "target">;
    readonly summary: () => ChangeSummary;
  },
): PlannedTransaction {
  const { prior, nowMs, goal, by } = input;
  const direction = directionOf(goal);
  const last = prior.transaction;
  const open = isOpen(prior);
  const owner = (goal.kind === "move" ? goal.to : undefined) ?? last?.owner ?? input.owner;
  // Also to who owns it: what it holds is brought there once more.
  const handsOver = goal.kind === "move" && (!open || last?.owner !== owner);
  const recordsKeys = input.givesKeys === true && last?.keys === undefined;
  const cloud = input.cloud ?? last?.cloud;
  const held = heldAs(input, found.going);
  if (last !== undefined && !handsOver && !recordsKeys && targetDigest(last.target) === digest) {
    const goesOn = open
      ? last.direction === direction && nowMs <= last.deadlineAtMs
      : found.steps.every(({ kind }) => kind === "delete");
    const isSame = updatesAsRecorded(prior, found) && letsGoAsRecorded(last, found);
    if (goesOn && isSame && holdsAsRecorded(last, held, input)) {
      const { target: _target, keys: _keys, ...same } = last;
      return omitUndefined({ ...same, spent: found.spent, heldAs: held });
    }
  }
  return omitUndefined({
    number: (last?.number ?? 0) + 1,
    clusterUid: last?.clusterUid ?? input.newClusterUid,
    owner,
    digestKey: last?.digestKey ?? input.newDigestKey ?? "",
    goal,
    direction,
    by,
    startedAtMs: nowMs,
    deadlineAtMs: deadlineAtMs(nowMs, input.deadlineMs),
    pointsOfNoReturn: found.undo.pointsOfNoReturn,
    ...bothCompensable(open && last !== undefined ? last : { compensable: [] }, found.undo),
    touched: touchedBy(input, found),
    updates: unlessEmpty(updatesUnderWay(prior, found)),
    givenUp: found.givenUp,
    spent: found.spent,
    hostKeys: found.hostKeys,
    summary: goal.kind === "move" ? handOverSummary(owner) : found.summary(),
    attempts: open && last !== undefined ? [...last.attempts, endedAttempt(input, last)] : [],
    crossed: unlessEmpty(found.passed),
    former: unlessEmpty(found.former),
    superseded: unlessEmpty(found.superseded),
    letGo: unlessEmpty([...found.letGo]),
    uncommitted: unlessEmpty(uncommittedAmong(found.letGo, input)),
    heldAs: held,
    heldBefore: heldBefore(prior),
    copies: input.copies?.map(({ id }) => id),
    deletedIds: deletedIdsOf(prior, found.steps, found.going.orphaned),
    cloud,
    programValues: last?.programValues,
  });
}

/** What steps change in place. */
function updatesIn({ steps }: { readonly steps: readonly Step[] }): NodeKey[] {
  return steps.flatMap(({ kind, key }) => (kind === "update" ? [key] : []));
}

/** The resources that these steps change in place, and those that earlier steps were to change in place and have not. Pure. */
export function updatesUnderWay(
  prior: PriorState,
  found: { readonly steps: readonly Step[] },
): NodeKey[] {
  return [...new Set([...updatesIn(found), ...openUpdates(prior)])];
}

/** Whether the open transaction tells of all that changes in place now. What it has finished changes in another one. Pure. */
export function updatesAsRecorded(
  prior: PriorState,
  found: { readonly steps: readonly Step[] },
): boolean {
  const open = openUpdates(prior);
  return updatesIn(found).every((key) => open.has(key));
}

/**
 * Whether all that loses its marks now does so by a transaction's own record: every pass decides by that. Manifests may keep what somebody else
 * who led to the same target, as a rollback does, was to delete.
 */
function letsGoAsRecorded(
  { letGo = [] }: TransactionRecord,
  {
    steps,
    going: { orphaned },
  }: {
    readonly steps: readonly Step[];
    readonly going: Pick<RemainingPlan, "orphaned">;
  },
): boolean {
  const recorded = new Set(letGo);
  return (
    steps.every((step) => !isLettingGo(step) || recorded.has(step.key)) &&
    orphaned.every((one) => one.letGo !== true || recorded.has(keyOf(one.who)))
  );
}

function unlessEmpty<T>(all: readonly T[]): readonly T[] | undefined {
  return all.length > 0 ? all : undefined;
}

/** Also of what has no record, which a hook may give it, but for what bears one name twice: each of them may be ours. */
function deletedIdsOf(
  { resources }: PriorState,
  steps: readonly Step[],
  orphaned: RemainingPlan["orphaned"],
): TransactionRecord["deletedIds"] {
  const wanted = new Set(steps.flatMap(({ kind, key }) => (kind === "delete" ? [] : [key])));
  const ids = steps.flatMap(({ kind, key }): [NodeKey, string][] => {
    const id = kind === "delete" && !wanted.has(key) ? recordAt(resources, key)?.id : undefined;
    return id === undefined ? [] : [[key, id]];
  });
  const left = orphaned
    .map(({ id, who }): [NodeKey, string] => [keyOf(who), id])
    .filter(([key], _, found) => found.filter(([other]) => other === key).length === 1);
  const all = [...left, ...ids];
  return all.length > 0 ? Object.fromEntries(all) : undefined;
}

/** With what earlier attempts since the last revision have touched, as long as it is recorded or may be wanted again. */
function touchedBy(
  { prior, goal }: PlanInput,
  {
    steps,
    differing,
  }: { readonly steps: readonly Step[]; readonly differing: ReadonlySet<NodeKey> },
): readonly NodeKey[] | undefined {
  const { resources, revision, transaction } = prior;
  const isBack = directionOf(goal) === "back";
  const untouched = isBack ? untouchedSoFar(prior, differing) : new Set<NodeKey>();
  const planned = isOpen(prior) ? (transaction?.touched ?? []) : [];
  const earlier = planned.filter((key) => !untouched.has(key));
  const now = steps.flatMap(({ kind, key }) => (kind === "delete" ? [] : [key]));
  const recorded = resources.map(({ key }) => key);
  const known = new Set([...now, ...recorded, ...(revision?.target.nodes.map(keyOf) ?? [])]);
  const touched = [...new Set([...earlier, ...now])].filter((key) => known.has(key));
  return touched.length > 0 ? touched : undefined;
}

/**
 * What the only attempt since the revision was to change and has not: it wanted it otherwise, and all of it is as the revision says.
 * Where that wanted the same, as a correction of drift does, or others came before it, nobody can tell.
 */
export function untouchedSoFar(
  { transaction, revision, pending }: PriorState,
  differing: ReadonlySet<NodeKey>,
): ReadonlySet<NodeKey> {
  if (transaction?.direction !== "forward" || transaction.attempts.length > 0) return new Set();
  const interrupted = new Set(pending.map(({ key }) => key));
  const wanted = new Map(transaction.target.nodes.map((node) => [keyOf(node), node.spec]));
  const before = (revision?.target.nodes ?? []).filter((node) => {
    const spec = wanted.get(keyOf(node));
    return spec !== undefined && !sameJson(spec, node.spec);
  });
  const keys = before.map(keyOf);
  return new Set(keys.filter((key) => !differing.has(key) && !interrupted.has(key)));
}

/** The open transaction that another one takes the place of, as history tells it. */
function endedAttempt({ goal, nowMs, failure }: PlanInput, last: TransactionRecord) {
  const taken = goal.kind === "takeBack" && last.direction === "forward";
  const kind = taken ? ("rolledBack" as const) : ("superseded" as const);
  const ending = { kind, failure: failure ?? "it was interrupted" };
  return withObjects(entryOf(last, nowMs, ending), last.target);
}

/**
 * Machines of hosts that go, recorded or not: their deletions may be owed still when this is the only record that there is, also of what
 * holds them.
 */
export function formerMachines(
  prior: PriorState,
  { leaving, orphaned }: Pick<RemainingPlan, "leaving" | "orphaned">,
  target: Target,
): TargetMachine[] {
  const wanted = new Set(target.machines.map(({ name }) => name));
  const known = knownMachines(prior);
  const left = orphaned.map(({ who }) => machineNameOf(who.name));
  const names = new Set([...leaving.map(({ machine }) => machine), ...left]);
  const wordsOf = newestWords(prior);
  return [...names]
    .filter((name) => !wanted.has(name))
    .flatMap((name) => known.get(name) ?? [])
    .map((machine) => {
      const { annotations, deletion } = wordsOf(machine);
      const said = deletionAnnotationsAmong(annotations);
      const deletionAnnotations = Object.keys(said).length === 0 ? undefined : said;
      const { deletion: _former, ...spec } = machine.spec;
      return omitUndefined({
        ...machine,
        spec: omitUndefined({ ...spec, deletion }),
        deletionAnnotations,
      });
    });
}
