import { digestOf } from "../../api/digest.js";
import { CapstanError } from "../../api/error.js";
import type { RemainingPlan } from "../../plan/plan.js";
import type { PriorState } from "../../records/prior-state.js";
import type { Action } from "../../transaction/lifecycle.js";
import type { RunEvent } from "./run-event.js";

/** What deals with what somebody dead has left, before any pass. */
export type Recovery = Extract<
  Action,
  { kind: "settle" | "refresh" | "forget" | "remove" | "resolve" }
>;

/**
 * Holds that recovery gets somewhere. Decisions are made from the present alone, so that one which changed
 * nothing would be made for ever.
 */
export class RecoveryProgress {
  private readonly decided = new Map<string, number>();

  /**
   * What to do about a recovery that was decided from this state and plan. "act" the first time; "wait"
   * the second, as listings may not show yet what the first has done; then throws BAD_STATE.
   */
  next(
    recovery: Recovery,
    { resources, pending }: PriorState,
    plan: RemainingPlan,
  ): "act" | "wait" {
    const { stack, steps, stale, orphaned } = plan;
    const decision = digestOf([recovery, resources, pending, steps, stale, orphaned], 32);
    const times = (this.decided.get(decision) ?? 0) + 1;
    this.decided.set(decision, times);
    if (times === 1) return "act";
    if (times === 2) return "wait";
    throw new CapstanError({
      code: "BAD_STATE",
      source: "engine",
      subject: stack,
      message: `cannot recover ${stack}: ${recovery.kind} (${recovery.reason}) has changed nothing${aboutOf(recovery)}`,
      hint: `pulumi stack export --stack ${stack} shows what is recorded and pending`,
    });
  }

  /** What failed may be tried again. */
  forget(): void {
    this.decided.clear();
  }
}

/** What a run tells of a recovery that is carried out. A run that reads its own changes again recovers nothing. Pure. */
export function recoveryEvent(recovery: Recovery): RunEvent {
  if (recovery.kind === "refresh" && recovery.isOwn) {
    return { kind: "refreshing", keys: recovery.keys };
  }
  const about = "keys" in recovery ? `${recovery.keys.join(", ")}: ` : "";
  return { kind: "recovering", reason: `${about}${recovery.reason}` };
}

function aboutOf(recovery: Recovery): string {
  const about =
    "keys" in recovery
      ? recovery.keys
      : "resources" in recovery
        ? recovery.resources.map(({ id }) => id)
        : [];
  return about.length === 0 ? "" : `: ${about.join(", ")}`;
}
