import { counted } from "../api/counted.js";
import { driftStatusOf } from "../controller/drift-status.js";
import type { ReconcileEvent, EventSink } from "../controller/reconcile-event.js";
import type { ApplyResult } from "../engine/operations/apply-result.js";
import { diagnosticText } from "../manifest/diagnostic.js";
import { planSummary } from "../plan/changes/tree.js";
import { conflictText, expiryText } from "../source/certificate-report.js";
import type { CommandContext, Voice } from "./context.js";
import { markedLines } from "./marked-lines.js";
import { planLine } from "./survey-cluster.js";
import { runEventDocument, secondsText } from "./outcome.js";
import { runEventLine } from "./progress.js";

type Teller = Pick<Voice, "json" | "terminal" | "suggest" | "emit"> & Pick<CommandContext, "clock">;

/**
 * Tells what happens to clusters: a line each, with its time, or a JSON line. What a cluster is refused
 * for is told once, until something else happens to it: it is looked at again every few minutes.
 */
export function watchLinesSink(context: Teller): EventSink {
  const refused = new Map<string, string>();
  return (key, event) => {
    const isRefusal = event.kind === "refused";
    if (isRefusal && refused.get(key) === event.error.message) return;
    if (isRefusal) refused.set(key, event.error.message);
    else refused.delete(key);
    if (context.json) {
      const document = eventDocument(key, event);
      if (document !== undefined) context.emit(document);
      return;
    }
    for (const text of eventTexts(event, context)) tellLines(context, text, `${key}: `);
  };
}

/** A text with the time of day, and whom it is about, on each of its lines. */
export function tellLines({ terminal, clock }: Teller, text: string, about = ""): void {
  const time = new Date(clock.now()).toISOString().slice(11, 19);
  terminal.write(markedLines(`${time}  ${about}`, text));
}

/** What happened, for people. Pure but for the words of commands. */
function eventTexts(event: ReconcileEvent, { suggest }: Pick<CommandContext, "suggest">): string[] {
  switch (event.kind) {
    case "planned":
      return [planSummary(event.plan)];
    case "run":
      return [runEventLine(event.event)].filter((line) => line !== undefined);
    case "ended":
      return [endedText(event)];
    case "broken off":
      return [`broken off: ${event.reason}`];
    case "drift":
      return (driftStatusOf(event.drift)?.items ?? []).map((item) => `drift: ${item}`);
    case "destroying":
      return [`destroying ${counted(event.resources, "resource")}`];
    case "destroyed":
      return [`destroyed: ${counted(event.deleted, "resource")} deleted`];
    case "refused":
    case "failed": {
      const { message, hint } = event.error;
      const next = hint === undefined ? [] : [`hint: ${suggest(hint)}`];
      return [`${event.kind}: ${message}`, ...next];
    }
    case "warned":
      return [diagnosticText(event.warning)];
    case "paused":
      return [`paused: ${event.reason}`];
    case "certificate expires":
      return [expiryText(event.expiry)];
    case "secret conflict":
      return [conflictText(event.secrets)];
    // What happened to its resource is told already.
    case "object failed":
    case "certificates":
    case "forgotten":
      return [];
  }
}

function endedText({ result, plan, tookMs }: Extract<ReconcileEvent, { kind: "ended" }>): string {
  if (result.kind !== "done") return failedText(result);
  const { transaction, target } = plan;
  return `done in ${secondsText(tookMs)}: revision ${transaction.number}, ${counted(target.machines.length, "machine runs", "machines run")}`;
}

function failedText(result: Exclude<ApplyResult, { kind: "done" }>): string {
  const { message } = result.failure;
  if (result.kind === "stopped") return `${result.result}: ${message}`;
  const where = result.to === "revision" ? `as revision ${result.number}` : "to nothing";
  return `rolled back ${where}: ${message}`;
}

/** The same for programs; undefined for what is not worth a line. Pure. */
function eventDocument(cluster: string, event: ReconcileEvent): object | undefined {
  switch (event.kind) {
    case "planned":
      return planLine(event.plan);
    case "run":
      return { ...runEventDocument(event.event), cluster };
    case "ended":
      return { type: "result", cluster, ...endedFacts(event) };
    case "drift": {
      const drift = driftStatusOf(event.drift);
      return drift === undefined ? undefined : { type: "drift", cluster, ...drift };
    }
    case "warned":
      return { type: "warning", cluster, diagnostics: [event.warning] };
    case "refused":
    case "failed": {
      const { code, message, source, hint, retryable } = event.error;
      return { type: "error", cluster, code, message, source, hint, retryable };
    }
    case "broken off":
    case "paused":
      return { type: "event", event: event.kind, cluster, reason: event.reason };
    case "certificate expires":
      return { type: "event", event: event.kind, cluster, ...event.expiry };
    case "secret conflict":
      return { type: "event", event: event.kind, cluster, secrets: event.secrets };
    case "object failed":
    case "certificates":
    case "forgotten":
      return undefined;
    case "destroying":
    case "destroyed": {
      const { kind, ...counts } = event;
      return { type: "event", event: kind, cluster, ...counts };
    }
  }
}

function endedFacts({ result, plan, tookMs }: Extract<ReconcileEvent, { kind: "ended" }>) {
  switch (result.kind) {
    case "done": {
      const { passes } = result;
      return { changed: true, revision: plan.transaction.number, passes, tookMs };
    }
    case "rolledBack": {
      const { number, to, inventory, failure } = result;
      const what = { outcome: result.kind, number, toNothing: to !== "revision", inventory };
      return { changed: false, ...what, message: failure.message, tookMs };
    }
    case "stopped": {
      const { result: outcome, failure } = result;
      return { changed: outcome !== "untouched", outcome, message: failure.message, tookMs };
    }
  }
}
