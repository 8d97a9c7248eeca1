import assert from "node:assert/strict";
import fc from "fast-check";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { classifyDrift } from "../../src/drift/classify.js";
import { planNotes } from "../../src/plan/changes/notes.js";
import { plainWorld } from "../support/fake-cloud.js";
import { type EngineSetup, FakeEngine, outcomeText } from "../support/fake-engine.js";
import type { CommandFault } from "../support/faults.js";
import { assertAsyncLaw } from "../support/laws.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";
import { recalling } from "../support/recalling.js";
import { desiredCluster, smallClusters, type WantedCluster } from "../support/wanted-cluster.js";

const member = machine("cp", { controlPlane: "1.34.2" });
const goal = desiredOf([cluster(), member, machine("db")]);
const moved = desiredOf([cluster(), member, machine("db", { zone: "local-b" })]);

/** Somebody copies a resource with its marks. */
function copied(engine: FakeEngine, number: number): string {
  const alive = engine.alive();
  const { who, spec } = alive[number % alive.length] ?? assert.fail("something is there");
  return engine.cloud.plant(who, spec).id;
}

const ids = (engine: FakeEngine) => engine.alive().map(({ id }) => id);
const lastOf = (engine: FakeEngine) => engine.alive().length - 1;

describe("a copy that somebody makes of a resource with its marks", () => {
  it("is told by plan and drift, also once what it was copied from is gone", async () => {
    const engine = await FakeEngine.running(goal);
    const copy = copied(engine, lastOf(engine));
    const told = async () => {
      const notes = planNotes(await engine.plan(moved)).join("\n");
      const { items } = classifyDrift(engine.prior, await engine.sight(), engine.provider);
      return { notes, items: items.map((item) => [item.id, "origin" in item && item.origin]) };
    };
    for (const when of ["before", "after"]) {
      const { notes, items } = await told();
      assert.match(notes, new RegExp(`in no record: LocalHost db-.* \\(${copy}\\), a copy`), when);
      assert.deepEqual(items, [[copy, "duplicate"]], when);
      assert.equal(outcomeText(await engine.up(moved)), "done");
    }
    assert.equal(engine.alive().filter(({ who }) => who.name.startsWith("db-")).length, 2);
  });

  it("stays when all of its cluster is destroyed, and keeps what it uses", async () => {
    const engine = await FakeEngine.running(goal);
    const [copy, network] = [copied(engine, lastOf(engine)), copied(engine, 0)];
    assert.match(
      outcomeText(await engine.destroy()),
      /stopped incomplete: cannot delete LocalNetwork network: .*: db-\w+-1 use it/,
    );
    engine.cloud.kill(copy);
    assert.equal(outcomeText(await engine.destroy()), "done");
    assert.deepEqual(ids(engine), [network]);
  });

  interface Course {
    readonly goals: readonly WantedCluster[];
    /** Which of what is alive is copied before each goal but the first. */
    readonly copied: readonly number[];
    readonly fault: CommandFault;
    readonly end: "up" | "rollback" | "destroy";
  }
  const courses: fc.Arbitrary<Course> = fc.record({
    goals: fc.array(smallClusters, { minLength: 2, maxLength: 4 }),
    copied: fc.array(fc.nat({ max: 7 }), { minLength: 1, maxLength: 3 }),
    fault: fc.record({
      at: fc.constant("call" as const),
      number: fc.nat({ max: 12 }),
      what: fc.constantFrom("killBefore" as const, "killAfter" as const, "fail" as const),
    }),
    end: fc.constantFrom("up" as const, "rollback" as const, "destroy" as const),
  });

  /** Which copies a course leaves, of how many. */
  async function courseOf(course: Course, sabotage?: EngineSetup["sabotage"]) {
    const [first = assert.fail("a course has goals"), ...later] = course.goals;
    const setup = omitUndefined({ sabotage, traits: plainWorld });
    const engine = await FakeEngine.running(desiredCluster(first), setup);
    const copies: string[] = [];
    const said: string[] = [];
    for (const [index, wanted] of later.entries()) {
      const which = course.copied[index];
      if (which !== undefined) copies.push(copied(engine, which));
      const faults = index === 0 ? [course.fault] : [];
      said.push(outcomeText(await engine.up(desiredCluster(wanted), faults)));
    }
    if (course.end === "rollback") said.push(outcomeText(await engine.rollback()));
    if (course.end === "destroy") said.push(outcomeText(await engine.destroy()));
    const left = new Set(ids(engine));
    return { lost: copies.filter((id) => !left.has(id)), said: said.join("\n") };
  }

  it("is never deleted, whatever verbs and faults there are", () =>
    assertAsyncLaw(
      fc.asyncProperty(courses, async (course) => {
        const { lost, said } = await courseOf(course);
        assert.deepEqual(lost, [], said);
      }),
      100,
    )).timeout(120_000);

  it("is deleted where records do not remember it, which the law sees", async () => {
    const db = { tags: {} };
    const before: WantedCluster = {
      cluster: { cidr: "10.0.0.0/16" },
      machines: { "cp-0": { controlPlane: "1.34.2" }, "db-0": db },
      sets: {},
      deployments: {},
    };
    const after = { ...before, machines: { ...before.machines, "db-0": { zone: "local-b" } } };
    const course: Course = {
      goals: [before, after, before],
      copied: [3],
      fault: { at: "call", number: 99, what: "fail" },
      end: "up",
    };
    assert.deepEqual((await courseOf(course)).lost, []);
    const forgetful: EngineSetup["sabotage"] = (means) =>
      recalling(means, ({ copies: _copies, ...transaction }) => transaction);
    assert.equal((await courseOf(course, forgetful)).lost.length, 1);
  });
});
