/** How long calls may take together, and who else may end them. */
export interface TimeLimit {
  /** Aborts when the time is over, or when whoever waits is interrupted. */
  readonly signal: AbortSignal;
  readonly seconds: number;
}

/** `outer` ends it earlier. */
export function timeLimit(ms: number, outer?: AbortSignal): TimeLimit {
  const deadline = AbortSignal.timeout(ms);
  const signal = outer === undefined ? deadline : AbortSignal.any([outer, deadline]);
  return { signal, seconds: ms / 1_000 };
}
