import { driftCounts } from "../drift/classify.js";
import { hasCorrections, hasDrift, type JudgedDrift } from "../drift/judge.js";
import type { ApplyResult } from "../engine/apply.js";
import type { RunEvent } from "../engine/run.js";
import type { Plan } from "../plan/plan.js";
import type { LogDetail, LogLevel } from "./log.js";
import type { Happening } from "./witness.js";

/** What is said about something that happened: to people at the cluster's objects, and in logs. */
export interface Told {
  readonly level: LogLevel;
  readonly message: string;
  readonly detail: LogDetail;
  /** Also an Event of the Cluster, when people are to see it there. */
  readonly event?: {
    readonly type: "Normal" | "Warning";
    /** One word in CamelCase. */
    readonly reason: string;
    readonly action: string;
  };
}

/** Words for what happened; undefined for what is too small to be told. Pure. */
export function toldOf(happening: Happening): Told | undefined {
  switch (happening.kind) {
    case "planned":
      return plannedTold(happening.plan);
    case "run":
      return runTold(happening.event, happening.plan);
    case "ended":
      return endedTold(happening.result, happening.plan, happening.tookMs);
    case "broken off":
      return told("info", happening.reason, idsOf(happening.plan));
    case "drift":
      return driftTold(happening.drift);
    case "destroying":
      return normal(`deletes ${happening.resources} resources`, "Destroying", "Destroy");
    case "destroyed":
      return normal(`${happening.deleted} resources deleted, none left`, "Destroyed", "Destroy");
    case "forgotten":
      return told("debug", "no object speaks of it any more", {});
    case "paused":
      return told("info", "paused; nothing is changed", {});
    case "refused":
      return warning(happening.error.message, "Refused", "Wait", { code: happening.error.code });
    case "failed":
      return warning(happening.error.message, "Failed", "Retry", { code: happening.error.code });
  }
}

function idsOf({ transaction, stack }: Plan): LogDetail {
  return { transaction: transaction.number, stack };
}

function plannedTold(plan: Plan): Told {
  const { create, update, delete: deleted } = plan.transaction.summary;
  const what = `${create} to create, ${update} to update, ${deleted} to delete`;
  return normal(
    `transaction ${plan.transaction.number}: ${what}`,
    "Planned",
    plan.resumes ? "Resume" : "Apply",
    idsOf(plan),
  );
}

function runTold(event: RunEvent, plan: Plan): Told | undefined {
  const ids = idsOf(plan);
  switch (event.kind) {
    case "pass":
      return normal(
        `wave ${event.number}, ${event.keys.length} resources: ${event.reason}`,
        "Wave",
        "Apply",
        { ...ids, pass: event.number },
      );
    case "rollingBack":
      return warning(
        `transaction ${event.transaction} is taken back: ${event.reason}`,
        "RollingBack",
        "RollBack",
        ids,
      );
    case "recovering":
      return normal(event.reason, "Recovering", "Recover", ids);
    case "committed":
      return told("info", `revision ${event.revision} is committed`, {
        ...ids,
        revision: event.revision,
      });
    case "resource": {
      const { kind, name, operation, state, message } = event.event;
      if (state === "failed") {
        const why = message === undefined ? "" : `: ${message}`;
        return told("warn", `${operation} of ${kind} ${name} failed${why}`, ids);
      }
      if (state === "waiting") {
        return told("info", `${operation} of ${kind} ${name} waits: ${message ?? ""}`, ids);
      }
      return told("debug", `${operation} of ${kind} ${name}: ${state}`, ids);
    }
    case "waiting":
      return told("debug", `waits for ${event.keys.length}: ${event.reason}`, ids);
    case "ready":
      return told("debug", `${event.key} runs`, ids);
    case "proving":
      return told("debug", `${event.key} has to run for ${event.minReadyMs / 1_000} s`, ids);
  }
}

function endedTold(result: ApplyResult, plan: Plan, tookMs: number): Told {
  const ids = { ...idsOf(plan), seconds: Math.round(tookMs / 100) / 10 };
  switch (result.kind) {
    case "done":
      return normal(
        `revision ${plan.transaction.number}: ${plan.target.machines.length} machines run`,
        "Committed",
        "Apply",
        { ...ids, revision: plan.transaction.number },
      );
    case "rolledBack":
      return warning(
        `taken back${result.to === "revision" ? `, recorded as revision ${result.number}` : " to nothing"}: ${result.failure.message}`,
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

/** The whole picture is in the Cluster's status; here is how much, and what first. */
function driftTold(drift: JudgedDrift): Told {
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

function told(level: LogLevel, message: string, detail: LogDetail): Told {
  return { level, message, detail };
}

function normal(message: string, reason: string, action: string, detail: LogDetail = {}): Told {
  return { level: "info", message, detail, event: { type: "Normal", reason, action } };
}

function warning(message: string, reason: string, action: string, detail: LogDetail = {}): Told {
  return { level: "warn", message, detail, event: { type: "Warning", reason, action } };
}
