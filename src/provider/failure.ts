import { linesOf } from "../api/quoted.js";
import type { Observed } from "./port.js";

/** ": no capacity is left", for the end of a text about what failed; empty where the cloud does not say why. Pure. */
export function whyFailed({ failure }: Pick<Observed, "failure">): string {
  return failure === undefined ? "" : `: ${failureReason(failure)}`;
}

/** The cloud's words in one line. Pure. */
export function failureReason({ reason }: NonNullable<Observed["failure"]>): string {
  return linesOf(reason).join(" ");
}
