import { type ApplyResult, newHostsText } from "../engine/operations/apply-result.js";

/** Why a transaction did not lead to its goal, and what became of it. Pure. */
export function heldText(result: Exclude<ApplyResult, { kind: "done" }>): string {
  const { failure } = result;
  switch (result.kind) {
    case "rolledBack":
      return `taken back as revision ${result.number}${newHostsText(result)}: ${failure.message}`;
    case "stopped":
      return `${stoppedText[result.result]}: ${failure.message}`;
  }
}

/** Whether the last revision can be kept to meanwhile: not beyond a point of no return. */
export function isTakenBack(result: Exclude<ApplyResult, { kind: "done" }>): boolean {
  return result.kind === "rolledBack" || !["forwardOnly", "kept"].includes(result.result);
}

const stoppedText = {
  untouched: "nothing was changed",
  kept: "what exists is kept",
  forwardOnly: "past its point of no return, so there is only forward",
  owing: "committed, but not all that it supersedes is deleted",
  incomplete: "rolled back incompletely",
} as const;
