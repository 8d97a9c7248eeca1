import assert from "node:assert/strict";
import fc from "fast-check";
import { driftAnnotations } from "../../src/api/drift-policy.js";
import { objectsOf } from "../../src/api/types.js";
import { keyOf } from "../../src/graph/graph.js";
import { rulesOfHealing } from "../../src/drift/plan-with-drift.js";
import { isOpen } from "../../src/records/prior-state.js";
import type { NodeReport } from "../../src/provider/port.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { faults } from "../support/histories.js";
import { assertAsyncLaw } from "../support/laws.js";
import {
  annotated,
  cluster,
  desiredOf,
  healthCheck,
  machine,
  machineSet,
} from "../support/manifests.js";

/** How the Node of a worker fares, and for how many seconds by now. */
type Fate =
  | { readonly kind: "well" }
  | { readonly kind: "gone" }
  | { readonly kind: "notReady"; readonly forS: number };

const fate: fc.Arbitrary<Fate> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: "well" as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: "gone" as const }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("notReady" as const),
      forS: fc.constantFrom(1, 100, 201, 900),
    }),
  },
);

interface Illness {
  readonly fates: readonly Fate[];
  /** So many may be unhealthy by the check. */
  readonly trigger: number;
  /** The same for the whole cluster, with its member. */
  readonly maxUnhealthy: number;
  readonly maxInFlight: number;
}

const illness: fc.Arbitrary<Illness> = fc.record({
  fates: fc.array(fate, { minLength: 1, maxLength: 6 }),
  trigger: fc.nat({ max: 6 }),
  maxUnhealthy: fc.nat({ max: 6 }),
  maxInFlight: fc.integer({ min: 1, max: 3 }),
});

const isIll = ({ kind }: Fate) => kind !== "well";
/** As the check says: 200 seconds, or 600 of a Node that is not there, which the hosts have run for. */
const isDue = (one: Fate) => one.kind === "gone" || (one.kind === "notReady" && one.forS > 200);

/** Places of the workers that may get another host, by nothing but what was drawn; and how many of them at once. */
function mayGo({ fates, trigger, maxUnhealthy, maxInFlight }: Illness) {
  const ill = fates.filter(isIll).length;
  const isActedOn = ill <= trigger && ill <= maxUnhealthy;
  const due = fates.flatMap((one, place) => (isActedOn && isDue(one) ? [place] : []));
  return { due, atOnce: Math.min(due.length, maxInFlight) };
}

async function fallenIll({ fates, trigger, maxUnhealthy, maxInFlight }: Illness) {
  const budgets = {
    [driftAnnotations.maxUnhealthy]: String(maxUnhealthy),
    [driftAnnotations.maxInFlight]: String(maxInFlight),
  };
  const desired = desiredOf([
    annotated(budgets, cluster()),
    machine("cp", { controlPlane: "1.34.2" }),
    machineSet("pool", fates.length),
    healthCheck("check", "pool", {
      remediation: { triggerIf: { unhealthyLessThanOrEqualTo: trigger } },
    }),
  ]);
  const engine: FakeEngine = new FakeEngine({
    traits: { ...plainWorld, joins: true, tellsTimes: true },
    driftRules: (asked) => rulesOfHealing(objectsOf(asked), engine.clock.now()),
  });
  await engine.settle(desired);
  engine.clock.advance(3_600_000);
  const workers = engine.hosts().filter(({ who }) => who.name.startsWith("pool-"));
  const ofHost = new Map(workers.map(({ who }, place) => [who.name, fates[place]]));
  const nowMs = engine.clock.now();
  const well: NodeReport = { kubelet: "1.34.2" };
  engine.cloud.hosts.hasJoined = (host) => ofHost.get(host)?.kind !== "gone";
  engine.cloud.hosts.nodeSays = (host) => {
    const one = ofHost.get(host);
    if (one?.kind !== "notReady") return well;
    const lastTransitionTime = new Date(nowMs - one.forS * 1_000).toISOString();
    return { ...well, conditions: [{ type: "Ready", status: "False", lastTransitionTime }] };
  };
  return { engine, desired, names: workers.map(({ who }) => who.name) };
}

const alive = (engine: FakeEngine, names: readonly string[]) => {
  const there = new Set(engine.hosts().map(({ who }) => who.name));
  return names.filter((name) => there.has(name));
};

/** Hosts that have come to serve in the place of others. */
class Successors {
  private serving: readonly string[] = [];

  constructor(
    private readonly engine: FakeEngine,
    private readonly names: readonly string[],
  ) {}

