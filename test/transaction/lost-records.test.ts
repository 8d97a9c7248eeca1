import assert from "node:assert/strict";
import fc from "fast-check";
import type { NodeKey } from "../../src/graph/graph.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { assertAsyncLaw } from "../support/laws.js";
import { loseRecords } from "../support/record-accidents.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";
import { desiredCluster, smallClusters, type WantedCluster } from "../support/wanted-cluster.js";

const member = machine("cp", { controlPlane: "1.34.2" });
const goal = desiredOf([cluster(), member, machine("db", { dataVolume: { gib: 1 } })]);
const moved = machine("db", { dataVolume: { gib: 1 }, zone: "local-b" });

const ids = (engine: FakeEngine) => engine.alive().map(({ id }) => id);

describe("a stack that lacks records of what was committed and lives", () => {
  const lost: Readonly<Record<string, (key: NodeKey) => boolean>> = {
    "a worker": (key) => key.startsWith("LocalHost/db"),
    "a member": (key) => key.startsWith("LocalHost/cp"),
    "a volume": (key) => key.startsWith("LocalVolume"),
    "all of it": () => true,
  };
  for (const [what, isLost] of Object.entries(lost)) {
    it(`finds ${what} again`, async () => {
      const engine = await FakeEngine.running(goal);
      const before = ids(engine);
      loseRecords(engine, isLost);
      const plan = await engine.plan(goal);
      assert.deepEqual([plan.orphaned, plan.transaction.number], [[], 2]);
      assert.equal(outcomeText(await engine.up(goal)), "done");
      assert.deepEqual(ids(engine), before);
      assert.equal((await engine.plan(goal)).empty, true);
    });
  }

  for (const [what, other] of Object.entries({
    "changes so that another takes its place": [cluster(), member, moved],
    "is wanted no more": [cluster(), member],
  })) {
    it(`is not changed where what has no record ${what}, until it has one`, async () => {
      const engine = await FakeEngine.running(goal);
      const before = ids(engine);
      loseRecords(engine, (key) => key.startsWith("LocalHost/db"));
      assert.match(
        outcomeText(await engine.up(desiredOf(other))),
        /BAD_STATE cannot change default\/prod: what revision 1 has made .* no record: LocalHost db-\w+-1 \(/,
      );
      assert.deepEqual(ids(engine), before);
      assert.equal(outcomeText(await engine.up(goal)), "done");
      assert.deepEqual(ids(engine), before);
      assert.equal(outcomeText(await engine.up(desiredOf(other))), "done");
    });
  }

  for (const whenHostGoes of ["keep", "delete"] as const) {
    for (const [what, isLost] of Object.entries({
      "a volume": (key: NodeKey) => key.startsWith("LocalVolume"),
      "a host": (key: NodeKey) => key.startsWith("LocalHost/db"),
    })) {
      it(`replaces a host that its cloud announces to go, where ${what} has no record (${whenHostGoes})`, async () => {
        const shape = { dataVolume: { gib: 1, whenHostGoes } };
        const desired = desiredOf([cluster(), member, machine("db", shape)]);
        const courseOf = async (loses: boolean) => {
          const engine = await FakeEngine.running(desired);
          const old = engine.hosts().find(({ who }) => who.name.startsWith("db"));
          const kept = engine.alive().find(({ who }) => who.kind === "LocalVolume")?.id;
          if (loses) loseRecords(engine, isLost);
          engine.cloud.announce(old?.id ?? "");
          // A host without a record is found before another one takes its place.
          await engine.up(desired);
          assert.equal(outcomeText(await engine.up(desired)), "done");
          assert.equal((await engine.plan(desired)).empty, true);
          assert.deepEqual(engine.cloud.watch.violations, []);
          const names = engine.alive().map(({ who }) => `${who.kind} ${who.name}`);
          const isKept = engine.cloud.alive().some(({ id }) => id === kept);
          return { names: names.sort(), isKept };
        };
        const course = await courseOf(true);
        assert.deepEqual(course, await courseOf(false));
        assert.equal(course.isKept, whenHostGoes === "keep");
        assert.match(course.names.join(), /LocalHost db-\w+-2/);
      });
    }
  }

  it("is destroyed with all that was committed", async () => {
    const engine = await FakeEngine.running(goal);
    loseRecords(engine, (key) => key.startsWith("LocalHost"));
    assert.equal(outcomeText(await engine.destroy()), "done");
    assert.deepEqual(ids(engine), []);
  });

  it("makes another host for one that is gone, and removes what that left", async () => {
    const engine = await FakeEngine.running(goal);
    const [host] = engine.hosts().filter(({ who }) => who.name.startsWith("db"));
    loseRecords(engine, (key) => key.startsWith("LocalHost/db"));
    engine.cloud.kill(host?.id ?? "");
    assert.equal(outcomeText(await engine.up(goal)), "done");
    assert.match(engine.hosts().at(-1)?.who.name ?? "", /^db-\w+-2$/);
  });

  interface Course {
    readonly before: WantedCluster;
    readonly next: WantedCluster;
    /** Of each record in turn, whether it is lost. */
    readonly lost: readonly boolean[];
  }
  const courses: fc.Arbitrary<Course> = fc
    .record({
      before: smallClusters,
      next: fc.option(smallClusters, { nil: undefined }),
      lost: fc.array(fc.boolean(), { minLength: 12, maxLength: 12 }),
    })
    .map(({ next, ...rest }) => ({ ...rest, next: next ?? rest.before }));

  it("ends where it would have ended with them", () =>
    assertAsyncLaw(
      fc.asyncProperty(courses, async ({ before, next, lost: drawn }) => {
        const courseOf = async (loses: boolean) => {
          const engine = await FakeEngine.running(desiredCluster(before));
          const first = ids(engine);
          if (loses) loseRecords(engine, (_key, index) => drawn[index % drawn.length] === true);
          let said = outcomeText(await engine.up(desiredCluster(next)));
          if (said.includes("no record")) {
            assert.deepEqual(ids(engine), first, "nothing was touched");
            assert.equal(outcomeText(await engine.up(desiredCluster(before))), "done");
            assert.deepEqual(ids(engine), first, "all of it is found again");
            said = outcomeText(await engine.up(desiredCluster(next)));
          }
          const names = engine.alive().map(({ who }) => `${who.kind} ${who.name}`);
          const stayed = ids(engine).filter((id) => first.includes(id));
          return { said, names: names.sort(), stayed: stayed.sort() };
        };
        assert.deepEqual(await courseOf(true), await courseOf(false));
      }),
      100,
    )).timeout(120_000);
});
