import { counted } from "../api/counted.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { quoted } from "../api/quoted.js";
import { driftCounts } from "../drift/classify.js";
import { hasCorrections, hasDrift, type JudgedDrift } from "../drift/judge.js";
import { type ApplyResult, newHostsText } from "../engine/operations/apply-result.js";
import type { RunEvent } from "../engine/run/run-event.js";
import type { ObjectName } from "../kube/live-object.js";
import { type Diagnostic, diagnosisText } from "../manifest/diagnostic.js";
import { objectOf } from "../manifest/object-parts.js";
import type { Plan } from "../plan/plan.js";
import { leftoverName } from "../provider/leftovers.js";
import { type CertificateExpiry, conflictText, expiryText } from "../source/certificate-report.js";
import type { ObjectFailure } from "../source/cluster-view.js";
import type { LogDetail, LogLevel } from "./log.js";
import type { ReconcileEvent } from "./reconcile-event.js";

/** What is said about something that happened: to people at the cluster's objects, and in logs. */
interface EventText {
  readonly level: LogLevel;
  readonly message: string;
  readonly detail: LogDetail;
  /** Also an Event of the Cluster, when people are to see it there. */
  readonly event?: {
    readonly type: "Normal" | "Warning";
    /** One word in CamelCase. */
    readonly reason: string;
    readonly action: string;
    /** Which of the cluster's objects it is about; absent: the Cluster itself. */
    readonly about?: ObjectName;
  };
}

/** Words for what happened; undefined for what is too small to be told. Pure. */
export function eventTextOf(event: ReconcileEvent): EventText | undefined {
  switch (event.kind) {
    case "planned":
      return plannedText(event.plan);
    case "run":
      return runText(event.event, event.plan);
    case "ended":
      return endedText(event.result, event.plan, event.tookMs);
    case "broken off":
      return eventText("info", event.reason, idsOf(event.plan));
    case "drift":
      return driftText(event.drift);
    case "destroying":
      return normal(`deletes ${counted(event.resources, "resource")}`, "Destroying", "Destroy");
    case "destroyed":
      return normal(
        `${counted(event.deleted, "resource")} deleted, none left`,
        "Destroyed",
        "Destroy",
      );
    case "forgotten":
      return eventText("debug", "no object speaks of it any more", {});
    case "paused":
      return eventText("info", "paused; nothing is changed", {});
    case "object failed":
      return objectText(event.failure);
    case "certificates":
      return undefined;
    case "certificate expires":
      return expiryEvent(event.expiry);
    case "secret conflict":
      return warning(conflictText(event.secrets), "SecretConflict", "Keep");
    case "warned":
      return warnedText(event.warning);
    case "refused":
      return warning(event.error.message, "Refused", "Wait", { code: event.error.code });
    case "failed":
      return warning(event.error.message, "Failed", "Retry", { code: event.error.code });
  }
}

function expiryEvent(expiry: CertificateExpiry): EventText {
  const reason = expiry.withinDays === 0 ? "CertificateExpired" : "CertificateExpires";
  return warning(expiryText(expiry), reason, "Renew");
}

/** Logs tell of it by what happened to its resource. */
function objectText({ kind, name, reason, operation, message }: ObjectFailure): EventText {
  const action = operation ?? "Wait";
  const event = { type: "Warning", reason, action, about: { kind, name } } as const;
  return { level: "debug", message, detail: { object: `${kind} ${name}` }, event };
}

