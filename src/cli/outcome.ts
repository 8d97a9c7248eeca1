import type { CapstanError } from "../api/error.js";
import type { ApplyResult } from "../engine/apply.js";
import { isOfStorage } from "../engine/failures.js";
import type { Inventory } from "../engine/inventory.js";
import type { RunEvent } from "../engine/run.js";
import type { Plan } from "../plan/plan.js";
import type { CommandContext } from "./context.js";
import { CommandFailure, exitCodes } from "./exit.js";
import { makeProgress, type Progress } from "./progress.js";

/** The commands that a user may want next. */
export interface FollowUp {
  readonly look: string;
  readonly again: string;
  readonly takeBack: string;
  readonly takeDown: string;
}

/** Shows how a run goes: as JSON lines, or in the way that suits the terminal. */
export function followRun(plan: Plan, context: CommandContext): Progress {
  const { json, terminal, clock, emit } = context;
  if (json) return { on: (event) => emit(runEventDocument(event)), end: () => {} };
  let progress = makeProgress(plan, terminal, clock);
  return {
    on: (event) => {
      progress.on(event);
      if (event.kind !== "rollingBack") return;
      // From here on it is about what the rollback does.
      progress.end();
      progress = makeProgress(event.plan, terminal, clock);
    },
    end: () => progress.end(),
  };
}

/** What happened, for programs. Pure. */
export function runEventDocument(event: RunEvent) {
  if (event.kind === "resource") return { type: "event", event: "resource", ...event.event };
  const { kind, ...rest } = event;
  if (event.kind !== "rollingBack") return { type: "event", event: kind, ...rest };
  const { transaction, reason } = event;
  return { type: "event", event: kind, transaction, reason };
}

type Failed =
  | Exclude<ApplyResult, { kind: "done" }>
  /** A look failed, or somebody interrupted: the transaction stays open. */
  | { readonly kind: "open"; readonly failure: CapstanError };

/** What a failed apply left behind, with the exit code that says so and what to do next. */
export function failureOf(result: Failed, plan: Plan, next: FollowUp): CommandFailure {
  const { failure } = result;
  const told = (exitCode: number, what: string, hint: string | undefined) => {
    const hints = [failure.hint, hint].filter((one) => one !== undefined);
    return new CommandFailure(exitCode, failure, {
      message: `${failure.message}\n${what}`,
      ...(hints.length > 0 && { hint: hints.join("; ") }),
    });
  };
  const recorded = isOfStorage(failure)
    ? "what exists and could not be recorded is found again in the cloud"
    : "what exists is recorded";
  const open = `Transaction ${plan.transaction.number} of ${plan.cluster} stays open; ${recorded}`;
  const choices =
    plan.fromRevision === 0
      ? `go on with ${next.again}, take it back with ${next.takeBack}, or take everything down with ${next.takeDown}`
      : `go on with ${next.again}, or take it back with ${next.takeBack}`;
  // Whoever it is goes on with it: there is nothing to choose.
  if (failure.code === "LOCKED") return new CommandFailure(exitCodes.locked, failure);
  if (result.kind === "open") {
    const interrupted = failure.code === "CANCELLED";
    return told(interrupted ? exitCodes.interrupted : exitCodes.piecesKept, open, choices);
  }
  if (result.kind === "rolledBack") {
    return told(exitCodes.failed, rolledBackText(result, plan), undefined);
  }
  switch (result.result) {
    case "untouched":
      return told(exitCodes.failed, "Nothing was changed", undefined);
    case "kept":
      return told(exitCodes.piecesKept, open, choices);
    case "forwardOnly":
      return told(
        exitCodes.piecesKept,
        `${open}. It is past its point of no return, so there is only forward`,
        `mend the cause, in the manifests or in the cloud, and go on with ${next.again}`,
      );
    case "owing":
      return told(
        exitCodes.incomplete,
        `Revision ${plan.transaction.number} of ${plan.cluster} is committed, but not all that it supersedes is deleted`,
        `${next.again} finishes it`,
      );
    case "incomplete":
      return told(
        exitCodes.incomplete,
        `Rolled back incompletely: ${plan.cluster} is not yet as revision ${plan.fromRevision} left it${becauseOf(result.cause)}`,
        `${next.takeBack} tries again`,
      );
  }
}

function becauseOf(cause: CapstanError | undefined): string {
  return cause === undefined ? "" : `\nIt is rolled back because of: ${cause.message}`;
}

function rolledBackText(
  { toNothing, inventory, number }: Extract<Failed, { kind: "rolledBack" }>,
  { cluster, fromRevision }: Plan,
): string {
  const where = toNothing
    ? `nothing of ${cluster} is left`
    : `${cluster} is as revision ${fromRevision} left it, recorded as revision ${number}`;
  return `Rolled back: ${where}; ${inventoryText(inventory)}`;
}

/** "5 resources recorded, 5 in the cloud, the same in existence and content in two looks 1.0 s apart". */
export function inventoryText({ recorded, alive, settledMs }: Inventory): string {
  return `${recorded} resources recorded, ${alive} in the cloud, the same in existence and content in two looks ${secondsText(settledMs)} apart`;
}

export function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
