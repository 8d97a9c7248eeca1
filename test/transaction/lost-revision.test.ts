import assert from "node:assert/strict";
import fc from "fast-check";
import { revisionKey } from "../../src/transaction/pass.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { assertAsyncLaw } from "../support/laws.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";
import { desiredCluster, smallClusters, type WantedCluster } from "../support/wanted-cluster.js";

/** What a plain `pulumi destroy` leaves that was interrupted or refused: it deletes Revision before anything else. */
function loseRevision(engine: FakeEngine): void {
  const { resources, pending } = engine.savedState();
  const left = resources.filter(({ key }) => key !== revisionKey);
  assert.ok(left.length < resources.length, "there was a revision");
  engine.restoreState({ resources: left, pending });
}

const aliveIn = (engine: FakeEngine): string[] => engine.alive().map(({ id }) => id);
const member = machine("cp", { controlPlane: "1.34.2" });
const goal = desiredOf([cluster(), member]);
const more = desiredOf([cluster(), member, machine("web")]);

describe("a stack whose last commit is recorded and its revision is not", () => {
  const running = async (): Promise<FakeEngine> => {
    const engine = await FakeEngine.running(goal);
    loseRevision(engine);
    return engine;
  };

  it("is at rest, with that revision", async () => {
    const { transaction, revision } = (await running()).prior;
    assert.deepEqual([transaction?.number, transaction?.committed, revision?.number], [1, 1, 1]);
    assert.deepEqual(revision?.target, transaction?.target);
  });

  it("gets its record by the next command, in the same transaction", async () => {
    const engine = await running();
    const before = aliveIn(engine);
    assert.equal((await engine.plan(goal)).empty, false);
    assert.equal(outcomeText(await engine.up(goal)), "done");
    const { transaction, revision, resources } = engine.prior;
    assert.deepEqual([transaction?.number, revision?.number], [1, 1]);
    assert.ok(resources.some(({ key }) => key === revisionKey));
    assert.equal(revision?.history.length, 1);
    assert.deepEqual(aliveIn(engine), before);
    assert.equal((await engine.plan(goal)).empty, true);
  });

  it("keeps what it has when the next change fails", async () => {
    const engine = await running();
    const before = aliveIn(engine);
    const text = outcomeText(
      await engine.up(more, [{ at: "call", number: 0, what: "failForGood" }]),
    );
    assert.match(text, /rolledBack/);
    assert.deepEqual(aliveIn(engine), before);
  });

  it("keeps what it has when a rollback is asked for", async () => {
    const engine = await running();
    const before = aliveIn(engine);
    await engine.rollback();
    assert.deepEqual(aliveIn(engine), before);
  });

  it("has nothing to go back to but itself also when it is lost in the middle of a change", async () => {
    const engine = await FakeEngine.running(goal);
    await engine.up(more, [{ at: "call", number: 0, what: "killAfter" }]);
    loseRevision(engine);
    assert.deepEqual([engine.prior.transaction?.number, engine.prior.revision?.number], [2, 1]);
    await engine.rollback();
    assert.equal(engine.hosts().length, 2, "it cannot be told what of it is new");
    assert.equal(outcomeText(await engine.up(goal)), "done");
    assert.equal(engine.hosts().length, 1);
  });

  it("is destroyed by who asks for that", async () => {
    const engine = await running();
    assert.equal(outcomeText(await engine.destroy()), "done");
    assert.deepEqual(aliveIn(engine), []);
  });

  it("before its first commit has nothing to go back to", async () => {
    const engine = new FakeEngine({ traits: plainWorld });
    await engine.up(goal, [{ at: "call", number: 2, what: "failForGood" }]);
    assert.deepEqual(aliveIn(engine), []);
  });

  interface Course {
    readonly before: WantedCluster;
    readonly next: WantedCluster;
    readonly number: number;
    readonly what: "fail" | "failForGood" | "killBefore" | "killAfter";
  }
  const courses: fc.Arbitrary<Course> = fc.record({
    before: smallClusters,
    next: smallClusters,
    number: fc.nat({ max: 8 }),
    what: fc.constantFrom("fail", "failForGood", "killBefore", "killAfter"),
  });

  it("loses nothing that is wanted before and after, whatever fails", () =>
    assertAsyncLaw(
      fc.asyncProperty(courses, async ({ before, next, number, what }) => {
        const courseOf = async (isLost: boolean) => {
          const engine = await FakeEngine.running(desiredCluster(before));
          if (isLost) loseRevision(engine);
          const said = outcomeText(
            await engine.up(desiredCluster(next), [{ at: "call", number, what }]),
          );
          return {
            said,
            alive: engine
              .alive()
              .map(({ who }) => `${who.kind} ${who.name}`)
              .sort(),
          };
        };
        assert.deepEqual(await courseOf(true), await courseOf(false));
      }),
      60,
    )).timeout(120_000);
});
