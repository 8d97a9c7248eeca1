import { asJson, sameJson } from "../../api/json.js";
import { omitUndefined } from "../../api/omit-undefined.js";
import { templateJudge } from "../../compile/compile.js";
import { knownMachines, type PriorState } from "../../records/prior-state.js";
import { machineKey, type TargetMachine } from "../../records/target.js";
import { newOwners, withNewOwner } from "../../sets/moves.js";
import type { PlanInput } from "../plan-input.js";

/**
 * The records as they read once what is asked to move has moved: only the owners of machines differ. As they are
 * where nothing moves, and where the last transaction has made the same moves already. Pure. Throws INVALID_INPUT
 * for moves that cannot be made.
 */
export function withMovedMachines({
  goal,
  planGoal,
  prior,
  provider,
}: Pick<PlanInput, "goal" | "planGoal" | "prior" | "provider">): PriorState {
  if (goal.kind !== "up" || goal.moves === undefined || planGoal.kind !== "objects") return prior;
  const { desired } = planGoal;
  const last = prior.transaction?.goal;
  if (last?.kind === "up" && sameJson(asJson(last.moves ?? []), asJson(goal.moves))) return prior;
  const judge = templateJudge(provider, desired.cluster);
  const owners = newOwners(goal.moves, standingMachines(prior), desired, judge);
  const moved = (machines: readonly TargetMachine[]) =>
    machines.map((machine) => withNewOwner(machine, owners));
  const movedIn = <R extends { readonly target: { readonly machines: readonly TargetMachine[] } }>(
    record: R | undefined,
  ) =>
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

/** Those that are wanted, or of which a host is recorded: what is gone has nothing to take along. */
function standingMachines(prior: PriorState): TargetMachine[] {
  const wanted = new Set(prior.transaction?.target.machines.map(({ name }) => name));
  const hosted = new Set(prior.resources.map(({ parent }) => parent));
  return [...knownMachines(prior).values()].filter(
    ({ name }) => wanted.has(name) || hosted.has(machineKey(name)),
  );
}
