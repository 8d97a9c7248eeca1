import assert from "node:assert/strict";
import { cloudResources } from "../../src/records/prior-state.js";
import { cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const member = (name: string) => machine(name, { controlPlane: "1.34.2" });

async function running(...objects: Manifest[]): Promise<FakeEngine> {
  const engine = new FakeEngine({ traits: plainWorld });
  await engine.settle(goal(...objects));
  return engine;
}

const idsOf = (engine: FakeEngine) =>
  engine
    .alive()
    .map(({ id }) => id)
    .sort();

function halt(engine: FakeEngine, ...names: string[]): void {
  for (const { id, who } of engine.hosts()) {
    if (names.some((name) => who.name.startsWith(name))) engine.cloud.halt(id);
  }
}

describe("a host that somebody has stopped", () => {
  it("is started where it is, with all that it has", async () => {
    const web = machine("web", { dataVolume: { gib: 10 } });
    const engine = await running(web);
    const before = idsOf(engine);
    halt(engine, "web");
    const plan = await engine.plan(goal(web));
    assert.deepEqual(
      plan.steps.map((step) => [step.kind, step.reason, step.kind === "update" && step.starts]),
      [["update", "its host is stopped", true]],
    );
    const outcome = await engine.up(goal(web));
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assert.deepEqual(idsOf(engine), before);
    assert.ok(engine.hosts().every(({ phase }) => phase === "ready"));
    assert.ok((await engine.plan(goal(web))).empty);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("is started by whoever comes after a kill, and never replaced", async () => {
    for (const what of ["killBefore", "killAfter", "killLate"] as const) {
      const engine = await running(member("cp"));
      const before = idsOf(engine);
      halt(engine, "cp");
      await engine.up(goal(member("cp")), [{ at: "call", number: 0, what }]);
      await engine.settle(goal(member("cp")));
      assert.deepEqual(idsOf(engine), before, what);
      assert.ok(engine.hosts().every(({ phase }) => phase === "ready"));
    }
  });

  it("changes and runs where its manifest has changed meanwhile", async () => {
    const engine = await running(machine("web"));
    const before = idsOf(engine);
    halt(engine, "web");
    const wanted = goal(machine("web", { tags: { team: "a" } }));
    assert.equal((await engine.up(wanted)).kind, "done");
    assert.deepEqual(idsOf(engine), before);
    const [host] = engine.hosts();
    assert.deepEqual([host?.phase, host?.spec["tags"]], ["ready", { team: "a" }]);
  });

  it("comes back together with the other members, which need each other", async () => {
    const members = ["cp-0", "cp-1", "cp-2"].map(member);
    const engine = await running(...members);
    const before = idsOf(engine);
    halt(engine, "cp");
    const plan = await engine.plan(goal(...members));
    const waves = plan.steps.map(({ kind }) => kind);
    assert.deepEqual(waves, ["update", "update", "update"]);
    assert.equal((await engine.up(goal(...members))).kind, "done");
    assert.deepEqual(idsOf(engine), before);
    assert.equal(cloudResources(engine.prior).length, before.length);
  });
});
