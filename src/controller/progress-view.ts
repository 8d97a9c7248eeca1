import { omitUndefined } from "../api/omit-undefined.js";
import type { RunEvent } from "../engine/run/run-event.js";
import type { ClusterView, Progress } from "../source/cluster-view.js";
import type { Plan } from "../plan/plan.js";
import type { ClusterPhase } from "../api/status.js";

/** What a plan is about to do, before its first wave. Pure. */
export function firstProgress(plan: Plan): Progress {
  const { number, direction, startedAtMs, deadlineAtMs } = plan.transaction;
  const [first] = plan.waves;
  return {
    phase: "Beginning",
    transaction: number,
    direction,
    wave: 0,
    waves: plan.waves.length,
    keys: first?.keys ?? [],
    reason: first?.reason ?? "only what is recorded changes",
    startedAtMs,
    deadlineAtMs,
  };
}

/** What is done after something happened. Pure. */
export function progressAfter(event: RunEvent, { leaving, ...before }: Progress): Progress {
  switch (event.kind) {
    case "pass":
      return {
        ...before,
        phase: "Changing",
        wave: event.number,
        keys: event.keys,
        reason: event.reason,
        waves: Math.max(before.waves, event.number),
      };
    case "waiting":
      return omitUndefined({
        ...before,
        phase: "Waiting",
        keys: event.keys,
        reason: event.reason,
        leaving: event.leaving,
      });
    case "ready":
      return { ...before, keys: before.keys.filter((key) => key !== event.key) };
    case "proving": {
      const reason = `what is ready has to stay so for ${event.minReadyMs / 1000} s (minReadySeconds)`;
      return { ...before, phase: "Waiting", reason };
    }
    case "recovering":
      return { ...before, phase: "Recovering", reason: event.reason };
    case "plannedAnew":
      return { ...firstProgress(event.plan), reason: event.reason };
    case "rollingBack":
      return { ...firstProgress(event.plan), phase: "RollingBack", reason: event.reason };
    case "committed":
      return { ...before, phase: "Committing", keys: [], reason: "what is superseded is deleted" };
    case "refreshing":
    case "configured":
    case "unconfigured":
    case "leftover":
    case "resource":
      return omitUndefined({ ...before, leaving });
  }
}

/** The word for a cluster that a plan changes. Pure. */
export function phaseDuring(
  progress: Progress,
  view: Pick<ClusterView, "records">,
  isDrift: boolean,
): ClusterPhase {
  if (progress.direction === "back") return "RollingBack";
  if (view.records.revision === undefined) return "Provisioning";
  return isDrift ? "Correcting" : "Updating";
}