/** The reason is the code of the warning as Kubernetes writes one: NoEffect. */
function warnedText(diagnostic: Diagnostic): EventText {
  const { code, subject } = diagnostic;
  const message = diagnosisText(diagnostic);
  const words = code.toLowerCase().split("_");
  const reason = words.map((word) => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`).join("");
  return {
    level: "warn",
    message,
    detail: { object: subject, code },
    event: omitUndefined({
      type: "Warning",
      reason,
      action: "Read",
      about: objectOf(diagnostic),
    }),
  };
}

function idsOf({ transaction, stack }: Plan): LogDetail {
  return { transaction: transaction.number, stack };
}

function plannedText(plan: Plan): EventText {
  const { create, update, delete: deleted } = plan.transaction.summary;
  const what = `${create} to create, ${update} to update, ${deleted} to delete`;
  return normal(
    `transaction ${plan.transaction.number}: ${what}`,
    "Planned",
    plan.open !== undefined ? "Resume" : "Apply",
    idsOf(plan),
  );
}

function runText(event: RunEvent, plan: Plan): EventText | undefined {
  const ids = idsOf(plan);
  switch (event.kind) {
    case "pass":
      return normal(
        `wave ${event.number}, ${counted(event.keys.length, "resource")}: ${event.reason}`,
        "Wave",
        "Apply",
        { ...ids, pass: event.number },
      );
    case "plannedAnew":
      return normal(`planned anew: ${event.reason}`, "PlannedAnew", "Resume", ids);
    case "rollingBack":
      return warning(
        `transaction ${event.transaction} is taken back: ${event.reason}`,
        "RollingBack",
        "RollBack",
        ids,
      );
    case "leftover":
      return normal(`${leftoverName(event.leftover)} deleted`, "LeftoverDeleted", "Destroy", ids);
    case "recovering":
      return normal(event.reason, "Recovering", "Recover", ids);
    case "committed":
      return eventText("info", `revision ${event.revision} is committed`, {
        ...ids,
        revision: event.revision,
      });
    case "resource": {
      const { kind, name, operation, state, message } = event.event;
      if (state === "failed") {
        const why = message === undefined ? "" : `: ${quoted(message)}`;
        return eventText("warn", `${operation} of ${kind} ${name} failed${why}`, ids);
      }
      if (state === "waiting") {
        return eventText(
          "info",
          `${operation} of ${kind} ${name} waits: ${quoted(message ?? "")}`,
          ids,
        );
      }
      return eventText("debug", `${operation} of ${kind} ${name}: ${state}`, ids);
    }
    case "configured":
      return eventText("info", event.what, ids);
    case "unconfigured":
      return eventText("warn", quoted(event.reason), ids);
    case "refreshing":
      return eventText("debug", `reads ${event.keys.join(", ")} again`, ids);
    case "waiting":
      return eventText("debug", `waits for ${event.keys.length}: ${event.reason}`, ids);
    case "ready":
      return eventText("debug", `${event.key} runs`, ids);
    case "proving":
      return eventText("debug", `${event.key} has to run for ${event.minReadyMs / 1_000} s`, ids);
  }
}

function endedText(result: ApplyResult, plan: Plan, tookMs: number): EventText {
  const ids = { ...idsOf(plan), seconds: Math.round(tookMs / 100) / 10 };
  switch (result.kind) {
    case "done":
      return normal(
        `revision ${plan.transaction.number}: ${counted(plan.target.machines.length, "machine runs", "machines run")}`,
        "Committed",
        "Apply",
        { ...ids, revision: plan.transaction.number },
      );
    case "rolledBack":
      return warning(
        `taken back${result.to === "revision" ? `, recorded as revision ${result.number}` : " to nothing"}${newHostsText(result)}: ${result.failure.message}`,
        "RolledBack",
        "RollBack",
        { ...ids, revision: result.number },
      );
    case "stopped":
      return warning(
        `${result.result}: ${result.failure.message}`,
        result.result === "incomplete" ? "RollbackIncomplete" : "Stopped",
        "Retry",
        ids,
      );
  }
}

/** The whole of it is in the Cluster's status; here is how much, and what first. */
function driftText(drift: JudgedDrift): EventText {
  if (!hasDrift(drift)) return normal("cloud and records agree again", "DriftGone", "None");
  const counts = Object.entries(driftCounts(drift.report)).filter(([, count]) => count > 0);
  const what = counts.map(([name, count]) => `${count} ${name}`).join(", ");
  const [first] = drift.items;
  const example = first === undefined ? "" : `, e.g. ${first.item.key}`;
  if (drift.freeze !== undefined) {
    return warning(`${what}${example}: not believed, nothing is touched`, "DriftFrozen", "Freeze");
  }
  const action = hasCorrections(drift) ? "Correct" : "Report";
  return warning(`${what}${example}`, "DriftFound", action);
}

function eventText(level: LogLevel, message: string, detail: LogDetail): EventText {
  return { level, message, detail };
}

function normal(
  message: string,
  reason: string,
  action: string,
  detail: LogDetail = {},
): EventText {
  return { level: "info", message, detail, event: { type: "Normal", reason, action } };
}

function warning(
  message: string,
  reason: string,
  action: string,
  detail: LogDetail = {},
): EventText {
  return { level: "warn", message, detail, event: { type: "Warning", reason, action } };
}
