import assert from "node:assert/strict";
import fc from "fast-check";
import { renewalAnnotation } from "../../src/api/certificate-renewal.js";
import { CapstanError } from "../../src/api/error.js";
import { clusterNameLabel } from "../../src/api/schema.js";
import { driftAnnotations, type DriftPolicy } from "../../src/api/drift-policy.js";
import { type Desired, objectsOf } from "../../src/api/types.js";
import { budgetsOf, roomFor } from "../../src/drift/budgets.js";
import { isOfTime } from "../../src/drift/classify.js";
import type { JudgedDrift } from "../../src/drift/judge.js";
import {
  judgedDrift,
  type PlanDriftRules,
  rulesOfHealing,
} from "../../src/drift/plan-with-drift.js";
import { isHostOf } from "../../src/records/host-name.js";
import type { Plan } from "../../src/plan/plan.js";
import type { NodeReport } from "../../src/provider/port.js";
import { marksOf } from "../../src/workload/node-marks.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { assertAsyncLaw, timesAsMany } from "../support/laws.js";
import {
  annotated,
  cluster,
  desiredOf,
  healthCheck,
  machine,
  type Manifest,
  testCluster,
} from "../support/manifests.js";
import { drifts, hostOf, sightWithNodes } from "./drifting.js";

const dayMs = 24 * 3_600_000;
const well: NodeReport = { kubelet: "1.34.2" };

function illSince(ms: number): NodeReport {
  const lastTransitionTime = new Date(ms).toISOString();
  return { ...well, conditions: [{ type: "Ready", status: "False", lastTransitionTime }] };
}

/** What becomes of the host of one machine. */
const fates = [
  "well",
  "leaves",
  "dies",
  "drifts",
  "outgrows",
  "ails",
  "expires",
  "unmarked",
] as const;
type Fate = (typeof fates)[number];

interface Lot {
  readonly fate: Fate;
  readonly policy: DriftPolicy;
}

const lot: fc.Arbitrary<Lot> = fc.record({
  fate: fc.constantFrom(...fates),
  policy: fc.oneof(
    { weight: 2, arbitrary: fc.constant<DriftPolicy>("correct") },
    { weight: 2, arbitrary: fc.constantFrom<DriftPolicy[]>("replace", "report", "ignore") },
  ),
});

interface Misfortune {
  readonly members: readonly Lot[];
  readonly workers: readonly Lot[];
  readonly maxUnhealthy: number;
  readonly maxInFlight: number;
  /** A person has confirmed the answer. */
  readonly isThawed: boolean;
}

const misfortune: fc.Arbitrary<Misfortune> = fc.record({
  members: fc.oneof(
    fc.array(lot, { minLength: 1, maxLength: 1 }),
    fc.array(lot, { minLength: 3, maxLength: 3 }),
  ),
  workers: fc.array(lot, { minLength: 1, maxLength: 6 }),
  maxUnhealthy: fc.nat({ max: 6 }),
  maxInFlight: fc.nat({ max: 3 }),
  isThawed: fc.boolean(),
});

/** Members whose certificates expire while somebody confirms that workers are gone. */
const confirmed: fc.Arbitrary<Misfortune> = misfortune.map(({ members, ...drawn }) => ({
  ...drawn,
  members: members.map((one) => ({ ...one, fate: "expires" })),
  maxUnhealthy: 0,
  isThawed: true,
}));

const named = ({ members, workers }: Pick<Misfortune, "members" | "workers">) => [
  ...members.map((one, place) => ({ ...one, name: `cp-${place}`, controlPlane: "1.34.2" })),
  ...workers.map((one, place) => ({ ...one, name: `web-${place}` })),
];

function wanted(drawn: Misfortune, thaw?: string): Desired {
  const budgets = {
    [driftAnnotations.maxUnhealthy]: String(drawn.maxUnhealthy),
    [driftAnnotations.maxInFlight]: String(drawn.maxInFlight),
    [renewalAnnotation]: "30",
    ...(thaw !== undefined && { [driftAnnotations.thaw]: thaw }),
  };
  return desiredOf([
    annotated(budgets, cluster()),
    healthCheck("check", "any", { selector: { matchLabels: { [clusterNameLabel]: testCluster } } }),
    ...named(drawn).map(({ name, policy, fate: _fate, ...shape }) =>
      drifts(policy, labelled(machine(name, shape))),
    ),
  ]);
}

/** Its Node is to bear a label. */
function labelled(manifest: Manifest): Manifest {
  const metadata = { labels: { tier: "gold" } };
  return { ...manifest, spec: { ...(manifest["spec"] as object), metadata } };
}

