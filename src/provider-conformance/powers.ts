import { checkable, offered, type World, type WorldPowers } from "./subject.js";

/** Powers of a world that are calls. */
export type Power = Exclude<keyof WorldPowers, "lacks" | "blindBy">;

/** A world that can do this. */
export type Able<K extends Power> = World & Required<Pick<WorldPowers, K>>;

/** The call to be added to a world, with what it does. */
const signatures: Readonly<Record<Power, string>> = {
  acceptNextCreate: "acceptNextCreate(fate), which has the next create answered with an operation",
  alive: "alive(), the ids of all that the cloud has",
  beforeChange: "beforeChange(hook), which calls a hook before each request that changes something",
  conflictNextChange: "conflictNextChange(), a concurrent change before the next one",
  forgetOperations: "forgetOperations(), after which the cloud knows no operation that has ended",
  hang: "hang(on), while which no request is answered",
  holdBoot: "holdBoot(on), while which hosts stay pending",
  holdOperations: "holdOperations(on), while which no change or removal ends",
  kill: "kill(id), a deletion behind the provider's back",
  mutate: "mutate(id, fields), a change behind the provider's back",
  partsOf: "partsOf(id), the ids of what lives and dies with a resource",
  plantMany: "plantMany(whos, spec), plant for a thousand at once",
  plantNamesake: "plantNamesake(who, spec, bears), another owner's resource under the same name",
  plantTwin: "plantTwin(who, spec), another resource with the same marks",
  refuseNextCreate: "refuseNextCreate(), after which the next create meets want of room",
  refuseNextRemoval:
    "refuseNextRemoval(), after which the next removal is accepted and refused later",
  stop: "stop(id), which stops a host behind the provider's back",
};

/** The world, if it can do this. Ends the case otherwise: not offered where the cloud lacks it, not checked where the world does. */
export function able<K extends Power>(world: World, powers: readonly K[]): Able<K> {
  const missing = powers.filter((power) => world[power] === undefined);
  const reasons = missing.flatMap((power) => world.lacks?.[power] ?? []);
  offered(missing.length === 0 || reasons.length < missing.length, reasons.join("; "));
  const additions = missing.map((power) => `${power}: add ${signatures[power]}`);
  checkable(isAble(world, powers), `the world has no ${additions.join("; and no ")}`);
  return world;
}

/** Ends the case unless the world can be blind in this way. */
export function mustBeBlindBy({ blindBy = [], lacks }: World, how: "denied" | "partial"): void {
  if (blindBy.includes(how)) return;
  const reason = lacks?.[how];
  offered(reason === undefined, reason ?? "");
  checkable(false, `the world's blind(on) knows no "${how}": add that, and name it in blindBy`);
}

function isAble<K extends Power>(world: World, powers: readonly K[]): world is Able<K> {
  return powers.every((power) => world[power] !== undefined);
}
