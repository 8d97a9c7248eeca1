import assert from "node:assert/strict";
import fc from "fast-check";
import { objectsOf } from "../../src/api/types.js";
import { rulesOfHealing } from "../../src/drift/plan-with-drift.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import type { CommandFault } from "../support/faults.js";
import { faults } from "../support/histories.js";
import { assertAsyncLaw } from "../support/laws.js";
import {
  annotated,
  cluster,
  desiredOf,
  healthCheck,
  machine,
  machineDeployment,
  testCluster,
} from "../support/manifests.js";

/** What somebody asks for while hosts are ill. */
type Wish = "same" | "patch" | "minor" | "size" | "fewer" | "others" | "workers" | "labels";

interface Cluster {
  readonly members: number;
  readonly workers: number;
  /** How many of them drift may correct at once; absent: a quarter. */
  readonly maxInFlight?: string;
}

const selector = { matchLabels: { "cluster.k8s.io/cluster-name": testCluster } };
const memberOf = (place: number) => `cp-${place}`;

function desired({ members, workers, maxInFlight = "25%" }: Cluster, wish: Wish = "same") {
  const version = { same: "1.34.2", patch: "1.34.3", minor: "1.35.0" }[wish as string] ?? "1.34.2";
  const count = wish === "fewer" ? members - 2 : members;
  const first = wish === "others" ? 1 : 0;
  const size = wish === "size" ? "medium" : "small";
  const kubelet = wish === "workers" ? "1.34.1" : "1.34.2";
  const shape = wish === "labels" ? { kubelet, labels: { team: "a" } } : { kubelet };
  const budgets = {
    "capstan.dev/drift-max-unhealthy": "100%",
    "capstan.dev/drift-max-in-flight": maxInFlight,
  };
  return desiredOf([
    annotated(budgets, cluster()),
    ...Array.from({ length: count }, (_, place) =>
      machine(memberOf(first + place), { controlPlane: version, kubelet: version, size }),
    ),
    machineDeployment("pool", workers, shape, { maxSurge: 0, maxUnavailable: 1 }),
    healthCheck("members", "", { selector }),
    healthCheck("workers", "pool"),
  ]);
}

interface Illness extends Cluster {
  /** Places of members whose etcd does not answer: the others are a majority. */
  readonly ill: readonly number[];
  /** Places of workers that are not ready. */
  readonly illWorkers: readonly number[];
  /** A worker that its change in place breaks for good. */
  readonly isBroken: boolean;
  /** Somebody has tried to heal them before, in vain. */
  readonly isTried: boolean;
}

/** A cluster that has fallen ill, and those of its hosts that are. */
async function fallenIll(illness: Illness) {
  const engine: FakeEngine = new FakeEngine({
    traits: { ...plainWorld, joins: true, tellsTimes: true },
    driftRules: (asked) => rulesOfHealing(objectsOf(asked), engine.clock.now()),
  });
  engine.cloud.hosts.needsMajority = true;
  await engine.settle(desired(illness));
  engine.clock.advance(3_600_000);
  const names = engine.hosts().map(({ who }) => who.name);
  const workers = names.filter((name) => name.startsWith("pool-"));
  const sickMembers = names.filter((name) =>
    illness.ill.some((place) => name.startsWith(`${memberOf(place)}-`)),
  );
  const sickWorkers = illness.illWorkers.flatMap((place) => workers[place] ?? []);
  const since = new Map([...sickMembers, ...sickWorkers].map((name) => [name, engine.clock.now()]));
  const kubeletOf = (name: string) =>
    String(engine.hosts().find(({ who }) => who.name === name)?.spec["kubelet"]);
  const isSick = (name: string) => {
    const breaks = illness.isBroken && name === workers.at(-1) && kubeletOf(name) !== "1.34.2";
    if (breaks && !since.has(name)) since.set(name, engine.clock.now());
    return since.has(name);
  };
  const { hosts } = engine.cloud;
  hosts.ails = (name) => (sickMembers.includes(name) ? "it does not answer" : undefined);
  hosts.breaks = (name) => (isSick(name) ? "unready" : undefined);
  hosts.nodeSays = (name) => {
    const kubelet = kubeletOf(name);
    if (!isSick(name)) return { kubelet };
    const lastTransitionTime = new Date(since.get(name) ?? 0).toISOString();
    return { kubelet, conditions: [{ type: "Ready", status: "False", lastTransitionTime }] };
  };
  engine.clock.advance(900_000);
  if (illness.isTried) {
    await engine.up(desired(illness), [{ at: "boot", number: 0, what: "never" }]);
  }
  return { engine, left: () => engine.hosts().filter(({ who }) => since.has(who.name)) };
}

