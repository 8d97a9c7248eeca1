import assert from "node:assert/strict";
import fc from "fast-check";
import type { StackEngine } from "../../src/engine/pulumi/engine.js";
import { classifyDrift } from "../../src/drift/classify.js";
import { keyOf } from "../../src/graph/graph.js";
import { planNotes } from "../../src/plan/changes/notes.js";
import { plainWorld } from "../support/fake-cloud.js";
import { type EngineSetup, FakeEngine, outcomeText } from "../support/fake-engine.js";
import type { CommandFault } from "../support/faults.js";
import { assertAsyncLaw } from "../support/laws.js";
import { annotated, cluster, desiredOf, machine } from "../support/manifests.js";
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

  it("stays where its original is killed before anything has been asked for", async () => {
    const engine = await FakeEngine.running(goal);
    const original = engine.alive()[lastOf(engine)] ?? assert.fail("a host is there");
    const copy = copied(engine, lastOf(engine));
    assert.equal(outcomeText(await engine.up(goal)), "done");
    engine.cloud.kill(original.id);
    assert.equal(outcomeText(await engine.up(goal)), "done");
    assert.equal(outcomeText(await engine.up(moved)), "done");
    assert.ok(ids(engine).includes(copy));
    assert.equal(engine.alive().filter(({ who }) => who.name.startsWith("db-")).length, 2);
  });

  it("stays, and so does its original, where no record tells which it is, until somebody says so", async () => {
    const alone = desiredOf([cluster(), member]);
    for (const verb of ["same", "other", "rollback", "destroy"] as const) {
      const engine = await FakeEngine.running(alone);
      const killed = { at: "call", number: 0, what: "killAfter" } as const;
      assert.equal(outcomeText(await engine.up(goal, [killed])), "killed");
      engine.clock.advance(20 * 60_000);
      const copy = copied(engine, lastOf(engine));
      const before = ids(engine);
      const run = () => {
        if (verb === "rollback") return engine.rollback();
        if (verb === "destroy") return engine.destroy();
        return engine.up(verb === "same" ? goal : alone);
      };
      for (const _again of [1, 2]) {
        assert.match(outcomeText(await run()), /cannot tell which resource is .*LocalHost-\d+$/s);
        assert.deepEqual(ids(engine), before, verb);
      }
      engine.cloud.kill(copy);
      assert.match(outcomeText(await run()), /^(done|rolledBack: a user asked for it)$/, verb);
    }
  });

  it("is told from a host that a hook holds and that nobody had recorded", async () => {
    const hook = { "pre-terminate.delete.hook.machine.cluster.x-k8s.io/migrate": "" };
    const alone = desiredOf([cluster(), member]);
    const held = desiredOf([cluster(), member, annotated(hook, machine("db"))]);
    const engine = await FakeEngine.running(alone);
    await engine.up(held, [{ at: "call", number: 0, what: "killAfter" }]);
    engine.clock.advance(20 * 60_000);
    const original = engine.alive()[lastOf(engine)] ?? assert.fail("a host is there");
    assert.match(outcomeText(await engine.up(alone)), /^stopped owing: .*held by/s);
    const { who, id } = original;
    assert.deepEqual(engine.prior.transaction?.deletedIds, { [keyOf(who)]: id });
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
    /** Which of what is alive is copied before each goal but the first, in their order. */
    readonly copied: readonly number[];
    /** Which is copied before a pass on the way to the second goal. */
    readonly meanwhile: { readonly which: number; readonly pass: number };
    /** The second goal is not taken back where it fails. */
    readonly keeps: boolean;
    readonly fault: CommandFault;
    readonly end: "up" | "rollback" | "destroy";
  }
  const courses: fc.Arbitrary<Course> = fc.record({
    goals: fc.array(smallClusters, { minLength: 2, maxLength: 4 }),
    copied: fc.array(fc.nat({ max: 7 }), { maxLength: 3 }),
    meanwhile: fc.record({ which: fc.nat({ max: 7 }), pass: fc.nat({ max: 4 }) }),
    keeps: fc.boolean(),
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
    const copies: string[] = [];
    let due: Course["meanwhile"] | undefined;
    let passes = 0;
    const copying: EngineSetup["sabotage"] = (means) => {
      const pass: StackEngine["pass"] = async (...args) => {
        if (due?.pass === passes) copies.push(copied(engine, due.which));
        passes += 1;
        return means.engine.pass(...args);
      };
      const busy = Object.create(means.engine, { pass: { value: pass } }) as StackEngine;
      return { ...(sabotage?.({ ...means, engine: busy }) ?? { ...means, engine: busy }) };
    };
    const engine = await FakeEngine.running(desiredCluster(first), {
      sabotage: copying,
      traits: plainWorld,
    });
    const said: string[] = [];
    for (const [index, wanted] of later.entries()) {
      const which = course.copied[index];
      if (which !== undefined) copies.push(copied(engine, which));
      const isSecond = index === 0;
      [due, passes] = [isSecond ? course.meanwhile : undefined, 0];
      const faults = isSecond ? [course.fault] : [];
      const onFailure = isSecond && course.keeps ? "keep" : "rollBack";
      said.push(outcomeText(await engine.up(desiredCluster(wanted), faults, onFailure)));
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
    ));

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
      goals: [before, after, before, after],
      copied: [3],
      meanwhile: { which: 0, pass: 9 },
      keeps: false,
      fault: { at: "call", number: 99, what: "fail" },
      end: "up",
    };
    assert.deepEqual((await courseOf(course)).lost, []);
    const forgetful: EngineSetup["sabotage"] = (means) =>
      recalling(means, ({ copies: _copies, ...transaction }) => transaction);
    assert.equal((await courseOf(course, forgetful)).lost.length, 1);
    // One that comes once the transaction is recorded that deletes its original.
    const late = { ...course, copied: [], meanwhile: { which: 3, pass: 1 } };
    assert.deepEqual((await courseOf(late)).lost, []);
    const idless: EngineSetup["sabotage"] = (means) =>
      recalling(means, ({ deletedIds: _ids, ...transaction }) => transaction);
    assert.equal((await courseOf(late, idless)).lost.length, 1);
  });
});
