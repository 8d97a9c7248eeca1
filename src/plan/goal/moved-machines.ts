import { asJson, sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { templateJudge } from "../../compile/compile.js";
import type { Desired } from "../../api/types.js";
import { isOpen, type PriorState, standingMachines } from "../../records/prior-state.js";
import type { Target, TargetMachine } from "../../records/target.js";
import { type NewOwners, newOwners, type OwnerMove, withNewOwner } from "../../sets/moves.js";
import type { PlanInput } from "../plan-input.js";
import { orderedObjects } from "./compiled-goal.js";

/**
 * The records as they read once what is asked to move has moved: only the owners of machines differ. As they are
 * where the last transaction made the same moves for the same objects. Objects that an open move is not for find
 * its machines where they were before. Pure. Throws INVALID_INPUT for moves that cannot be made.
 */
export function withMovedMachines({
  goal,
  planGoal,
  prior,
  provider,
}: Pick<PlanInput, "goal" | "planGoal" | "prior" | "provider">): PriorState {
  if (goal.kind !== "up" || planGoal.kind !== "objects") return prior;
  const { desired } = planGoal;
  if (goal.moves === undefined) return withOwners(prior, ownersBefore(prior, desired));
  if (sameJson(asJson(movesOf(prior)), asJson(goal.moves)) && isFor(desired, prior.transaction)) {
    return prior;
  }
  const judge = templateJudge(provider, desired.cluster);
  return withOwners(prior, newOwners(goal.moves, standingMachines(prior), desired, judge));
}

function movesOf({ transaction }: PriorState): readonly OwnerMove[] {
  return transaction?.goal.kind === "up" ? (transaction.goal.moves ?? []) : [];
}

/** Whether it is these objects that a record is of. */
function isFor(desired: Desired, record: { readonly target: Target } | undefined): boolean {
  return (
    record !== undefined && sameJson(asJson(orderedObjects(desired)), asJson(record.target.objects))
  );
}

/**
 * Whose the machines of an open move were, for objects that do not go where it goes: those of the last revision,
 * or others that hold nothing of what they were to be given to.
 */
function ownersBefore(prior: PriorState, desired: Desired): NewOwners {
  const { revision, transaction } = prior;
  const moves = movesOf(prior);
  if (!isOpen(prior) || moves.length === 0 || isFor(desired, transaction)) return new Map();
  const names = new Set(
    [...desired.machineSets, ...desired.machineDeployments].map(
      ({ kind, metadata }) => `${kind} ${metadata.name}`,
    ),
  );
  const isHeld = moves.some(({ to }) => names.has(`${to.kind} ${to.name}`));
  if (isHeld && !isFor(desired, revision)) return new Map();
  const owned = revision?.target.machines ?? [];
  return new Map(owned.flatMap(({ name, owner }) => (owner === undefined ? [] : [[name, owner]])));
}

function withOwners(prior: PriorState, owners: NewOwners): PriorState {
  if (owners.size === 0) return prior;
  const moved = (machines: readonly TargetMachine[]) =>
    machines.map((machine) => withNewOwner(machine, owners));
  const movedIn = <R extends { readonly target: Target }>(record: R | undefined) =>
    record && { ...record, target: { ...record.target, machines: moved(record.target.machines) } };
  const transaction = movedIn(prior.transaction);
  return omitUndefined({
    ...prior,
    revision: movedIn(prior.revision),
    transaction:
      transaction &&
      omitUndefined({ ...transaction, former: transaction.former && moved(transaction.former) }),
  });
}
