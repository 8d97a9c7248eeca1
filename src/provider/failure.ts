import { linesOf } from "../api/quoted.js";
import type { Failure, Observed } from "./port.js";

/** ": no capacity is left", for the end of a text about what failed; empty where the cloud does not say why. Pure. */
export function whyFailed({ failure }: { readonly failure?: Failure | undefined }): string {
  return failure === undefined ? "" : `: ${failureReason(failure)}`;
}

/** The cloud's words in one line. Pure. */
export function failureReason({ reason }: NonNullable<Observed["failure"]>): string {
  return linesOf(reason).join(" ");
}

/** Whether it is there and never will serve again: it failed, or the cloud is deleting it. Pure. */
export function isLost({ phase }: Pick<Observed, "phase">): boolean {
  return phase === "failed" || phase === "deleting";
}

/** Whether it stands and does not run: a start may be all that it lacks. Pure. */
export function standsStill({ phase }: Pick<Observed, "phase">): boolean {
  return phase === "failed" || phase === "stopped";
}

/** Whether it is there and serves nobody as it is: it is lost, or it is stopped. Pure. */
export function isDown({ phase }: Pick<Observed, "phase">): boolean {
  return phase === "stopped" || isLost({ phase });
}

/** Why a stopped resource is to be started, of `subject`: "its host is stopped: preempted". Pure. */
export function stoppedText(subject: string, stopped: Pick<Observed, "failure">): string {
  return `${subject} is stopped${whyFailed(stopped)}`;
}

/** Why a resource that is lost does not serve, of `subject`: "it failed in the cloud: no capacity is left". Pure. */
export function lossText(subject: string, lost: Pick<Observed, "phase" | "failure">): string {
  return lost.phase === "deleting"
    ? `the cloud is deleting ${subject}`
    : `${subject} failed in the cloud${whyFailed(lost)}`;
}

/** The failure of what is lost, in the form in which clouds tell theirs; undefined where the cloud does not say why. Pure. */
export function lossOf({
  phase,
  failure,
}: Pick<Observed, "phase" | "failure">): Failure | undefined {
  return phase === "deleting" ? { reason: "the cloud is deleting it" } : failure;
}
