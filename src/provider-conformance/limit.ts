import type { CallWatch } from "./call-watch.js";
import { ConformanceFailure } from "./subject.js";

// Limits count processor time, and the time in which this process was scheduled and no call ended. A loaded machine uses up neither.

const tickMs = 100;
/** A world may take long to plant a thousand resources, while no call of the provider is open. */
const harnessFactor = 10;

/**
 * The result of the work. A ConformanceFailure, and an abort of the signal, once an open call of the provider has not ended for
 * `timeoutMs`, or the work has taken `timeoutMs` of processor time. Work that never yields to timers cannot be ended.
 */
export async function within<T>(
  timeoutMs: number,
  watch: CallWatch,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const begin = process.cpuUsage();
  let ended = watch.ended;
  let idleMs = 0;
  let stop = () => {};
  const limit = new Promise<never>((_, reject) => {
    stop = eachTurn(Math.min(tickMs, timeoutMs / 4), (turnMs) => {
      idleMs = watch.ended === ended ? idleMs + turnMs : 0;
      ended = watch.ended;
      const { user, system } = process.cpuUsage(begin);
      const seen = overLimit(timeoutMs, watch.underWay(), {
        idleMs,
        busyMs: (user + system) / 1e3,
      });
      if (seen === undefined) return;
      stop();
      const failure = new ConformanceFailure(`${seen}, and the case was ended`);
      over.abort(failure);
      reject(failure);
    });
  });
  try {
    return await Promise.race([work(over.signal), limit]);
  } finally {
    stop();
    over.abort();
  }
}

/** Why a case ends without a result; undefined: it goes on. */
function overLimit(
  timeoutMs: number,
  underWay: readonly string[],
  { idleMs, busyMs }: { readonly idleMs: number; readonly busyMs: number },
): string | undefined {
  const must = "a provider must answer each call at last";
  const calls = underWay.length === 0 ? "" : ` (${underWay.join(", ")})`;
  if (busyMs > timeoutMs) {
    return `${must}: after ${timeoutMs / 1000} s of processor time it has not${calls}`;
  }
  if (underWay.length > 0 && idleMs >= timeoutMs) {
    return `${must}: after ${timeoutMs / 1000} s it has not${calls}`;
  }
  const harnessMs = timeoutMs * harnessFactor;
  return idleMs < harnessMs
    ? undefined
    : `the harness must come to an end: for ${harnessMs / 1000} s no call of the provider was under way`;
}

/** The result of the work, or undefined if this process was scheduled for `limitMs` before it came. The work goes on. */
export async function inTime<T>(limitMs: number, work: Promise<T>): Promise<T | undefined> {
  let leftMs = limitMs;
  let stop = () => {};
  const limit = new Promise<undefined>((resolve) => {
    stop = eachTurn(Math.min(tickMs, limitMs / 4), (turnMs) => {
      leftMs -= turnMs;
      if (leftMs <= 0) resolve(undefined);
    });
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    stop();
  }
}

/** Calls `turn` every so often with the time since the last call in which this process was scheduled. Returns a function that ends this. */
function eachTurn(everyMs: number, turn: (turnMs: number) => void): () => void {
  let lastMs = performance.now();
  const timer = setInterval(() => {
    const nowMs = performance.now();
    // A longer gap between two timers means that the process was not scheduled.
    const turnMs = Math.min(nowMs - lastMs, 2 * everyMs);
    lastMs = nowMs;
    turn(turnMs);
  }, everyMs);
  return () => clearInterval(timer);
}