const rulesOfLoop = (desired: Desired, engine: FakeEngine): PlanDriftRules => ({
  ...rulesOfHealing(objectsOf(desired), engine.clock.now()),
  leaves: "byPolicy",
});

/** What the loop finds, decides and plans where nobody asks for anything. */
async function struck(
  drawn: Misfortune,
): Promise<{ readonly judged: JudgedDrift; readonly plan: Plan }> {
  const engine: FakeEngine = new FakeEngine({
    traits: { ...plainWorld, joins: true, tellsTimes: true },
    driftRules: (asked) => rulesOfLoop(asked, engine),
  });
  await engine.settle(wanted(drawn));
  engine.clock.advance(3_600_000);
  const { hosts } = engine.cloud;
  const nowMs = engine.clock.now();
  const ailing = new Set<string>();
  const expiring = new Set<string>();
  hosts.nodeSays = (host) => (ailing.has(host) ? illSince(nowMs - 900_000) : well);
  hosts.certificateUntilMs = (host) => nowMs + (expiring.has(host) ? 20 : 365) * dayMs;
  for (const { name, fate } of named(drawn)) {
    const { id, who } = hostOf(engine, name);
    if (fate === "leaves") engine.cloud.announce(id);
    else if (fate === "dies") engine.cloud.kill(id);
    else if (fate === "drifts") engine.cloud.drift(id, { tags: { by: "hand" } });
    else if (fate === "outgrows") engine.cloud.drift(id, { size: "large" });
    else if (fate === "ails") ailing.add(who.name);
    else if (fate === "unmarked") hosts.marks.set(who.name, marksOf({}));
    else if (fate === "expires") expiring.add(who.name);
  }
  const judgedBy = async (desired: Desired) =>
    judgedDrift(
      engine.prior,
      await sightWithNodes(engine),
      engine.provider,
      rulesOfLoop(desired, engine),
    );
  const { report } = await judgedBy(wanted(drawn));
  const desired = wanted(drawn, drawn.isThawed ? report.fingerprint : undefined);
  return { judged: await judgedBy(desired), plan: await engine.plan(desired) };
}

