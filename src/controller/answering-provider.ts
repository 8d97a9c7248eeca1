import { CapstanError } from "../api/error.js";
import type { InfrastructureProvider } from "../provider/port.js";
import { aroundCalls, handlerCalls, type ProviderCall } from "../provider/provider-calls.js";

/** How long calls of a controller may take, milliseconds. */
interface AnswerLimits {
  /** A call about one resource: an engine is held while it lasts. */
  readonly resourceMs: number;
  /** A call about many: a listing of an account may have thousands of pages, and the cloud may ask to slow down. */
  readonly listingMs: number;
}

const defaultLimits: AnswerLimits = { resourceMs: 5 * 60_000, listingMs: 30 * 60_000 };

/**
 * The same provider, each of whose calls ends: a call without an answer is told to stop by its signal, and fails with NO_ANSWER whether it
 * stops or not. What such a call has done in the cloud is unknown, as after every lost answer.
 */
export function answeringProvider(
  provider: InfrastructureProvider,
  limits: AnswerLimits = defaultLimits,
): InfrastructureProvider {
  return aroundCalls(provider, async (call, make) => {
    const { context } = call;
    const ms = isAboutOne(call) ? limits.resourceMs : limits.listingMs;
    const stop = new AbortController();
    let timer: NodeJS.Timeout | undefined;
    const silence = new Promise<never>((_answer, reject) => {
      timer = setTimeout(() => {
        const error = unanswered(provider.name, call, ms);
        reject(error);
        stop.abort(error);
      }, ms);
      // Of itself no call keeps a process alive.
      timer.unref();
    });
    try {
      const signal = AbortSignal.any([context.signal, stop.signal]);
      return await Promise.race([silence, make({ ...context, signal })]);
    } finally {
      clearTimeout(timer);
    }
  });
}

function isAboutOne({ kind, name }: ProviderCall): boolean {
  return kind !== undefined && Object.hasOwn(handlerCalls, name) && name !== "locateMany";
}

function unanswered(provider: string, { name, kind }: ProviderCall, ms: number): CapstanError {
  const what = kind === undefined ? provider : `${provider}, ${kind}`;
  return new CapstanError({
    code: "NO_ANSWER",
    source: "cloud",
    message: `cannot ${name} in the cloud of ${what}: no answer within ${ms / 1_000} s`,
    hint: "look whether the cloud answers; the controller asks again by itself",
    retryable: true,
    ambiguous: true,
  });
}
