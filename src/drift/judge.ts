import type { DriftPolicy } from "../api/drift-policy.js";
import { assertNever } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { AnyObject } from "../api/types.js";
import type { UpdatePolicy } from "../api/update-policy.js";
import { applyPolicy, changesNodeMarks, policiesOf } from "../compile/update-policy.js";
import { type DriftItem, type DriftReport, isOfTime } from "./classify.js";
import { type Freeze, type FreezeMemory, implausible, type Thaw, thawedBy } from "./freeze.js";
import { budgetsOf, type DriftBudgets, roomFor } from "./budgets.js";
import type { DriftDecision, BudgetGroup } from "./decision.js";
import { remediationOf, renewalOf } from "./remediation.js";
import type { HealthRules } from "./health.js";
import { driftPoliciesOf } from "./policy.js";

export interface JudgedItem {
  readonly item: DriftItem;
  readonly policy: DriftPolicy;
  readonly decision: DriftDecision;
  /** When it was first seen, milliseconds since the epoch, as far as is remembered. */
  readonly sinceMs: number;
}

/** What to remember of one cluster from one look to the next; JSON data, empty at first. */
export interface DriftMemory {
  /** When each finding was first seen, by "<class> <key>". */
  readonly sinceMs: Readonly<Record<string, number>>;
  readonly frozen?: FreezeMemory;
}

export const noMemory: DriftMemory = { sinceMs: {} };

export interface JudgedDrift {
  readonly report: DriftReport;
  /** In the report's order. */
  readonly items: readonly JudgedItem[];
  readonly budgets: DriftBudgets;
  /** Nothing is corrected. */
  readonly freeze?: Freeze;
  /** An implausible answer is believed, so it is corrected at one go. */
  readonly thawed?: Thaw;
  /** For the next look. */
  readonly memory: DriftMemory;
}

export interface DriftRules {
  /** The objects that say what is wanted now. */
  readonly objects: readonly AnyObject[];
  readonly memory: DriftMemory;
  readonly nowMs: number;
  /** Health checks count; absent: nobody looks at what Nodes say of their health. */
  readonly heals?: Pick<HealthRules, "liveAnnotations">;
}

/**
 * Decides about every finding: by the policy of its object, unless the cluster is frozen, and no more
 * at a time than the budgets allow. What runs no longer comes before what is only different. Pure.
 */
export function judgeDrift(report: DriftReport, rules: DriftRules): JudgedDrift {
  const { objects, nowMs } = rules;
  const budgets = budgetsOf(objects);
  const driftPolicy = driftPoliciesOf(objects);
  const updatePolicy = policiesOf(objects);
  const cause = implausible(report, driftPolicy, budgets);
  const since = freezeSince(report, rules);
  const thawed = cause && thawedBy(cause, report.fingerprint, { budgets, sinceMs: since, nowMs });
  const isFrozen = cause !== undefined && thawed === undefined;
  const sinceMs = seenSince(report, rules);
  const decided = report.items.map((item): JudgedItem => {
    const policy = driftPolicy(item);
    const decision: DriftDecision =
      policy === "ignore"
        ? { kind: "ignore" }
        : isFrozen && item.external !== true
          ? { kind: "frozen" }
          : item.class === "unhealthy"
            ? remediationOf(item, { policy, updatePolicyOf: updatePolicy, report, budgets })
            : item.class === "expiring"
              ? renewalOf(item, { policy, updatePolicyOf: updatePolicy, report })
              : sparingMembers(item, decide(item, policy, updatePolicy), policy, report);
    return { item, policy, decision, sinceMs: sinceMs[memoryKey(item)] ?? nowMs };
  });
  return omitUndefined({
    report,
    items: withinBudget(decided, { report, budgets, thawed }),
    budgets,
    freeze: isFrozen ? freezeOf(cause, since, budgets) : undefined,
    thawed,
    memory: omitUndefined({
      sinceMs,
      frozen: cause === undefined ? undefined : { fingerprint: report.fingerprint, sinceMs: since },
    }),
  });
}

