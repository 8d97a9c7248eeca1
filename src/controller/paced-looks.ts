import type { Clock } from "../provider/port.js";

/** How often somebody looks. */
export interface Pace {
  readonly clock: Clock;
  /** Milliseconds between two looks at least, give or take a tenth. */
  readonly periodMs: number;
  /** From 0 to below 1, as Math.random. */
  readonly random: () => number;
}

/** So many times as long as a look has taken is waited before the next: the rest of what is asked answers others. */
const pauseFactor = 3;

/**
 * Looks again and again until the signal. Between two looks the period passes, or three times what the last one has taken if that is
 * more. Rejects with what a look rejects with.
 */
export async function lookPaced(
  { clock, periodMs, random }: Pace,
  signal: AbortSignal,
  look: () => Promise<unknown>,
): Promise<void> {
  let lookMs = 0;
  while (!signal.aborted) {
    try {
      const pauseMs = Math.max(periodMs, pauseFactor * lookMs);
      await clock.sleep(pauseMs * (0.9 + 0.2 * random()), signal);
    } catch {
      return;
    }
    const begunMs = clock.now();
    await look();
    lookMs = clock.now() - begunMs;
  }
}
