import { byName } from "./counts.js";
import { maxUnavailableOf, type RolloutBounds } from "./fenceposts.js";

/** A Machine of a deployment whose template changes in place. */
export interface InPlaceMachine {
  readonly name: string;
  readonly available: boolean;
  readonly deleting: boolean;
  /** Its update was begun and is not finished, or it has not become available since. */
  readonly updating: boolean;
  /** It does not follow the present template yet. */
  readonly outdated: boolean;
}

/** Which machines may be updated in place now, and why no more. */
interface InPlaceRound {
  /** Names, in the order in which they start. */
  readonly start: readonly string[];
  readonly budget: InPlaceBudget;
}

interface InPlaceBudget {
  /** How many machines may be in the air at once: max(1, maxUnavailable). */
  readonly limit: number;
  /** Machines whose update is under way. */
  readonly updating: number;
  /** Replicas that are not available now, for whatever reason; updates under way among them. */
  readonly unavailable: number;
}

/**
 * How many machines an in-place update may have in the air: max(1, maxUnavailable), since a machine
 * that is changed counts as unavailable and nothing would ever move at 0. Pure. Throws INVALID_INPUT.
 */
export function inPlaceBudget(
  bounds: RolloutBounds,
  machines: readonly InPlaceMachine[],
): InPlaceBudget {
  const serving = machines.filter((machine) => isServing(machine)).length;
  return {
    limit: Math.max(1, maxUnavailableOf(bounds)),
    updating: machines.filter(({ updating }) => updating).length,
    unavailable: Math.max(bounds.replicas - serving, 0),
  };
}

/**
 * The machines whose update starts now. Those that are not available cost nothing and come first;
 * available ones follow while no more than the limit are missing. Ties go by name. A machine that
 * does not come back stops the others. Pure. Source: architecture section 3.
 */
export function planInPlace(
  bounds: RolloutBounds,
  machines: readonly InPlaceMachine[],
): InPlaceRound {
  const budget = inPlaceBudget(bounds, machines);
  const waiting = machines
    .filter(({ outdated, updating, deleting }) => outdated && !updating && !deleting)
    .sort((left, right) => byName(left.name, right.name));
  const start: string[] = [];
  let { updating, unavailable } = budget;
  for (const machine of [
    ...waiting.filter(({ available }) => !available),
    ...waiting.filter(({ available }) => available),
  ]) {
    if (updating >= budget.limit || (machine.available && unavailable >= budget.limit)) break;
    start.push(machine.name);
    updating += 1;
    if (machine.available) unavailable += 1;
  }
  return { start, budget };
}

function isServing({ available, updating, deleting }: InPlaceMachine): boolean {
  return available && !updating && !deleting;
}
