import { sameJson } from "../../api/json.js";
import { deletionAnnotationsAmong } from "../../api/machine-annotations.js";
import { objectsOf } from "../../api/types.js";
import type { Annotations } from "../../api/update-policy.js";
import { keyOf, type NodeKey } from "../../graph/graph.js";
import { annotationsToldBy, hostMachines } from "../../records/host-machine.js";
import { cloudResources, isOpen, type PriorState } from "../../records/prior-state.js";
import type { Target, TargetMachine } from "../../records/target.js";
import type { TransactionGoal, TransactionRecord } from "../../records/transaction.js";
import { owningObjects } from "../../sets/owning-objects.js";
import type { RemainingPlan } from "../plan.js";
import type { PlanInput } from "../plan-input.js";

// What holds hosts that go and that no object of a target describes: words that a transaction has to remember.

/** Committed or not: nobody has named the revision that it leads to. */
function takesLastBack(goal: TransactionGoal): boolean {
  return goal.kind === "takeBack" || (goal.kind === "rollback" && !goal.named);
}

/**
 * What holds hosts that go although no object of the target says so, for as long as they go: the words of a change that is taken back, and what
 * somebody has named with the verb. Whoever wants something of their machines, or of the sets of these, says it anew, and so does whoever
 * names a revision. Pure.
 */
export function heldAs(
  input: PlanInput,
  { leaving, orphaned, target }: Pick<RemainingPlan, "leaving" | "orphaned" | "target">,
): TransactionRecord["heldAs"] {
  const { prior, goal } = input;
  const { transaction } = prior;
  const { heldAs: before = {} } = transaction ?? {};
  const told = input.told === undefined ? {} : annotationsToldBy(objectsOf(input.told), prior);
  const takesBack = takesLastBack(goal);
  const mayBeHeld = takesBack || Object.keys({ ...before, ...told }).length > 0;
  if (transaction === undefined || !mayBeHeld) return undefined;
  const isSaidAnew = newWordsOf(goal, target);
  const { heldBefore: owed = {} } = goal.kind === "takeBack" ? transaction : {};
  const machineOf = hostMachines(transaction.target, prior, { live: told, heldAs: before });
  const going = [...leaving.map(({ host }) => host), ...orphaned.map(({ who }) => keyOf(who))];
  const said = going.flatMap((host): [NodeKey, NonNullable<Annotations>][] => {
    const { machine, annotations } = machineOf(host) ?? {};
    if (machine === undefined) return [];
    const isCarried = before[host] !== undefined && !isSaidAnew(machine);
    if (!takesBack && !isCarried && told[machine.name] === undefined) return [];
    // What it was held by before counts again, and so does what the change has said: both are to be had done.
    const unsaid = told[machine.name] === undefined ? owed[host] : undefined;
    return [[host, { ...unsaid, ...deletionAnnotationsAmong(annotations) }]];
  });
  return said.length > 0 ? Object.fromEntries(said) : undefined;
}

/** What holds recorded hosts that nobody wants while nothing is open; while something is, what did before that. Pure. */
export function heldBefore(prior: PriorState): TransactionRecord["heldBefore"] {
  const { transaction } = prior;
  if (transaction === undefined || isOpen(prior)) return transaction?.heldBefore;
  const wanted = new Set(transaction.target.nodes.map(keyOf));
  const hosts = cloudResources(prior).filter(
    ({ key, parent }) => parent !== undefined && !wanted.has(key),
  );
  const machineOf = hostMachines(transaction.target, prior, { heldAs: transaction.heldAs });
  const held = hosts.map(({ key }): [NodeKey, NonNullable<Annotations>] => [
    key,
    deletionAnnotationsAmong(machineOf(key)?.annotations),
  ]);
  return held.length > 0 ? Object.fromEntries(held) : undefined;
}

/** Whether a goal says of a machine what is to hold it: by itself, or by its set, which may ask for fewer. */
function newWordsOf(
  { kind }: TransactionGoal,
  { machines, objects }: Target,
): (machine: TargetMachine) => boolean {
  const wanted = new Set(machines.map(({ name }) => name));
  const ownerOf = owningObjects(objects);
  const speaks = kind === "up" || kind === "rollback";
  return (machine) => {
    const { name, duplicateOf = name } = machine;
    return wanted.has(name) || (speaks && ownerOf({ ...machine, name: duplicateOf }) !== undefined);
  };
}

/** Whether what somebody has named with the verb holds hosts by a transaction's own record: else it is not gone on with. Pure. */
export function holdsAsRecorded(
  last: TransactionRecord,
  held: TransactionRecord["heldAs"] = {},
  { told }: PlanInput,
): boolean {
  const isRecorded = ([host, words]: [string, Annotations]) =>
    sameJson(last.heldAs?.[host as NodeKey] ?? null, words ?? null);
  return told === undefined || Object.entries(held).every(isRecorded);
}
