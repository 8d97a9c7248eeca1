import { ConformanceFailure } from "./subject.js";

/**
 * What the work answers, if it does within so long by the wall clock; otherwise a ConformanceFailure, and its signal
 * aborts. Nobody can end work that never gives way to timers.
 */
export async function within<T>(
  timeoutMs: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const seen = `after ${timeoutMs / 1000} s it has not, and the case was given up`;
      const failure = new ConformanceFailure(`a provider must answer each call at last: ${seen}`);
      over.abort(failure);
      reject(failure);
    }, timeoutMs);
  });
  try {
    return await Promise.race([work(over.signal), limit]);
  } finally {
    clearTimeout(timer);
    over.abort();
  }
}

/** What the work answers if it does within so long by the wall clock, otherwise undefined. The work goes on. */
export async function inTime<T>(limitMs: number, work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), limitMs);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}
