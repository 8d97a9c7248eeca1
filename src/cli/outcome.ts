import { once } from "node:events";
import { counted } from "../api/counted.js";
import type { CapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { type ApplyResult, newHostsText } from "../engine/operations/apply-result.js";
import { isOfStorage } from "../engine/run/failures.js";
import type { Inventory } from "../engine/run/inventory.js";
import type { StackEngine } from "../engine/pulumi/engine.js";
import { observe } from "../engine/run/observe.js";
import type { RunEvent } from "../engine/run/run-event.js";
import { callContext } from "../engine/run/handler-session.js";
import { withUnjoinedMembers } from "../engine/run/unjoined-members.js";
import { openWorkload } from "../kube/open-workload.js";
import { passedText, type WayBack, wayBackOf } from "../plan/undo/point-of-no-return.js";
import { goalText } from "../records/goal-text.js";
import type { Observation } from "../plan/observation.js";
import type { Plan } from "../plan/plan.js";
import { pointText } from "../plan/undo/undo-text.js";
import type { Clock, InfrastructureProvider } from "../provider/port.js";
import type { CommandContext } from "./context.js";
import { CommandFailure, exitCodes } from "./exit.js";
import { makeProgress, type ProgressDisplay, type Times } from "./progress.js";
import { RunCourse } from "./run-course.js";

/** The commands that a user may want next. */
export interface FollowUp {
  readonly look: string;
  readonly again: string;
  /** Absent where the words of `again` are all there is. */
  readonly takeBack?: string;
  readonly takeDown?: string;
}

/** A display that also learns from what the cloud shows how long things take. */
interface RunFollower extends ProgressDisplay {
  observed(observation: Observation): void;
}

/**
 * Shows how a run goes: as JSON lines, or in the way that suits the terminal. `timeoutMs`: how long
 * hosts may take.
 */
export function followRun(plan: Plan, context: CommandContext, timeoutMs: number): RunFollower {
  const { json, terminal, clock, stopwatch, emit } = context;
  let course = new RunCourse(plan, timeoutMs);
  const times: Times = {
    now: () => clock.now(),
    elapsedMs: () => stopwatch.elapsedMs(),
    estimate: () => course.estimate(clock.now()),
  };
  const displayOf = (one: Plan) =>
    json ? documentsOf(emit, times) : makeProgress(one, terminal, times);
  let display = displayOf(plan);
  return {
    on: (event) => {
      course.on(event, clock.now());
      display.on(event);
      if (!("plan" in event)) return;
      // From here on it is about what that plan does.
      display.end();
      course = course.toward(event.plan);
      display = displayOf(event.plan);
    },
    observed: (observation) => course.observed(observation),
    end: () => display.end(),
  };
}

function documentsOf(emit: CommandContext["emit"], times: Times): ProgressDisplay {
  return {
    on: (event) => {
      const estimate = times.estimate();
      const etaMs = estimate.kind === "about" ? estimate.leftMs : undefined;
      emit(omitUndefined({ ...runEventDocument(event), etaMs }));
    },
    end: () => {},
  };
}

/** What happened, for programs. Pure. */
export function runEventDocument(event: RunEvent) {
  if (event.kind === "resource") return { type: "event", event: "resource", ...event.event };
  const { kind, ...rest } = event;
  if (event.kind === "plannedAnew") {
    const { plan, reason } = event;
    return { type: "event", event: kind, transaction: plan.transaction.number, reason };
  }
  if (event.kind !== "rollingBack") return { type: "event", event: kind, ...rest };
  const { transaction, reason } = event;
  return { type: "event", event: kind, transaction, reason };
}

/** How a command that changes a cluster did not get to its end. */
export type Failed =
  | Exclude<ApplyResult, { kind: "done" }>
  /** A look failed, or somebody interrupted: the transaction stays open. */
  | { readonly kind: "open"; readonly failure: CapstanError };

/** How long somebody who has interrupted a command is kept waiting to hear about the way back. */
const lookMs = 2_000;

/** Whether what is open can be taken back, as far as cloud and records tell after a failure. Never throws. */
export async function wayBackNow(
  engine: StackEngine,
  provider: InfrastructureProvider,
  stack: string,
  clock: Clock,
): Promise<WayBack> {
  try {
    const state = await engine.readState(stack);
    const { transaction } = state;
    if (transaction === undefined) return { kind: "free" };
    const signal = AbortSignal.timeout(lookMs);
    const context = callContext(clock, signal);
    const scope = { cluster: transaction.target.cluster, clusterUid: transaction.clusterUid };
    const seen = await observe(provider, context, scope, state).catch(() => undefined);
    if (seen === undefined) return wayBackOf(provider, state);
    const asked = { provider, records: state, context, openWorkload };
    const observation = await Promise.race([
      withUnjoinedMembers(seen, asked).catch(() => seen),
      once(signal, "abort").then(() => seen),
    ]);
    return wayBackOf(provider, state, observation);
  } catch {
    // What cannot be read says nothing about the way back; the failure itself is what is told.
    return { kind: "free" };
  }
}

/** What a failed apply left behind, with the exit code that says so and what to do next. */
export function failureOf(
  result: Failed,
  plan: Plan,
  next: FollowUp,
  wayBack: WayBack = { kind: "free" },
): CommandFailure {
  const { failure } = result;
  const told = (exitCode: number, what: string, hint: string | undefined) => {
    const hints = [failure.hint, hint].filter((one) => one !== undefined);
    return new CommandFailure(
      exitCode,
      failure,
      omitUndefined({
        message: `${failure.message}\n${what}`,
        hint: hints.length > 0 ? hints.join("; ") : undefined,
      }),
    );
  };
  const { goal, number } = plan.transaction;
  const what = goal.kind === "up" ? "" : ` (${goalText(goal)})`;
  const recorded = isOfStorage(failure)
    ? "what exists and could not be recorded is found again in the cloud"
    : "what exists is recorded";
  const open = `Transaction ${number}${what} of ${plan.cluster} stays open; ${recorded}`;
  const choices = choicesText(plan, next, wayBack);
  // Whoever it is goes on with it: there is nothing to choose.
  if (failure.code === "LOCKED") return new CommandFailure(exitCodes.locked, failure);
  if (result.kind === "open") {
    const interrupted = failure.code === "CANCELLED";
    const left = goal.kind === "destroy" ? exitCodes.incomplete : exitCodes.piecesKept;
    return told(interrupted ? exitCodes.interrupted : left, open, choices);
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
      if (goal.kind === "destroy") {
        const left = `Destroyed incompletely: transaction ${number} of ${plan.cluster} stays open`;
        return told(exitCodes.incomplete, left, `${inTheWay}; ${choices}`);
      }
      return told(
        exitCodes.incomplete,
        `Rolled back incompletely: ${plan.cluster} is not yet as revision ${plan.fromRevision} left it${becauseOf(result.cause)}`,
        `${next.takeBack ?? next.again} tries again`,
      );
  }
}

/** A provider's refusal names what uses a resource. Capstan deletes all that the records name, and what only they use. */
const inTheWay =
  "delete in the cloud what the error names as in its way, such as the host of a machine that was forgotten";

function becauseOf(cause: CapstanError | undefined): string {
  return cause === undefined ? "" : `\nIt is rolled back because of: ${cause.message}`;
}

/** What a person may do about an open transaction. */
function choicesText(
  { fromRevision }: Plan,
  { again, takeBack, takeDown }: FollowUp,
  wayBack: WayBack,
): string {
  if (wayBack.kind === "closed") {
    return `go on with ${again}; there is no way back: ${wayBack.crossed.map(passedText).join(", ")}`;
  }
  const unless =
    wayBack.kind === "free" ? "" : ` unless ${wayBack.points.map(pointText).join(" or ")} already`;
  const choices = [
    `go on with ${again}`,
    ...(takeBack === undefined ? [] : [`take it back with ${takeBack}${unless}`]),
    ...(takeDown === undefined || fromRevision > 0
      ? []
      : [`take everything down with ${takeDown}`]),
  ];
  const last = choices.at(-1) ?? "";
  const others = choices.slice(0, -1);
  return others.length === 0 ? last : `${others.join(", ")}, or ${last}`;
}

function rolledBackText(
  result: Extract<Failed, { kind: "rolledBack" }>,
  { cluster, fromRevision }: Plan,
): string {
  if (result.to === "unrecorded") return `Rolled back: ${forgottenText(cluster, result.inventory)}`;
  const where =
    result.to === "nothing"
      ? `nothing of ${cluster} is left`
      : `${cluster} is as revision ${fromRevision} left it${newHostsText(result)}, recorded as revision ${result.number}`;
  return `Rolled back: ${where}; ${inventoryText(result.inventory)}`;
}

/** What an adoption that was taken back leaves. */
export function forgottenText(cluster: string, { alive }: Inventory): string {
  return `nothing of ${cluster} is recorded, and its ${counted(alive, "resource in the cloud is", "resources in the cloud are")} untouched`;
}

/** "5 resources recorded, 5 in the cloud, the same in existence and content in two looks 1.0 s apart". */
export function inventoryText({ recorded, alive, settledMs }: Inventory): string {
  return `${counted(recorded, "resource")} recorded, ${alive} in the cloud, the same in existence and content in two looks ${secondsText(settledMs)} apart`;
}

export function secondsText(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