/** The same for what there is no more to say of than before: what drifted, who is unhealthy, and whether that is acted on. Pure. */
export function newsOf(judged: JudgedDrift): string | undefined {
  if (!hasDrift(judged)) return undefined;
  const unhealthy = judged.items.flatMap(({ item, decision }) =>
    isOfTime(item) ? [`${item.key} ${decision.kind}`] : [],
  );
  return [judged.report.fingerprint, ...unhealthy].join(" ");
}

/** Whether anything drifted that somebody wants to know of. Pure. */
export function hasDrift({ items }: JudgedDrift): boolean {
  return items.some(({ decision }) => decision.kind !== "ignore");
}

/** Whether a transaction has something to correct now. Pure. */
export function hasCorrections({ items }: JudgedDrift): boolean {
  return items.some(({ decision: { kind } }) => kind === "correct" || kind === "replace");
}

/**
 * No correction takes a control-plane host away that runs, or the last one there is: nobody has seen that in a
 * plan. Policy `replace` asks for it, and what is gone already takes nothing with it.
 */
function sparingMembers(
  item: DriftItem,
  decision: DriftDecision,
  policy: DriftPolicy,
  { members }: DriftReport,
): DriftDecision {
  if (item.machine?.controlPlane !== true || decision.kind !== "correct") return decision;
  const takesAway = decision.how === "replace" || decision.how === "remove";
  const isLost = item.class === "failed" || item.class === "leaving";
  const isSpare = isLost && members > 1;
  const mayGo = !takesAway || isSpare || policy === "replace";
  return mayGo ? decision : { kind: "report", because: { kind: "member" } };
}

function decide(
  item: Exclude<DriftItem, { class: "unhealthy" | "expiring" }>,
  policy: Exclude<DriftPolicy, "ignore">,
  updatePolicyOf: ReturnType<typeof policiesOf>,
): DriftDecision {
  if (item.external === true) return { kind: "report", because: { kind: "external" } };
  if (policy === "report") return { kind: "report", because: { kind: "policy" } };
  switch (item.class) {
    case "missing":
      return { kind: "correct", how: "create" };
    case "failed":
    case "leaving":
      return item.machine === undefined
        ? { kind: "report", because: { kind: "noRemedy" } }
        : { kind: "correct", how: "replace" };
    case "stopped":
      return { kind: "correct", how: "start" };
    case "changed":
      return decideChanged(item, policy, updatePolicyOf);
    case "extra":
      return item.origin === "orphaned"
        ? { kind: "correct", how: "remove" }
        : { kind: "report", because: { kind: "notOrphaned", origin: item.origin } };
    case "unknown":
      return { kind: "frozen" };
    default:
      return assertNever(item);
  }
}

function decideChanged(
  { machine, back, onNode }: Extract<DriftItem, { class: "changed" }>,
  policy: "correct" | "replace",
  updatePolicyOf: ReturnType<typeof policiesOf>,
): DriftDecision {
  const updatePolicy: UpdatePolicy =
    machine === undefined ? "preferInPlace" : updatePolicyOf(machine);
  const verdict = applyPolicy(updatePolicy, back);
  const mayReplace = onNode !== true && !changesNodeMarks(back);
  if (mayReplace && machine !== undefined && policy === "replace") {
    if (updatePolicy !== "inPlaceOnly") return { kind: "replace" };
    const reason =
      "update policy inPlaceOnly rules a new host out, which drift policy replace asks for";
    return { kind: "report", because: { kind: "unsupported", reason } };
  }
  switch (verdict.kind) {
    case "inPlace":
    case "same":
      return { kind: "correct", how: "update" };
    case "replace":
      return { kind: "correct", how: "replace" };
    case "unsupported":
      return { kind: "report", because: { kind: "unsupported", reason: verdict.reason } };
  }
}

interface BudgetTerms extends Pick<JudgedDrift, "report" | "budgets"> {
  readonly thawed: Thaw | undefined;
}

/**
 * Puts off what has no turn in the next transaction. Resources that machines share, and what is only removed, are no part of any
 * budget.
 */
function withinBudget(items: readonly JudgedItem[], about: BudgetTerms): JudgedItem[] {
  const allowed = roomFor(about.budgets, about.report);
  const goes = new Set(inTurn(items, allowed, about));
  return items.map((one) => {
    const of = machineGroupOf(one);
    if (of === undefined || goes.has(one)) return one;
    return { ...one, decision: { kind: "overBudget", of, allowed: allowed[of] } };
  });
}

