import { counted, wordFor } from "../api/counted.js";
import { driftAnnotations } from "../api/drift-policy.js";
import { assertNever } from "../api/error.js";
import { failureReason } from "../provider/failure.js";
import { leavingText } from "../plan/decisions/verdicts.js";
import type { DriftItem, ExtraOrigin } from "./classify.js";
import { driftText } from "./fields.js";
import { ailmentText } from "./health.js";
import type { FreezeCause } from "./freeze.js";
import type { DriftDecision, ReportCause } from "./decision.js";
import type { JudgedDrift, JudgedItem } from "./judge.js";
import { expiringText } from "./renewal.js";

// Drift in words: for people, events and documents alike. Pure.

/** "Machine web-0", "LocalNetwork network". */
export function subjectText({ machine, kind, name }: DriftItem): string {
  return machine === undefined ? `${kind} ${name}` : `Machine ${machine.name}`;
}

/** Why it failed, and the fields that differ, recorded first; empty where there is nothing to tell. */
export function findingText(item: DriftItem): string {
  const fields = "fields" in item ? driftText(item.fields) : "";
  const reason = "failure" in item ? failureReason(item.failure) : "";
  const leaves = "leavesAtMs" in item ? leavingText("it", item.leavesAtMs) : "";
  const ailment = "ailment" in item ? ailmentText(item.ailment) : "";
  const expiry = "expiry" in item ? expiringText(item.expiry) : "";
  return [ailment, expiry, reason, leaves, fields].filter((text) => text !== "").join("; ");
}

/** What the watch loop would do about it, and why. */
export function decisionText({ item, decision }: JudgedItem): string {
  switch (decision.kind) {
    case "correct":
      return correctionText(item, decision);
    case "replace":
      return "a new host takes its place (policy replace)";
    case "report":
      return `only reported: ${causeText(decision.because)}`;
    case "ignore":
      return "ignored (policy ignore)";
    case "frozen":
      return "left alone: the cluster is frozen";
    case "overBudget":
      return turnText(item, decision);
    default:
      return assertNever(decision);
  }
}

function correctionText(
  item: DriftItem,
  { how }: Extract<DriftDecision, { kind: "correct" }>,
): string {
  switch (how) {
    case "create":
      return item.machine === undefined ? "it is made again" : "a new host takes its place";
    case "start":
      return "it is started";
    case "update":
      return `it is changed back in place${disruptionText(item)}`;
    case "replace": {
      const one = item.machine === undefined ? "a new one" : "a new host";
      const reason = "back" in item && item.back.kind === "replace" ? ` (${item.back.reason})` : "";
      return `${one} takes its place${reason}`;
    }
    case "remove":
      return "it is removed: an apply that broke off has left it";
  }
}

/** " (disruptive: the host is stopped and started)"; empty where nothing is disturbed. */
function disruptionText(item: DriftItem): string {
  if (!("back" in item) || item.back.kind !== "inPlace") return "";
  const told = [...new Set(Object.values(item.back.disruptions ?? {}))];
  return told.length === 0 ? "" : ` (disruptive: ${told.join(", ")})`;
}

const origins: Record<Exclude<ExtraOrigin, "orphaned">, string> = {
  duplicate: "it carries the identity of a recorded resource",
  newer: "it was made after what the state tells, which is an older one: bring the newest back",
  otherClusterUid: "it belongs to another life of the cluster",
};

function causeText(cause: ReportCause): string {
  switch (cause.kind) {
    case "policy":
      return "policy report";
    case "notOrphaned":
      return origins[cause.origin];
    case "unsupported":
      return cause.reason;
    case "member":
      return "a control-plane host goes only when somebody asks for it: capstan up shows the plan";
    case "external":
      return "it is not ours; capstan up --refresh-lookups goes by what it is now";
    case "check":
      return `MachineHealthCheck ${cause.check} acts on fewer or more than ${cause.unhealthy} unhealthy of ${counted(cause.machines, "machine")}`;
    case "tooManyUnhealthy":
      return `${unhealthyText(cause)}; ${driftAnnotations.maxUnhealthy} says how many`;
    case "quorum":
      return `${cause.healthy} of ${counted(cause.members, "control-plane member")} ${wordFor(cause.healthy, "is", "are")} healthy, too few to do without it`;
    case "noRemedy":
      return "it failed, and nothing else can take its place";
  }
}

function turnText(
  { replacedInVain }: DriftItem,
  { of, allowed }: Extract<DriftDecision, { kind: "overBudget" }>,
): string {
  if (allowed === 0) return `left alone: ${driftAnnotations.maxInFlight} allows none`;
  if (replacedInVain !== undefined) {
    return `later, and alone: ${counted(replacedInVain, "host")} did not take its place`;
  }
  const who = of === "members" ? "control-plane machine" : wordFor(allowed, "worker");
  return `later: ${allowed} ${who} at a time`;
}

/** Why an answer of the cloud is not believed. */
export function freezeText(cause: FreezeCause): string {
  switch (cause.kind) {
    case "unreadable":
      return `the cloud could not be read: ${cause.reason}`;
    case "allGone":
      return `all ${counted(cause.resources, "resource is", "resources are")} gone at once`;
    case "noneListed":
      return `the listing shows none of ${counted(cause.resources, "resource")}, and yet some of them exist`;
    case "tooManyUnhealthy":
      return unhealthyText(cause, "gone or failed");
  }
}

function unhealthyText(
  { unhealthy, machines, allowed }: Extract<FreezeCause, { kind: "tooManyUnhealthy" }>,
  how = "unhealthy",
): string {
  return `${unhealthy} of ${counted(machines, "machine")} ${wordFor(unhealthy, "is", "are")} ${how}, and ${allowed} may be`;
}

/** What ends a freeze; nothing for what is not frozen. `timeOf` writes a time. */
export function thawText(
  { freeze, report }: JudgedDrift,
  timeOf: (ms: number) => string,
): string[] {
  if (freeze === undefined) return [];
  if (freeze.cause.kind === "unreadable") return ["it ends when the cloud can be read again"];
  const later =
    freeze.thawsAtMs === undefined ? "" : `, or if it is the same at ${timeOf(freeze.thawsAtMs)}`;
  return [
    `it ends with another answer${later}; if this one is true, annotate the Cluster: ${driftAnnotations.thaw}: ${report.fingerprint}`,
  ];
}

/** "2 missing, 1 changed"; empty for nothing. */
export function countsOfDrift({ items }: Pick<JudgedDrift, "items">): string {
  return tallied(items.map(({ item }) => item.class));
}

const outcomes: Record<DriftDecision["kind"], string> = {
  correct: "to be corrected",
  replace: "to be corrected",
  report: "only reported",
  ignore: "ignored",
  frozen: "frozen",
  overBudget: "later",
};

/** "1 to be corrected, 2 later". */
export function outcomesOfDrift({ items }: Pick<JudgedDrift, "items">): string {
  return tallied(items.map(({ decision }) => outcomes[decision.kind]));
}

/** In the order in which they come first. */
function tallied(words: readonly string[]): string {
  return [...new Set(words)]
    .map((word) => `${words.filter((one) => one === word).length} ${word}`)
    .join(", ");
}
