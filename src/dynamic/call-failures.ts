import { type ErrorCode, isCapstanError, messageOf } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { NeedRefused } from "./pending-needs.js";
import { UnfinishedResource } from "./protocol.js";

// What an error of a call says about the call.

/** Of an error that is not ours nobody knows what the call has done. */
export function kindOfFailure(error: unknown): {
  readonly code: ErrorCode;
  readonly retryable: boolean;
} {
  if (!isCapstanError(error)) return { code: "CLOUD_FAILED", retryable: true };
  return { code: error.code, retryable: error.retryable || error.ambiguous };
}

export function mayHaveHappened(error: unknown): boolean {
  return !isCapstanError(error) || error.ambiguous;
}

export function isRetryable(error: unknown): boolean {
  return isCapstanError(error) && error.retryable;
}

/** Of a call that done twice has the effect of once: it may go well later, or has gone well and its answer was lost. */
export function mayBeAskedAgain(error: unknown): boolean {
  return isCapstanError(error) && (error.retryable || error.ambiguous);
}

/** The cloud has made nothing, for want of room: something else may have some. */
export function isWithoutRoom(error: unknown): boolean {
  return isCapstanError(error) && error.code === "CAPACITY" && !error.ambiguous;
}

/** What is told of an operation that failed. */
export function failureOf(error: unknown) {
  const cause = error instanceof UnfinishedResource ? error.reason : error;
  const hint = isCapstanError(cause) ? cause.hint : undefined;
  const refused =
    cause instanceof NeedRefused ? { key: cause.key, failure: cause.failure } : undefined;
  return omitUndefined({ message: messageOf(error), ...kindOfFailure(cause), hint, refused });
}
