import {
  askedStage,
  type KeyStage,
  nextStage,
  numbersIn,
  trustEachOther,
} from "../../api/key-stage.js";
import { cloudResources, type PriorState } from "../../records/prior-state.js";
import { stageOf, stageOfHost } from "../../records/recorded-keys.js";
import type { PlanInput } from "../plan-input.js";
import { RefusedChange } from "../refused-change.js";

/** With which keys hosts are to be made: as a recorded graph or the Cluster says, else as they are made now. Pure. */
export function wantedStage({ planGoal, prior }: Pick<PlanInput, "planGoal" | "prior">): KeyStage {
  if (planGoal.kind === "recorded") return stageOf(planGoal.target);
  return askedStage(planGoal.desired.cluster) ?? stageOf(prior.transaction?.target);
}

/**
 * Law 17: no host is made that one which stands does not trust. Throws UNSUPPORTED_CHANGE for a stage of keys that is
 * none of the neighbours of those that hosts were made with, for keys that are no longer kept, and where hosts get none. Pure.
 */
export function refuseDistrust(input: PlanInput, wanted: KeyStage): void {
  const { prior, planGoal, goal } = input;
  if (prior.transaction === undefined || goal.kind === "destroy") return;
  const now = stageOf(prior.revision?.target ?? prior.transaction.target);
  const reason = reasonAgainst(input, wanted, now);
  if (reason === undefined) return;
  const remedy =
    planGoal.kind === "recorded"
      ? "nothing was changed; capstan up with the manifests of that revision goes there and keeps the keys"
      : `nothing was changed; keys are changed in steps: the next one is ${nextStage(now)}`;
  const subject = `Cluster ${prior.transaction.target.cluster}`;
  throw new RefusedChange([{ subject, reason }], remedy);
}

function reasonAgainst(
  { prior, observedResources, provider, goal }: PlanInput,
  wanted: KeyStage,
  now: KeyStage,
): string | undefined {
  const made = `its hosts would be made with keys ${wanted}`;
  const hasKeys = provider.userData !== undefined && prior.transaction?.keys !== undefined;
  if (wanted !== now && !hasKeys) {
    return `${made}, and its state holds no keys: they are made with a cluster whose hosts take user data`;
  }
  const hosts = cloudResources(prior).filter(
    ({ kind, key }) => kind === provider.hostKind && observedResources.get(key) !== "gone",
  );
  const stages = [...new Set(hosts.map(({ key }) => stageOfHost(prior, key)))];
  const strange = stages.find((stage) => !trustEachOther(stage, wanted));
  if (strange !== undefined) {
    return `${made}, and some stand that were made with keys ${strange}: these would not trust them`;
  }
  // Whoever goes back makes no keys.
  const mayMake = goal.kind !== "rollback";
  const lost = lostKeys(prior, wanted, mayMake);
  return lost === undefined ? undefined : `${made}, and keys ${lost} are not kept any more`;
}

/** Of the keys of a stage, the number of those that can be neither found nor made. */
function lostKeys(
  { transaction }: PriorState,
  wanted: KeyStage,
  mayMake: boolean,
): number | undefined {
  const kept = Object.keys(transaction?.keys ?? {}).map(Number);
  if (kept.length === 0) return undefined;
  const [signs = 0] = numbersIn(wanted);
  // Only those that nobody signs with yet can be made now.
  return numbersIn(wanted).find(
    (number) =>
      !kept.includes(number) && (!mayMake || number === signs || number < Math.max(...kept)),
  );
}
