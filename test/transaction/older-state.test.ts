import assert from "node:assert/strict";
import fc from "fast-check";
import { classifyDrift } from "../../src/drift/classify.js";
import { cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";
import { plainWorld } from "../support/fake-cloud.js";
import { type EngineSetup, FakeEngine, outcomeText } from "../support/fake-engine.js";
import { assertAsyncLaw } from "../support/laws.js";
import { desiredCluster, smallClusters, type WantedCluster } from "../support/wanted-cluster.js";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { keyOf, nodeKey, type NodeKey } from "../../src/graph/graph.js";
import { recalling } from "../support/recalling.js";
import type { Target } from "../../src/records/target.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import type { CommandFault } from "../support/faults.js";
import { noConsent } from "../sweep/world.js";
import { decideSweep } from "../../src/sweep/decide.js";
import { viewOf } from "../../src/sweep/stack-view.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const member = (size = "small") => machine("cp", { controlPlane: "1.34.2", size });

/** What the cloud says, in an order of its own. */
function aliveIn(engine: FakeEngine): string[] {
  return engine
    .alive()
    .map(({ id }) => id)
    .sort();
}

/** What a sweep would delete by the present state. */
function sweptIn(engine: FakeEngine): ReadonlySet<string> {
  const { hostKind, name: provider } = engine.provider;
  const { clusterUid, target } = engine.prior.transaction ?? {};
  if (clusterUid === undefined || target === undefined) return new Set();
  const cluster = { clusterUid, cluster: target.cluster, stacks: ["default.prod"] };
  const items = decideSweep({
    nowMs: engine.clock.now(),
    graceMs: 0,
    clusters: [{ ...cluster, movedAway: false, hasEnded: false }],
    consent: noConsent,
    views: [viewOf("default.prod", engine.prior, { hostKind })],
    listings: [{ provider, resources: engine.alive() }],
  });
  return new Set(items.filter(({ kind }) => kind === "sweep").map(({ resource }) => resource.id));
}

/** Applies that may be interrupted, then a state that one of them has left is brought back and gone on from. */
interface Course {
  readonly goals: readonly { readonly wanted: WantedCluster; readonly fault?: CommandFault }[];
  /** Whose state: counted from the first. */
  readonly kept: number;
  readonly last: WantedCluster;
  readonly listingLagMs: number;
}

const interruptions = fc.record({
  at: fc.constant("call" as const),
  number: fc.nat({ max: 12 }),
  what: fc.constantFrom("killBefore" as const, "killAfter" as const, "fail" as const),
});

const courses: fc.Arbitrary<Course> = fc.record({
  goals: fc.array(
    fc
      .tuple(smallClusters, fc.option(interruptions, { nil: undefined }))
      .map(([wanted, fault]) => omitUndefined({ wanted, fault })),
    { minLength: 2, maxLength: 4 },
  ),
  kept: fc.nat({ max: 2 }),
  last: smallClusters,
  listingLagMs: fc.constantFrom(0, 0, 1_000),
});

/**
 * What going on from an old state, with other means if given, has deleted of what was planned later, and which applies refused their state. What
 * somebody else made later under a name that was planned before cannot be told from one's own.
 */
async function courseOf({ goals, kept, last, listingLagMs }: Course, later?: Sabotage) {
  const traits = { ...plainWorld, listingLagMs };
  const planned = new Set<NodeKey>();
  const note = (target: Target | undefined) =>
    target?.nodes.map(keyOf).forEach((key) => planned.add(key));
  const tell = (event: RunEvent) => {
    if ("plan" in event) note(event.plan.target);
  };
  let isBack = false;
  const sabotage: Sabotage = (means) => (isBack ? (later?.(means) ?? means) : means);
  const engine = new FakeEngine({ traits, sabotage, tell });
  const said: string[] = [];
  const states = [];
  for (const { wanted, fault } of goals) {
    said.push(outcomeText(await engine.up(desiredCluster(wanted), fault ? [fault] : [])));
    note(engine.prior.transaction?.target);
    states.push({ state: engine.savedState(), planned: new Set(planned) });
  }
  const saved = states[kept % states.length] ?? assert.fail("a course has goals");
  engine.restoreState(saved.state);
  // Until then nobody could tell.
  engine.clock.advance(listingLagMs);
  isBack = true;
  const unknown = engine
    .alive()
    .filter(({ who }) => !saved.planned.has(keyOf(who)))
    .map(({ id }) => id);
  const swept = sweptIn(engine);
  said.push(outcomeText(await engine.up(desiredCluster(last))));
  const left = new Set(aliveIn(engine).filter((id) => !swept.has(id)));
  const refused = said.filter((one) => one.includes("its state is an older one"));
  return { deleted: unknown.filter((id) => !left.has(id)), refused, said: said.join("\n") };
}

type Sabotage = NonNullable<EngineSetup["sabotage"]>;

describe("a state that is older than the cloud", () => {
  const refusal =
    /broke: AMBIGUOUS_OWNER cannot change default\/prod: its state is an older one: it ends with transaction 1, and the cloud holds LocalHost cp-\w+-1 \(LocalHost-\d+\), made after that/;

  it("is refused by whoever would change anything, and nothing is touched", async () => {
    const engine = await FakeEngine.running(goal(member()));
    const old = engine.savedState();
    await engine.settle(goal(member("large")));
    const before = aliveIn(engine);
    engine.restoreState(old);
    for (const wanted of [member(), member("large"), member("medium")]) {
      assert.match(outcomeText(await engine.up(goal(wanted))), refusal);
    }
    assert.deepEqual(aliveIn(engine), before);
  });

  it("is refused where what it lacks was imported", async () => {
    const engine = await FakeEngine.running(goal(member()));
    const old = engine.savedState();
    await engine.settle(goal(member(), machine("db")));
    engine.restoreState(old);
    assert.match(outcomeText(await engine.up(goal(member()))), /AMBIGUOUS_OWNER/);
    assert.equal(engine.hosts().length, 2);
  });

  it("is what drift says of it", async () => {
    const engine = await FakeEngine.running(goal(member()));
    const old = engine.savedState();
    await engine.settle(goal(member(), machine("db")));
    engine.restoreState(old);
    const observation = await engine.sight();
    const report = classifyDrift(engine.prior, observation, engine.provider);
    assert.deepEqual(
      report.items.map((item) => [item.class, "origin" in item && item.origin]),
      [["extra", "newer"]],
    );
  });

  it("does not keep anybody from destroying all of the cluster", async () => {
    const engine = await FakeEngine.running(goal(member()));
    const old = engine.savedState();
    await engine.settle(goal(member(), machine("db")));
    engine.restoreState(old);
    assert.equal(outcomeText(await engine.destroy()), "done");
    assert.deepEqual(aliveIn(engine), []);
  });

  it("is gone on from where all that it lacks is gone, without a name that was used", async () => {
    const engine = await FakeEngine.running(goal(member(), machine("web")));
    const old = engine.savedState();
    for (let times = 0; times < 2; times += 1) {
      engine.cloud.kill(engine.hosts().at(-1)?.id ?? "");
      await engine.settle(goal(member(), machine("web")));
    }
    engine.cloud.kill(engine.hosts().at(-1)?.id ?? "");
    engine.restoreState(old);
    assert.equal(outcomeText(await engine.up(goal(member(), machine("web")))), "done");
    assert.match(engine.hosts().at(-1)?.who.name ?? "", /^web-\w+-4$/);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("of an earlier life is refused, and given up by a destroy that leaves the later one alone", async () => {
    const traits = { ...plainWorld, name: "the cloud" };
    const engine = await FakeEngine.running(goal(member()), { adopt: true, traits });
    const old = engine.savedState();
    assert.equal(outcomeText(await engine.destroy()), "done");
    await engine.settle(goal(member()));
    const later = aliveIn(engine);
    engine.restoreState(old);
    assert.match(
      outcomeText(await engine.up(goal(member()))),
      /AMBIGUOUS_OWNER cannot change default\/prod: all that its state records is gone, and the cloud holds 3 resources of another life/,
    );
    assert.equal(outcomeText(await engine.destroy()), "done");
    assert.equal(outcomeText(await engine.up(goal(member()))), "done");
    assert.deepEqual(aliveIn(engine), later);
  });

  it("is refused where it knows the host of a volume and not the volume, and a removal takes neither", async () => {
    const engine = await FakeEngine.running(goal(member(), machine("db")));
    const old = engine.savedState();
    await engine.settle(goal(member(), machine("db", { dataVolume: { gib: 1 } })));
    engine.restoreState(old);
    assert.match(
      outcomeText(await engine.up(goal(member()))),
      /AMBIGUOUS_OWNER .* ends with transaction 1, .* holds LocalVolume db-\w+-1-data \(/,
    );
    assert.equal(engine.alive().filter(({ who }) => who.kind === "LocalVolume").length, 1);
  });

  it("never leads to a deletion of what it does not know", () =>
    assertAsyncLaw(
      fc.asyncProperty(courses, async (course) => {
        const { deleted, said } = await courseOf(course);
        assert.deepEqual(deleted, [], said);
      }),
      120,
    )).timeout(120_000);

  it("is not what a state is that is the newest, whatever an apply has left", () =>
    assertAsyncLaw(
      fc.asyncProperty(courses, async (course) => {
        const kept = course.goals.length - 1;
        assert.deepEqual((await courseOf({ ...course, kept })).refused, []);
      }),
      75,
    )).timeout(120_000);

  it("leads to one with records that claim a volume of it, which the law sees", async () => {
    const db = { diskGib: 20, tags: {} };
    const wanted: WantedCluster = {
      cluster: { cidr: "10.0.0.0/16" },
      machines: { "cp-0": { controlPlane: "1.34.2" }, "db-0": db },
      sets: {},
      deployments: {},
    };
    const { "db-0": _gone, ...machines } = wanted.machines;
    const grown = { ...wanted.machines, "db-0": { ...db, dataVolume: { gib: 1 } } };
    const goals = [{ wanted }, { wanted: { ...wanted, machines: grown } }];
    const course = { goals, kept: 0, last: { ...wanted, machines }, listingLagMs: 0 };
    assert.deepEqual((await courseOf(course)).deleted, []);
    const superseded = [nodeKey("LocalVolume", "db-0-a830c4ef-1-data")];
    const claiming: Sabotage = (means) =>
      recalling(means, (transaction) => ({ ...transaction, superseded }));
    assert.equal((await courseOf(course, claiming)).deleted.length, 1);
  });
});
