/** No timer of Node.js is longer. Milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

/**
 * What the work gives, in a process that does not end before it: Node.js ends one whose last socket is closed and that only waits for
 * a deadline of AbortSignal.timeout, which keeps nothing alive. Throws what the work throws.
 * Source: https://nodejs.org/api/globals.html#static-method-abortsignaltimeoutdelay
 */
export async function keptAlive<T>(work: () => Promise<T>): Promise<T> {
  const keeper = setInterval(() => undefined, longestTimerMs);
  try {
    return await work();
  } finally {
    clearInterval(keeper);
  }
}
