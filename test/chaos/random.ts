import { createHash } from "node:crypto";

/** Picks one of several, or none of none. */
export type Picker = <T>(of: readonly T[]) => T | undefined;

/** A number from 0 up to 1, the same for the same texts. */
export function chance(seed: number, ...what: readonly string[]): number {
  const digest = createHash("sha256")
    .update([seed, ...what].join("/"))
    .digest();
  return digest.readUInt32BE(0) / 2 ** 32;
}

/** Picks by seed and text, so that the same run picks the same again. */
export function pickBy(seed: number, ...what: readonly string[]): Picker {
  return (of) => of[Math.floor(chance(seed, ...what) * of.length)];
}

/** `count` of them, in their order: those with the lowest draws. */
export function sampleBy<T>(
  seed: number,
  count: number,
  of: readonly T[],
  textOf: (one: T) => string,
): T[] {
  const drawn = of.map((one) => ({ one, draw: chance(seed, textOf(one)) }));
  const limit = drawn.map(({ draw }) => draw).sort((left, right) => left - right)[count];
  return drawn.filter(({ draw }) => limit === undefined || draw < limit).map(({ one }) => one);
}

/** All of them in an order that is drawn. */
export function shuffleBy<T>(
  seed: number,
  of: readonly T[],
  textOf: (one: T) => string,
): readonly T[] {
  const drawn = of.map((one) => ({ one, draw: chance(seed, textOf(one)) }));
  return drawn.sort((left, right) => left.draw - right.draw).map(({ one }) => one);
}

/** One of these, one of those, and so on; then what is left of the longer. */
export function inTurns<T>(these: readonly T[], those: readonly T[]): readonly T[] {
  const longer = Math.max(these.length, those.length);
  return Array.from({ length: longer }, (_, index) => [
    ...these.slice(index, index + 1),
    ...those.slice(index, index + 1),
  ]).flat();
}

/**
 * What a sample is drawn by where nobody says: CHAOS_SEED, or else CAPSTAN_SEED, or else the day, as 20261124, so that
 * it is another sample each day and the same one all day long.
 */
export function seedOf(env: NodeJS.ProcessEnv, nowMs: number): number {
  const text = env["CHAOS_SEED"] ?? env["CAPSTAN_SEED"];
  const day = new Date(nowMs).toISOString().slice(0, 10).replaceAll("-", "");
  const seed = Number(text ?? day);
  if (!Number.isInteger(seed)) throw new Error(`a seed is an integer, this one is ${text}`);
  return seed;
}
