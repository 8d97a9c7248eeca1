import {
  ApiException,
  type ConfigurationOptions,
  Observable,
  type RequestContext,
  type ResponseContext,
} from "@kubernetes/client-node";
import { messageOf } from "../api/error.js";

/** A half-open connection answers never: no request waits longer. */
const answerTimeoutMs = 15_000;

/** A deadline for this one request, since the client has none of its own, and how its body is meant. */
export function within(contentType?: string): ConfigurationOptions {
  return until(AbortSignal.timeout(answerTimeoutMs), contentType);
}

/**
 * A request that ends when the signal aborts: the generated client has no parameter for it. A patch has
 * to say by its content type what it is.
 */
export function until(signal: AbortSignal, contentType = "application/json"): ConfigurationOptions {
  const pre = (request: RequestContext) => {
    request.setSignal(signal);
    request.setHeaderParam("Content-Type", contentType);
    return new Observable(Promise.resolve(request));
  };
  const post = (response: ResponseContext) => new Observable(Promise.resolve(response));
  return { middlewareMergeStrategy: "append", middleware: [{ pre, post }] };
}

/** A time as API servers want a MicroTime: with six digits, or they refuse it. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}

/** HTTP status of a refused request; 0 where no answer came. */
export function statusOf(error: unknown): number {
  return error instanceof ApiException ? error.code : 0;
}

/** Whether the same request may succeed later: no answer, too many requests, a fault of the server. */
export function mayPass(error: unknown): boolean {
  const status = statusOf(error);
  return status === 0 || status === 429 || status >= 500;
}

/** What an API server said to a request that it refused, or why it did not answer. */
export function saidBy(error: unknown): string {
  if (error instanceof ApiException) {
    return error.code === 401 ? "it does not know who asks" : messageIn(error.body, error.code);
  }
  if (error instanceof Error && error.name === "TimeoutError") {
    return `no answer within ${answerTimeoutMs / 1_000} s`;
  }
  // The words of fetch are the same for everything; the cause tells.
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && cause.message !== "" ? cause.message : messageOf(error);
}

/** An API server answers with a Status object, as text; what stands before it may answer with anything. */
function messageIn(body: unknown, code: number): string {
  try {
    const status: unknown = typeof body === "string" ? JSON.parse(body) : body;
    const { message } = status as { message?: unknown };
    return typeof message === "string" && message !== "" ? message : `HTTP ${code}`;
  } catch {
    return `HTTP ${code}`;
  }
}