/**
 * Whose turn it is. What somebody has confirmed is corrected at one go, and takes its room: that is what the cloud shows, and never
 * what clusters tell of themselves. A transaction that fails is taken back with everything in it, so who was tried in vain comes
 * when the others have had their turn, and alone.
 */
function inTurn(
  items: readonly JudgedItem[],
  allowed: Readonly<Record<BudgetGroup, number>>,
  { report, thawed }: BudgetTerms,
): readonly JudgedItem[] {
  const counted = items.filter((one) => machineGroupOf(one) !== undefined);
  const isConfirmed = ({ item }: JudgedItem) => thawed !== undefined && !isOfTime(item);
  const confirmed = counted.filter(isConfirmed);
  const roomLeft = (of: BudgetGroup | undefined) =>
    of === undefined
      ? 0
      : allowed[of] - confirmed.filter((one) => machineGroupOf(one) === of).length;
  const waiting = counted
    .filter((one) => !isConfirmed(one) && roomLeft(machineGroupOf(one)) > 0)
    .sort(byTurn(report));
  const [first] = waiting;
  if (first !== undefined && isTried(first)) return confirmed.length > 0 ? confirmed : [first];
  const fresh = waiting.filter((one) => !isTried(one));
  const turn = (["members", "workers"] as const).flatMap((of) =>
    fresh.filter((one) => machineGroupOf(one) === of).slice(0, roomLeft(of)),
  );
  return [...confirmed, ...turn];
}

/** A host that was to be replaced in vain waits where something else is asked for: that would be taken back with it. Pure. */
export function putOffIfTried(one: JudgedItem): JudgedItem {
  const of = machineGroupOf(one);
  if (of === undefined || !isTried(one)) return one;
  return { ...one, decision: { kind: "overBudget", of, allowed: 1 } };
}

/**
 * What runs no more, or not for long, comes before what is only different. Who was to be replaced in vain comes behind those that
 * run no more, least often tried first, and takes turns with those that are only different.
 */
function byTurn({ wasTakenBack }: DriftReport): (left: JudgedItem, right: JudgedItem) => number {
  const attempts = ({ item }: JudgedItem) => item.replacedInVain ?? 0;
  const rank = (one: JudgedItem) => {
    if (isTried(one)) return wasTakenBack === true ? 3 : 1;
    return one.item.class === "changed" ? 2 : 0;
  };
  return (left, right) => rank(left) - rank(right) || attempts(left) - attempts(right);
}

/** Whether hosts that were to take its place are not there. Pure. */
export function isTried({ item }: JudgedItem): boolean {
  return item.replacedInVain !== undefined;
}

function machineGroupOf({ item, decision }: JudgedItem): BudgetGroup | undefined {
  const { machine } = item;
  const isCorrected = decision.kind === "correct" || decision.kind === "replace";
  if (machine === undefined || item.class === "extra" || !isCorrected) return undefined;
  return machine.controlPlane ? "members" : "workers";
}

function freezeOf(cause: Freeze["cause"], sinceMs: number, { freeze }: DriftBudgets): Freeze {
  const isTimed = freeze.kind === "after" && cause.kind !== "unreadable";
  return omitUndefined({ cause, sinceMs, thawsAtMs: isTimed ? sinceMs + freeze.ms : undefined });
}

/** The same answer goes on from when it was first given; another one starts anew. */
function freezeSince({ fingerprint }: DriftReport, { memory, nowMs }: DriftRules): number {
  const { frozen } = memory;
  return frozen?.fingerprint === fingerprint ? frozen.sinceMs : nowMs;
}

function seenSince(
  { items }: DriftReport,
  { memory, nowMs }: DriftRules,
): Readonly<Record<string, number>> {
  return Object.fromEntries(
    items.map((item) => [memoryKey(item), memory.sinceMs[memoryKey(item)] ?? nowMs]),
  );
}

function memoryKey(item: DriftItem): string {
  return `${item.class} ${item.key}`;
}
