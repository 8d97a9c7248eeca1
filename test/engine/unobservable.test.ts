import assert from "node:assert/strict";
import { classifyDrift } from "../../src/drift/classify.js";
import { cloudResources, recordedSpec } from "../../src/records/prior-state.js";
import { plainWorld } from "../support/fake-cloud.js";
import { type EngineSetup, FakeEngine, outcomeText } from "../support/fake-engine.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";

/** A cloud that shows neither what a node runs nor its disk. */
const hidden: EngineSetup = {
  traits: { ...plainWorld, hides: ["kubelet", "controlPlane", "diskGib", "image"] },
};
const member = machine("cp", { controlPlane: "1.34.2" });
const goal = (changed: Parameters<typeof machine>[1] = {}) =>
  desiredOf([cluster(), member, machine("web", changed)]);

const disks = (engine: FakeEngine) =>
  cloudResources(engine.prior)
    .filter(({ kind }) => kind === "LocalHost")
    .map((host) => recordedSpec(host)["diskGib"]);

describe("inputs that a cloud does not show", () => {
  it("are as they are recorded: nothing drifts and nothing is planned", async () => {
    const engine = await FakeEngine.running(goal(), hidden);
    assert.equal((await engine.plan(goal())).empty, true);
    assert.deepEqual(disks(engine), [20, 20]);
    const report = classifyDrift(engine.prior, await engine.sight(), engine.provider);
    assert.deepEqual(report.items, []);
    assert.deepEqual(report.notChecked, [
      { kind: "LocalHost", fields: ["kubelet", "controlPlane", "diskGib", "image"] },
    ]);
  });

  it("change when somebody asks, by a new host alone, and only once", async () => {
    const engine = await FakeEngine.running(goal(), hidden);
    const grown = goal({ diskGib: 40 });
    const plan = await engine.plan(grown);
    assert.deepEqual(plan.steps.map(({ kind }) => kind).sort(), ["create", "delete"]);
    assert.match(JSON.stringify(plan.machines), /the cloud does not show it, so only a new one/);
    await engine.settle(grown);
    assert.deepEqual([...disks(engine)].sort(), [20, 40]);
    assert.equal((await engine.plan(grown)).empty, true);
  });

  it("are as they were when a change of them is killed and taken back", async () => {
    for (let number = 0; number < 12; number += 1) {
      const engine = await FakeEngine.running(goal(), hidden);
      const fault = { at: "write", number, what: "killAfter" } as const;
      await engine.up(goal({ diskGib: 40 }), [fault]);
      await engine.rollback();
      await engine.settle(goal());
      const { id } = engine.hosts().find(({ who }) => who.name.startsWith("web-"))!;
      assert.equal(engine.cloud.truth(id)?.["diskGib"], 20, `killed at ${number}`);
    }
  });

  it("are taken back with a change that fails", async () => {
    const engine = await FakeEngine.running(goal(), hidden);
    const outcome = await engine.up(goal({ image: "local/debian-13" }), [
      { at: "boot", number: 0, what: "fails" },
    ]);
    assert.match(outcomeText(outcome), /^rolledBack/);
    assert.equal((await engine.plan(goal())).empty, true);
  });

  it("are what an interrupted creation was asked for", async () => {
    const engine = new FakeEngine(hidden);
    await engine.up(goal(), [{ at: "call", number: 3, what: "killAfter" }]);
    await engine.settle(goal());
    assert.equal(engine.hosts().length, 2);
    assert.equal((await engine.plan(goal())).empty, true);
  });

  it("are as the manifests have them where the state was lost", async () => {
    const engine = await FakeEngine.running(goal({ diskGib: 40 }), { ...hidden, adopt: true });
    const before = engine.hosts().map(({ id }) => id);
    engine.loseState();
    await engine.settle(goal({ diskGib: 40 }));
    assert.deepEqual(
      engine.hosts().map(({ id }) => id),
      before,
      "nothing is made again",
    );
    assert.deepEqual([...disks(engine)].sort(), [20, 40]);
  });
});
