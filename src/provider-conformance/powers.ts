import { checkable, offered, type World, type WorldPowers } from "./subject.js";

/** Powers of a world that are calls. */
export type Power = Exclude<keyof WorldPowers, "lacks" | "blindBy">;

/** A world that can do this. */
export type Able<K extends Power> = World & Required<Pick<WorldPowers, K>>;

/** The world, if it can do this. Ends the case otherwise: not offered where the cloud lacks it, not checked where the world does. */
export function able<K extends Power>(world: World, powers: readonly K[]): Able<K> {
  const missing = powers.filter((power) => world[power] === undefined);
  const reasons = missing.flatMap((power) => world.lacks?.[power] ?? []);
  offered(missing.length === 0 || reasons.length < missing.length, reasons.join("; "));
  checkable(isAble(world, powers), `the world has no ${missing.join(" and no ")}`);
  return world;
}

/** Ends the case unless the world can be blind in this way. */
export function mustBeBlindBy({ blindBy = [], lacks }: World, how: "denied" | "partial"): void {
  if (blindBy.includes(how)) return;
  const reason = lacks?.[how];
  offered(reason === undefined, reason ?? "");
  checkable(false, `the world has no blind(on, "${how}")`);
}

function isAble<K extends Power>(world: World, powers: readonly K[]): world is Able<K> {
  return powers.every((power) => world[power] !== undefined);
}
