import assert from "node:assert/strict";
import fc from "fast-check";
import { classifyDrift } from "../../src/drift/classify.js";
import { cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { assertAsyncLaw } from "../support/laws.js";
import { desiredCluster, smallClusters } from "../support/wanted-cluster.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const member = (size = "small") => machine("cp", { controlPlane: "1.34.2", size });

/** What the cloud says, in an order of its own. */
function aliveIn(engine: FakeEngine): string[] {
  return engine
    .alive()
    .map(({ id }) => id)
    .sort();
}

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

  it("never leads to a deletion of what it does not know", () =>
    assertAsyncLaw(
      fc.asyncProperty(
        fc.array(smallClusters, { minLength: 2, maxLength: 4 }),
        fc.nat({ max: 2 }),
        smallClusters,
        async (goals, kept, last) => {
          const engine = new FakeEngine();
          const states = [];
          for (const wanted of goals) {
            await engine.up(desiredCluster(wanted));
            states.push(engine.savedState());
          }
          engine.restoreState(states[Math.min(kept, states.length - 1)] ?? engine.savedState());
          const recorded = new Set(engine.prior.resources.map(({ id }) => id));
          const unknown = aliveIn(engine).filter((id) => !recorded.has(id));
          const outcome = await engine.up(desiredCluster(last));
          const left = new Set(aliveIn(engine));
          assert.deepEqual(
            unknown.filter((id) => !left.has(id)),
            [],
            outcomeText(outcome),
          );
        },
      ),
      300,
    )).timeout(120_000);
});
