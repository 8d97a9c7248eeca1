import { setTimeout as pause } from "node:timers/promises";

/**
 * Asks until the answer is something other than undefined or false, and returns that. Throws naming
 * what was waited for once the deadline has passed.
 */
export async function until<T>(
  what: string,
  ask: () => T | undefined | false | Promise<T | undefined | false>,
  deadlineMs = 120_000,
  pollMs = 20,
): Promise<T> {
  const giveUpAt = Date.now() + deadlineMs;
  for (;;) {
    const answer = await ask();
    if (answer !== undefined && answer !== false) return answer;
    if (Date.now() > giveUpAt) throw new Error(`waited ${deadlineMs / 1000} s in vain: ${what}`);
    await pause(pollMs);
  }
}
