import { numbersIn } from "../../api/key-stage.js";
import type { ClusterKeys } from "../../bootstrap/certificates/cluster-keys.js";
import type { KeyRing } from "../../bootstrap/certificates/key-ring.js";
import type { RemainingPlan } from "../../plan/plan.js";
import type { PriorState } from "../../records/prior-state.js";
import { stageOf } from "../../records/recorded-keys.js";

/** Makes a cluster's keys. */
export interface KeySource {
  /** Whether somebody has given keys: what is missing of them is made. */
  readonly areGiven: boolean;
  /** New ones, or those that were given. Random. */
  make(which: "new" | "given"): Promise<ClusterKeys>;
}

/**
 * The keys that a transaction records at its begin: those that are recorded as long as a host or a target names them,
 * and new ones for what its target names first. A cluster that was there before its records has keys that nobody here
 * knows: it gets those that somebody gives, and no others (law 15).
 */
export async function ringOf(
  { target, transaction: { goal, hostKeys = {} } }: Pick<RemainingPlan, "target" | "transaction">,
  { transaction: last, revision }: PriorState,
  source: KeySource | undefined,
): Promise<KeyRing | undefined> {
  const wanted = numbersIn(stageOf(target));
  const recorded = last?.keys;
  if (recorded === undefined) {
    const isNew = last === undefined && goal.kind !== "adopt";
    if (source === undefined || !(isNew || source.areGiven)) return undefined;
    return withMade({}, isNew ? wanted : wanted.slice(0, 1), source);
  }
  const stages = [stageOf(target), stageOf(revision?.target), ...Object.values(hostKeys)];
  const named = new Set(stages.flatMap(numbersIn));
  const kept = Object.entries(recorded).filter(([number]) => named.has(Number(number)));
  const missing = wanted.filter((number) => recorded[number] === undefined);
  return withMade(Object.fromEntries(kept), missing, source);
}

/** What is given counts for the first of those that are missing. */
async function withMade(
  ring: KeyRing,
  missing: readonly number[],
  source: KeySource | undefined,
): Promise<KeyRing> {
  if (source === undefined || missing.length === 0) return ring;
  const made = missing.map(
    async (number, index) =>
      [number, await source.make(source.areGiven && index === 0 ? "given" : "new")] as const,
  );
  return { ...ring, ...Object.fromEntries(await Promise.all(made)) };
}