/** What each `up` of the same wish ends with, and what is there then. */
async function asked(illness: Illness, wish: Wish, fault: readonly CommandFault[] = []) {
  const { engine, left } = await fallenIll(illness);
  const wanted = desired(illness, wish);
  const outcomes: string[] = [];
  // One turn for each that is ill, one more for each that was tried, and those of a kill and of what breaks.
  for (let turn = 0; turn < 2 * (illness.ill.length + illness.illWorkers.length) + 4; turn += 1) {
    outcomes.push(outcomeText(await engine.up(wanted, turn === 0 ? fault : [])));
    engine.clock.advance(900_000);
  }
  return { engine, wanted, outcomes, left: left().map(({ who }) => who.name) };
}

const none = { ill: [], illWorkers: [], isBroken: false, isTried: false, members: 3, workers: 2 };

describe("a change that is asked for while hosts are ill", () => {
  const scenes: readonly (readonly [name: string, illness: Illness, wish: Wish])[] = [
    ["a member that was tried in vain", { ...none, ill: [1], isTried: true }, "patch"],
    ["one that was, beyond the point of no return", { ...none, ill: [1], isTried: true }, "minor"],
    ["two of five members", { ...none, members: 5, ill: [1, 2] }, "same"],
    ["two of five that are to be changed", { ...none, members: 5, ill: [0, 4] }, "minor"],
    ["a member that goes while another one comes", { ...none, ill: [0] }, "others"],
    [
      "more workers than the budget allows at once",
      { ...none, workers: 8, illWorkers: [0, 1, 2] },
      "workers",
    ],
    ["a worker that its change breaks", { ...none, workers: 4, isBroken: true }, "workers"],
  ];
  for (const [name, illness, wish] of scenes) {
    it(`is done, and heals ${name}`, async () => {
      const { engine, wanted, outcomes, left } = await asked(illness, wish);
      assert.equal(outcomes.at(-1), "done", outcomes.join("\n"));
      assert.deepEqual(left, []);
      assert.ok((await engine.plan(wanted)).empty);
      assert.deepEqual(engine.cloud.watch.violations, []);
    });
  }

  const sick = { ...none, workers: 8, illWorkers: [0, 1, 2] };
  const quiet: readonly (readonly [name: string, illness: Illness, wish: Wish, many: number])[] = [
    ["no more than the budget where it disturbs nobody", sick, "labels", 2],
    ["nobody where the budget is none", { ...sick, maxInFlight: "0" }, "workers", 0],
    ["as many as it is about where it disturbs them", sick, "workers", 3],
  ];
  for (const [name, illness, wish, many] of quiet) {
    it(`gives a new host to ${name}`, async () => {
      const { engine } = await fallenIll(illness);
      const { steps } = await engine.plan(desired(illness, wish));
      assert.equal(steps.filter(({ kind }) => kind === "create").length, many);
    });
  }

  const illnesses = fc.constantFrom(3, 5).chain((members) =>
    fc.record({
      members: fc.constant(members),
      workers: fc.integer({ min: 1, max: 5 }),
      ill: fc.uniqueArray(fc.nat({ max: members - 1 }), { maxLength: (members - 1) / 2 }),
      illWorkers: fc.uniqueArray(fc.nat({ max: 4 }), { maxLength: 3 }),
      isBroken: fc.boolean(),
      isTried: fc.boolean(),
    }),
  );
  const wishes = fc.constantFrom<Wish>(
    "same",
    "patch",
    "minor",
    "size",
    "fewer",
    "others",
    "workers",
  );
  it("comes to its end, and nobody stays ill, whatever is killed and whoever was tried in vain", () =>
    assertAsyncLaw(
      fc.asyncProperty(
        illnesses,
        wishes,
        fc.array(faults, { maxLength: 1 }),
        async (illness, wish, fault) => {
          const { engine, wanted, outcomes, left } = await asked(illness, wish, fault);
          assert.equal(outcomes.at(-1), "done", outcomes.join("\n"));
          assert.deepEqual(left, [], outcomes.join("\n"));
          assert.ok((await engine.plan(wanted)).empty);
          assert.deepEqual(engine.cloud.watch.violations, []);
        },
      ),
      40,
    ));
});
