import assert from "node:assert/strict";
import fc from "fast-check";
import { defaultLeaseTiming } from "../../src/kube/lease-steps.js";
import { Contender, type Fate, LeaseWorld, relapse } from "./lease-world.js";
import { assertAsyncLaw } from "../support/laws.js";

const names = ["a", "bb", "ccc"];

const fates: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Fate>({ toServerMs: 20, backMs: 20, lost: "no" }) },
  {
    weight: 2,
    arbitrary: fc.record({
      toServerMs: fc.nat({ max: 8_000 }),
      backMs: fc.nat({ max: 8_000 }),
      lost: fc.constantFrom("no", "request", "answer"),
    }),
  },
);

interface LeaseFault {
  readonly who: number;
  readonly kind: "pause" | "shutdown" | "outage";
  readonly forMs: number;
  readonly thenMs: number;
}

function faultsOf(...kinds: readonly LeaseFault["kind"][]): fc.Arbitrary<LeaseFault[]> {
  const fault = fc.record({
    who: fc.nat({ max: names.length - 1 }),
    kind: fc.constantFrom(...kinds),
    forMs: fc.nat({ max: 40_000 }),
    thenMs: fc.nat({ max: 20_000 }),
  });
  return fc.array(fault, { minLength: 1, maxLength: 5 });
}

const worlds = {
  rates: fc.tuple(...names.map(() => fc.double({ min: 0.97, max: 1.03, noNaN: true }))),
  fates: fc.array(fates, { minLength: 1, maxLength: 30 }),
};

/** Lets three contenders go through it, and then some quiet. */
async function play(
  rates: readonly number[],
  fate: readonly Fate[],
  faults: readonly LeaseFault[],
): Promise<{ readonly world: LeaseWorld; readonly contenders: readonly Contender[] }> {
  const world = new LeaseWorld(defaultLeaseTiming);
  let drawn = 0;
  let isQuiet = false;
  const next = (): Fate => {
    const drawnFate = fate[drawn++ % fate.length];
    return isQuiet || !drawnFate ? { toServerMs: 20, backMs: 20, lost: "no" } : drawnFate;
  };
  const contenders = names.map((name, index) => new Contender(world, name, next, rates[index]));
  await world.run(20_000, 100);
  for (const { who, kind, forMs, thenMs } of faults) {
    const contender = contenders[who];
    if (kind === "pause") contender?.pause();
    if (kind === "shutdown") contender?.shutdown.abort();
    if (kind === "outage") world.isServerUp = false;
    await world.run(forMs, 100);
    contender?.goOn();
    world.isServerUp = true;
    await world.run(thenMs, 100);
  }
  isQuiet = true;
  await world.run(40_000, 100);
  return { world, contenders };
}

describe("Leadership, laws", () => {
  it("never lets a term act after a later one has, whoever is stopped and goes on", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(
        worlds.rates,
        worlds.fates,
        faultsOf("pause", "outage", "shutdown"),
        async (rates, fate, faults) => {
          const { world, contenders } = await play(rates, fate, faults);
          assert.equal(relapse(world.deeds), undefined);
          // All may be shut down while every answer is lost: then nobody ever leads.
          const isAnyLeft = contenders.some(({ shutdown }) => !shutdown.signal.aborted);
          assert.ok(world.deeds.length > 0 || !isAnyLeft);
        },
      ),
      40,
    );
  });

  it("ends all work of a term before the next begins, unless its process was stopped", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(
        worlds.rates,
        worlds.fates,
        faultsOf("outage", "shutdown"),
        async (rates, fate, faults) => {
          const { world, contenders } = await play(rates, fate, faults);
          for (const { term, atMs } of world.ended) {
            const early = world.deeds.find((deed) => deed.term > term && deed.atMs < atMs);
            assert.equal(early, undefined, `term ${term} ended at ${atMs}`);
          }
          assert.ok(contenders.every(({ overruns }) => overruns === 0));
        },
      ),
      40,
    );
  });

  it("finds a leader again, as long as one contender is left", async () => {
    await assertAsyncLaw(
      fc.asyncProperty(
        worlds.rates,
        worlds.fates,
        faultsOf("pause", "outage"),
        async (rates, fate, faults) => {
          const { world } = await play(rates, fate, faults);
          const last = world.deeds.at(-1)?.atMs ?? 0;
          assert.ok(world.clock.now() - last < 5_000, `nobody has led since ${last}`);
        },
      ),
      40,
    );
  });
});
