import {
  intentsAfter,
  type ScaleIntents,
  type ScaleReason,
  type ScaleStep,
  type SetCounts,
  sumOf,
  wantedOf,
} from "../../src/sets/counts.js";
import { isRollingUpdate, minAvailableOf, type RolloutBounds } from "../../src/sets/fenceposts.js";
import { scaleNewSetOnDelete, scaleOldSetsOnDelete } from "../../src/sets/on-delete.js";
import type { Profile } from "../../src/api/set-profile.js";
import { scaleOldSetsV1alpha1 } from "../../src/sets/rolling-update-v1alpha1.js";
import { breakDeadlock, scaleNewSet, scaleOldSets } from "../../src/sets/rolling-update.js";
import {
  countsOfGiven,
  type GivenMachineDeployment,
  type GivenMachineSet,
} from "./machine-sets.js";

/** A step's question: a deployment's sets, and what the round has decided already. */
export interface StepGiven {
  readonly machineDeployment?: GivenMachineDeployment;
  readonly newMachineSet: GivenMachineSet;
  readonly oldMachineSets: readonly GivenMachineSet[];
  readonly scaleIntentsBefore?: Readonly<Record<string, number>>;
}

/** A wanted reason: a code, and numbers that it mentions. */
type WantedReason = Readonly<Record<string, string | number>>;

interface StepState {
  readonly newSet: SetCounts;
  readonly oldSets: readonly SetCounts[];
  readonly intents: ScaleIntents;
}

function stateOf(given: StepGiven): StepState {
  return {
    newSet: countsOfGiven(given.newMachineSet),
    oldSets: given.oldMachineSets.map(countsOfGiven),
    intents: new Map(Object.entries(given.scaleIntentsBefore ?? {})),
  };
}

function boundsOf({ machineDeployment }: StepGiven): RolloutBounds {
  if (machineDeployment === undefined) throw new Error("has no machineDeployment");
  return machineDeployment.spec;
}

export function reconcileNewMachineSet(
  given: StepGiven,
  profile: Profile,
  want: { readonly reasons?: readonly WantedReason[] },
) {
  const state = stateOf(given);
  const bounds = boundsOf(given);
  const steps = isRollingUpdate(bounds)
    ? scaleNewSet({ bounds, ...state }, profile)
    : scaleNewSetOnDelete({ bounds, ...state }, profile);
  return {
    newMachineSetReplicas: wantedOf(state.newSet, intentsAfter(new Map(), steps)),
    reasons: reasonsShown(steps, want.reasons ?? []),
  };
}

interface WantedSteps {
  readonly reasons?: Readonly<Record<string, readonly WantedReason[]>>;
  readonly worstCaseStaysAboveMinAvailable?: boolean | null;
}

export function reconcileOldMachineSets(given: StepGiven, profile: Profile, want: WantedSteps) {
  const state = stateOf(given);
  const bounds = boundsOf(given);
  const steps = oldSetSteps(bounds, state, profile);
  const intents = intentsAfter(state.intents, steps);
  return {
    scaleIntentsAfter: Object.fromEntries(intents),
    reasons: reasonsBySet(steps, want.reasons ?? {}),
    worstCaseStaysAboveMinAvailable:
      want.worstCaseStaysAboveMinAvailable === null
        ? null
        : availableAtWorst(state, intents) >= minAvailableOf(bounds),
  };
}

function oldSetSteps(bounds: RolloutBounds, state: StepState, profile: Profile): ScaleStep[] {
  if (!isRollingUpdate(bounds)) return scaleOldSetsOnDelete({ bounds, ...state });
  return profile === "modern"
    ? scaleOldSets({ bounds, ...state })
    : scaleOldSetsV1alpha1({ bounds, ...applied(state) });
}

export function breakDeadlockStep(given: StepGiven, _profile: Profile, want: WantedSteps) {
  const state = stateOf(given);
  const steps = breakDeadlock(state);
  // Upstream files the reason under the new set, whose way is cleared.
  const filed = steps.map((step) => ({ ...step, set: state.newSet.name }));
  return {
    scaleIntentsAfter: Object.fromEntries(intentsAfter(state.intents, steps)),
    reasons: reasonsBySet(filed, want.reasons ?? {}),
  };
}

/** v1alpha1 writes each decision into its set at once. */
function applied({ newSet, oldSets, intents }: StepState): Omit<StepState, "intents"> {
  const after = (set: SetCounts) => ({ ...set, replicas: wantedOf(set, intents) });
  return { newSet: after(newSet), oldSets: oldSets.map(after) };
}

/** What stays available when everything that old sets lose was available. */
function availableAtWorst({ newSet, oldSets }: StepState, intents: ScaleIntents): number {
  const lost = sumOf(oldSets, (set) =>
    Math.min(set.available, Math.max(set.existing - wantedOf(set, intents), 0)),
  );
  return sumOf([newSet, ...oldSets], ({ available }) => available) - lost;
}

/** Our reasons in the vectors' words, for the sets that the case lists. */
function reasonsBySet(
  steps: readonly ScaleStep[],
  wanted: Readonly<Record<string, readonly WantedReason[]>>,
): Record<string, WantedReason[]> {
  return Object.fromEntries(
    Object.entries(wanted).map(([set, reasons]) => {
      const ours = steps.filter((step) => step.set === set);
      return [set, reasonsShown(ours, reasons)];
    }),
  );
}

/**
 * Our reasons where the case lists reasons: of the same codes. The vectors leave open how a reason
 * names its numbers, so those count that both name alike.
 */
function reasonsShown(
  steps: readonly ScaleStep[],
  wanted: readonly WantedReason[],
): WantedReason[] {
  return wanted.flatMap((reason) => {
    const ours = steps.map((step) => step.reason);
    const same = ours.find(({ kind }) => kind === reason["code"]);
    return same === undefined ? ours.map(({ kind }) => ({ code: kind })) : [shown(same, reason)];
  });
}

function shown(reason: ScaleReason, wanted: WantedReason): WantedReason {
  const ours = new Map<string, string | number>(Object.entries(reason));
  return Object.fromEntries(
    Object.entries(wanted).map(([name, value]) => [name, ours.get(name) ?? value]),
  );
}
