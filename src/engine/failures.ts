import { CapstanError, isCapstanError, messageOf } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { ResourceEvent } from "../dynamic/cloud-resource.js";
import type { NodeKey } from "../graph/graph.js";

// What a run can fail with, in words.

/** CLOUD_FAILED: the calls of a pass that failed, a line each, with what to do about them. */
export function callsFailed(cluster: string, events: readonly ResourceEvent[]): CapstanError {
  const hints = [...new Set(events.flatMap(({ hint }) => hint ?? []))];
  const lines = events.map(
    ({ operation, kind, name, message = "" }) => `cannot ${operation} ${kind} ${name}: ${message}`,
  );
  return new CapstanError(
    omitUndefined({
      code: "CLOUD_FAILED",
      source: "cloud",
      subject: cluster,
      message: lines.join("\n"),
      hint: hints.length > 0 ? hints.join("; ") : undefined,
    }),
  );
}

export function failedToStart(hosts: readonly NodeKey[]): CapstanError {
  return new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    message: `failed to start: ${hosts.join(", ")}`,
  });
}

/** Whether the state could not be written, for want of room or of leave: nothing that a rollback mends. */
export function isOfStorage({ code }: Pick<CapstanError, "code">): boolean {
  return code === "NO_SPACE" || code === "NOT_WRITABLE";
}

/** What a failure has left could not be read either: the second error, which tells of the first too. */
export function unreadableAfter(failure: CapstanError, second: unknown): Error {
  const message = `${messageOf(second)}\nIt was read after a failure: ${failure.message}`;
  if (!isCapstanError(second)) return new Error(message, { cause: second });
  return retold(second, message, failure);
}

/** What failed cannot be taken back: the failure, which tells why there is no way back too. */
export function withoutWayBack(failure: CapstanError, refusal: CapstanError): CapstanError {
  return retold(
    failure,
    `${failure.message}\nIt cannot be taken back: ${refusal.message}`,
    refusal,
  );
}

/** The same error with more to tell. */
function retold(error: CapstanError, message: string, cause: CapstanError): CapstanError {
  const { code, source, subject, hint, retryable } = error;
  return new CapstanError(
    omitUndefined({ code, source, message, retryable, cause, subject, hint }),
  );
}