/** Names of the machines whose hosts a plan touches; what else it touches by its key. */
function touchedBy({ steps }: Plan, drawn: Misfortune): ReadonlySet<string> {
  const names = named(drawn).map(({ name }) => name);
  return new Set(
    steps.map(({ key }) => names.find((name) => isHostOf(name, key.replace(/^.*\//, ""))) ?? key),
  );
}

const isCorrected = ({ decision: { kind } }: JudgedDrift["items"][number]) =>
  kind === "correct" || kind === "replace";

describe("a plan by policy, for whatever happens to hosts", function () {
  this.timeout(timesAsMany(120_000));

  it("has steps for the machines that are to be corrected, and for nothing else", () =>
    assertAsyncLaw(
      fc.asyncProperty(misfortune, async (drawn) => {
        const { judged, plan } = await struck(drawn);
        const corrected = judged.items.filter(isCorrected).map(({ item }) => item.machine?.name);
        assert.deepEqual([...touchedBy(plan, drawn)].sort(), corrected.sort());
      }),
      60,
    ));

  it("heals and renews no more hosts at a time than the budget allows, whatever somebody has confirmed", () =>
    assertAsyncLaw(
      fc.asyncProperty(fc.oneof(misfortune, { weight: 3, arbitrary: confirmed }), async (drawn) => {
        const { judged, plan } = await struck(drawn);
        const touched = touchedBy(plan, drawn);
        const healed = judged.items.flatMap(({ item }) =>
          isOfTime(item) && touched.has(item.machine?.name ?? "") ? [item.machine] : [],
        );
        const members = healed.filter((one) => one?.controlPlane === true).length;
        const room = roomFor(budgetsOf(objectsOf(wanted(drawn))), judged.report);
        assert.ok(members <= room.members, `${members} members are healed`);
        assert.ok(healed.length - members <= room.workers, `${healed.length} workers are healed`);
      }),
      60,
    ));
});

/** Why the host of a machine is to be replaced, or changed. */
type Need = "leaves" | "drifts" | "ails" | "expires";

/** Machines that are due, of which one gets no other host whatever is done. */
interface Blight {
  readonly members: number;
  readonly workers: readonly Need[];
  /** Which of the machines that are due is it; a member for 0 where members are due. */
  readonly blighted: number;
  /** The cloud refuses its new hosts, or they never join. */
  readonly how: "refused" | "lost";
  readonly maxInFlight: number;
  /** Nobody sees the plan, or somebody asks for it. */
  readonly leaves: PlanDriftRules["leaves"];
}

const ofTime = fc.constant<Need>("ails");
const needs = (need: fc.Arbitrary<Need>) => fc.array(need, { minLength: 1, maxLength: 5 });
const blight: fc.Arbitrary<Blight> = fc
  .constantFrom<Blight["leaves"][]>("ignored", "byPolicy")
  .chain((leaves) =>
    fc.record({
      members: fc.nat({ max: 3 }),
      // Whoever asks for a plan gets everything else corrected at once, or nothing.
      workers: needs(
        leaves === "ignored" ? ofTime : fc.constantFrom<Need[]>("ails", "ails", "leaves", "drifts"),
      ),
      blighted: fc.nat({ max: 7 }),
      how: fc.constantFrom("refused" as const, "lost" as const),
      maxInFlight: fc.integer({ min: 1, max: 3 }),
      leaves: fc.constant(leaves),
    }),
  );

async function blightedCluster(drawn: Blight) {
  const budgets = {
    [driftAnnotations.maxUnhealthy]: "100%",
    [driftAnnotations.maxInFlight]: String(drawn.maxInFlight),
    [renewalAnnotation]: "30",
  };
  const members = ["cp-0", "cp-1", "cp-2"];
  const workers = drawn.workers.map((need, place) => ({ need, name: `web-${place}` }));
  const objects = [
    annotated(budgets, cluster()),
    healthCheck("check", "any", { selector: { matchLabels: { [clusterNameLabel]: testCluster } } }),
    ...members.map((name) => machine(name, { controlPlane: "1.34.2" })),
    ...workers.map(({ name }) => machine(name)),
  ];
  const desired = desiredOf(objects);
  const engine: FakeEngine = new FakeEngine({
    traits: { ...plainWorld, joins: true, tellsTimes: true },
    driftRules: (asked) => ({ ...rulesOfLoop(asked, engine), leaves: drawn.leaves }),
  });
  await engine.settle(desired);
  engine.clock.advance(3_600_000);
  const nowMs = engine.clock.now();
  const due = [
    ...members.slice(0, drawn.members).map((name) => ({ name, need: "expires" as const })),
    ...workers,
  ].map(({ name, need }) => ({ name, need, host: hostOf(engine, name) }));
  const hasNeed = (host: string, need: Need) =>
    due.some((one) => one.host.who.name === host && one.need === need);
  for (const { need, host } of due) {
    if (need === "leaves") engine.cloud.announce(host.id);
    else if (need === "drifts") engine.cloud.drift(host.id, { tags: { by: "hand" } });
  }
  const blighted = due[drawn.blighted % due.length]?.name ?? "";
  const isBlighted = (host: string) =>
    isHostOf(blighted, host) && !due.some((one) => one.host.who.name === host);
  const { hosts } = engine.cloud;
  if (drawn.how === "lost") hosts.hasJoined = (host) => !isBlighted(host);
  else {
    engine.cloud.refusal = ({ call, who }) =>
      call === "create" && isBlighted(who.name)
        ? new CapstanError({ code: "CAPACITY", source: "cloud", message: "there is no room" })
        : undefined;
  }
  hosts.certificateUntilMs = (host) => nowMs + (hasNeed(host, "expires") ? 20 : 365) * dayMs;
  hosts.nodeSays = (host) => (hasNeed(host, "ails") ? illSince(nowMs - 900_000) : well);
  return { engine, desired, more: desiredOf([...objects, machine("more")]), due, blighted };
}

describe("turn after turn", function () {
  this.timeout(timesAsMany(120_000));

  it("corrects every machine but the one that nothing corrects, in twice as many turns as there are, and does what is asked for then", () =>
    assertAsyncLaw(
      fc.asyncProperty(blight, async (drawn) => {
        const { engine, desired, more, due, blighted } = await blightedCluster(drawn);
        const others = due.filter(({ name }) => name !== blighted);
        const isLeft = ({ need, name, host }: (typeof due)[number]) => {
          const now = hostOf(engine, name);
          return need === "drifts" ? "by" in (now.spec["tags"] as object) : now.id === host.id;
        };
        const turns = 2 * due.length + 1;
        for (let turn = 0; turn === 0 || others.some(isLeft); turn += 1) {
          const left = others.filter(isLeft).map(({ name }) => name);
          assert.ok(turn < turns, `${left.join(" ")} after ${turns} turns`);
          const outcome = await engine.up(desired);
          const isOver = outcome.kind === "done" || outcome.kind === "rolledBack";
          assert.ok(isOver, outcomeText(outcome));
        }
        // Whoever is left has failed alone by then, or with the last one that was healed beside it.
        if (!(await engine.plan(desired)).empty) await engine.up(desired);
        // And what somebody asks for is not taken back with it.
        const asked = await engine.up(more);
        assert.equal(asked.kind, "done", outcomeText(asked));
        assert.deepEqual(engine.cloud.watch.violations, []);
      }),
      25,
    ));
});
