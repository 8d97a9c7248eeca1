import {
  type ConfigurationOptions,
  Observable,
  PatchStrategy,
  type RequestContext,
  type ResponseContext,
} from "@kubernetes/client-node";

/** A call that ends when the signal aborts: the generated client has no parameter for it. */
export function callUntil(signal: AbortSignal) {
  return changed((request) => request.setSignal(signal));
}

/** The same for a JSON merge patch: an API server refuses patches that do not say what they are. */
export function patchUntil(signal: AbortSignal) {
  return changed((request) => {
    request.setSignal(signal);
    request.setHeaderParam("Content-Type", PatchStrategy.MergePatch);
  });
}

function changed(change: (request: RequestContext) => void): ConfigurationOptions {
  const pre = (request: RequestContext) => {
    change(request);
    return new Observable(Promise.resolve(request));
  };
  const post = (response: ResponseContext) => new Observable(Promise.resolve(response));
  return { middlewareMergeStrategy: "append", middleware: [{ pre, post }] };
}

/** The HTTP status of what an API server answered; undefined when it was no answer of an API server. */
export function statusOf(error: unknown): number | undefined {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "number" ? code : undefined;
}

/** A time as API servers want a MicroTime: with six digits, or they refuse it. */
export function microTime(epochMs: number): string {
  return new Date(epochMs).toISOString().replace("Z", "000Z");
}
