import { setTimeout as pause } from "node:timers/promises";
import { ServedTime } from "../support/served-time.js";

/** Each pause is longer than the last one, up to the longest, so that long waits cost few questions. */
const slowDown = 1.2;
const slowestPollMs = 100;

/**
 * Asks until the answer is something other than undefined or false, and returns that. Throws naming
 * what was waited for once the deadline has passed: so much time of the machine when nothing else runs there.
 */
export async function until<T>(
  what: string,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  deadlineMs = 120_000,
  pollMs = 20,
): Promise<T> {
  const time = new ServedTime();
  const slowestMs = Math.max(pollMs, slowestPollMs);
  let pauseMs = pollMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (time.elapsedMs() > deadlineMs)
      throw new Error(`waited ${deadlineMs / 1000} s in vain: ${what}`);
    await pause(pauseMs);
    pauseMs = Math.min(pauseMs * slowDown, slowestMs);
  }
}
