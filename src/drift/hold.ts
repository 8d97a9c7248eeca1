import { counted } from "../api/counted.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { driftAnnotations } from "../api/drift-policy.js";
import { CapstanError } from "../api/error.js";
import type { AnyObject } from "../api/types.js";
import { keyOf } from "../graph/graph.js";
import type { Hold, Plan } from "../plan/plan.js";
import { isOpen, cloudResources, type PriorState } from "../records/prior-state.js";
import type { Observation } from "../plan/observation.js";
import { classifyDrift, type DriftJudge } from "./classify.js";
import { fewest, implausible } from "./freeze.js";
import { budgetsOf } from "./budgets.js";
import { driftPoliciesOf } from "./policy.js";
import { freezeText } from "./drift-text.js";

/** What says whether an implausible answer of the cloud is to be believed. */
interface HoldRules {
  readonly provider: DriftJudge;
  /** The objects whose annotations count. */
  readonly objects: readonly AnyObject[];
  /** The fingerprint that a person has given with the command. */
  readonly thaw?: string | undefined;
}

/**
 * Why a look is not believed, by the rules and with the fingerprint of `capstan drift`; undefined for a
 * plausible one. What counts is what the last Revision holds and no open transaction was to delete. Pure.
 */
export function holdOf(
  state: PriorState,
  observation: Observation,
  rules: HoldRules,
): Hold | undefined {
  const { revision, transaction } = state;
  const { provider, objects } = rules;
  if (revision === undefined || transaction === undefined) return undefined;
  const committed = new Set(revision.target.nodes.map(keyOf));
  const wanted = new Set(transaction.target.nodes.map(keyOf));
  const resources = state.resources.filter(({ key }) => committed.has(key) && wanted.has(key));
  const report = classifyDrift({ ...state, resources }, observation, provider);
  const cause = implausible(report, driftPoliciesOf(objects), budgetsOf(objects));
  if (cause === undefined) return undefined;
  const { fingerprint } = classifyDrift(state, observation, provider);
  const isProven = cause.kind === "tooManyUnhealthy" && transaction.cloud !== undefined;
  return omitUndefined({
    reason: freezeText(cause),
    fingerprint,
    // It is the right cloud and it was listed as a whole: whoever asks for a change sees its plan.
    believed: isThawed(fingerprint, rules) ? "person" : isProven ? "proven" : undefined,
  });
}

/**
 * Why nothing may be said to be gone for good: the cloud cannot tell which one it is, and shows nothing of
 * what is recorded but what was being deleted. Of a transaction that is open a few may be gone although nobody
 * could see them go: its deletions and its undo are cut off too. Undefined for any other look. Pure.
 */
export function holdOfDestroy(
  state: PriorState,
  observation: Observation,
  rules: HoldRules,
): Hold | undefined {
  const interrupted = new Set(state.pending.map(({ key }) => key));
  const expected = cloudResources(state).filter(({ key }) => !interrupted.has(key));
  const isProven = state.transaction?.cloud !== undefined;
  const isShown = expected.some(({ key }) => observation.observedResources.get(key) !== "gone");
  if (isProven || isShown || expected.length < (isOpen(state) ? fewest : 1)) return undefined;
  const { fingerprint } = classifyDrift(state, observation, rules.provider);
  if (isThawed(fingerprint, rules)) return undefined;
  const reason = `the cloud shows none of ${counted(expected.length, "resource")}, and cannot tell whether it is the recorded one`;
  return { reason, fingerprint };
}

/** A plan with why its look at the cloud is not believed. Pure. */
export function withHold(plan: Plan, held: Hold | undefined): Plan {
  return held === undefined || plan.empty ? plan : { ...plan, held };
}

/** Throws FROZEN for a look that nobody has said to be true. */
export function refuseHeld(cluster: string, held: Hold | undefined): void {
  if (held === undefined || held.believed !== undefined) return;
  throw new CapstanError({
    code: "FROZEN",
    source: "user",
    subject: cluster,
    message: `cannot change ${cluster}: ${held.reason}`,
    hint: `look whether this is the right cloud; if it is true, add --thaw ${held.fingerprint}, or annotate the Cluster with ${driftAnnotations.thaw}: ${held.fingerprint}; nothing was changed`,
  });
}

function isThawed(fingerprint: string, { objects, thaw }: HoldRules): boolean {
  return [thaw, budgetsOf(objects).thaw].includes(fingerprint);
}