  /** After each `up`, which asks for the same: whoever of them served before serves still, unless what failed was taken back. */
  mustServe(): void {
    const { engine } = this;
    const { transaction } = engine.prior;
    if (!engine.hasFailedForward) assert.deepEqual(alive(engine, this.serving), this.serving);
    // A way back wants none of them, also where it is committed and owes their deletion.
    const wanted = new Set(transaction?.target.machines.map(({ host }) => host));
    const serving = engine
      .hosts()
      .filter(({ phase, who }) => phase === "ready" && wanted.has(keyOf(who)));
    const names = serving.map(({ who }) => who.name);
    this.serving = names.filter((name) => name.startsWith("pool-") && !this.names.includes(name));
  }
}

const killed = fc.array(faults, { maxLength: 2 });

describe("health, for any illness", () => {
  it("costs no host that nobody may replace, however often whoever replaces them is killed, and no more at once than the budget", () =>
    assertAsyncLaw(
      fc.asyncProperty(illness, fc.array(faults, { maxLength: 3 }), async (drawn, some) => {
        const { engine, desired, names } = await fallenIll(drawn);
        const { due, atOnce } = mayGo(drawn);
        const healthy = names.filter((_, place) => !due.includes(place));
        const allowed = due.map((place) => names[place] ?? "");
        const successors = new Successors(engine, names);
        const outcome = await engine.up(desired, some);
        successors.mustServe();
        assert.deepEqual(alive(engine, healthy), healthy);
        const gone = allowed.length - alive(engine, allowed).length;
        assert.ok(gone <= atOnce, `${gone} went, and ${atOnce} may`);
        if (outcome.kind === "done" && some.length === 0) assert.equal(gone, atOnce);
        // Whoever comes next goes on from wherever that stands, takes back what never boots, or begins anew.
        for (let round = 0; round < drawn.fates.length + 4; round += 1) {
          const { kind } = await engine.up(desired);
          assert.ok(kind === "done" || kind === "rolledBack", kind);
          assert.deepEqual(alive(engine, healthy), healthy);
          successors.mustServe();
        }
        assert.deepEqual(alive(engine, names), healthy);
        assert.equal(engine.hosts().length, drawn.fates.length + 1);
        assert.deepEqual(engine.cloud.watch.violations, []);
      }),
      60,
    ));

  const verbs = fc.constantFrom("rollback" as const, "destroy" as const);
  it("costs nothing more whatever verb comes after one that was killed, and that is killed as well", () =>
    assertAsyncLaw(
      fc.asyncProperty(illness, killed, verbs, killed, async (drawn, first, verb, second) => {
        const { engine, desired, names } = await fallenIll(drawn);
        const { due, atOnce } = mayGo(drawn);
        const healthy = names.filter((_, place) => !due.includes(place));
        await engine.up(desired, first);
        await engine[verb](second);
        if (verb === "destroy") {
          assert.equal(outcomeText(await engine.destroy()), "done");
          assert.deepEqual(engine.alive(), []);
        } else {
          const outcome = await engine.rollback();
          // The same objects are no other revision to go back to; what is owed is left to who goes on.
          const isRefused = outcome.kind === "broke" && !isOpen(engine.prior);
          const isBack = outcome.kind === "done" || outcome.kind === "rolledBack";
          assert.ok(isBack || isRefused, outcomeText(outcome));
          assert.deepEqual(alive(engine, healthy), healthy);
          const gone = due.length - (alive(engine, names).length - healthy.length);
          assert.ok(gone <= atOnce, `${gone} went, and ${atOnce} may`);
          if (isRefused) assert.equal(outcomeText(await engine.up(desired)), "done");
          assert.deepEqual(alive(engine, healthy), healthy);
          assert.equal(engine.hosts().length, drawn.fates.length + 1);
        }
        assert.deepEqual(engine.cloud.watch.violations, []);
      }),
      60,
    ));

  it("comes back, one budget after the other, where it may", () =>
    assertAsyncLaw(
      fc.asyncProperty(illness, async (drawn) => {
        const { engine, desired, names } = await fallenIll(drawn);
        const { due } = mayGo(drawn);
        const healthy = names.filter((_, place) => !due.includes(place));
        for (let round = 0; round < drawn.fates.length + 1; round += 1) {
          assert.equal((await engine.up(desired)).kind, "done");
        }
        assert.deepEqual(alive(engine, names), healthy);
        assert.equal(engine.hosts().length, drawn.fates.length + 1);
        assert.ok((await engine.plan(desired)).empty);
      }),
      40,
    ));
});
