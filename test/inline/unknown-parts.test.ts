import assert from "node:assert/strict";
import { unknownPaths, unknownValue } from "../../src/api/unknown.js";
import { objectsOf, providerValue } from "../../src/api/types.js";
import { unknownNotes } from "../../src/inline/inline-notes.js";
import { withRecordedValues, withUnknownFields } from "../../src/inline/unknown-parts.js";
import { programOf } from "../../src/transaction/pass.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";

const control = machine("cp", { controlPlane: "1.34.2" });
const goal = (vpc: string, more: object = {}) =>
  desiredOf([
    cluster(),
    control,
    machine("db", { tags: { vpc }, ...more }),
    machineDeployment("web", 2, { tags: { vpc } }),
  ]);

describe("values that a preview does not know", () => {
  it("are taken to be as they are recorded", async () => {
    const engine = await FakeEngine.running(goal("vpc-1"));
    const { objects } = engine.prior.transaction!.target;
    const planned = withRecordedValues(goal(unknownValue), objects);
    assert.deepEqual(planned, goal("vpc-1"));
    assert.equal((await engine.plan(planned)).empty, true);
  });

  it("stay unknown where nothing is recorded, and what is known changes all the same", async () => {
    const engine = await FakeEngine.running(goal("vpc-1"));
    const { objects } = engine.prior.transaction!.target;
    const wanted = goal(unknownValue, {
      tags: { vpc: unknownValue, team: unknownValue },
      size: "large",
    });
    const planned = withRecordedValues(wanted, objects);
    const db = planned.machines.find(({ metadata }) => metadata.name === "db");
    const { tags, size } = providerValue(db!.spec);
    assert.deepEqual(tags, { vpc: "vpc-1", team: unknownValue });
    assert.equal(size, "large");
  });

  it("are shown where they count, of what is planned without a change", async () => {
    const engine = await FakeEngine.running(goal("vpc-1"));
    const state = engine.prior;
    const wanted = goal(unknownValue);
    const plan = await engine.plan(withRecordedValues(wanted, state.transaction!.target.objects));
    const whole = {
      kind: "commit",
      allowed: new Set<never>(),
      deletions: new Set<never>(),
    } as const;
    const program = programOf(plan, state, whole, { transaction: "", revision: "" });
    const shown = withUnknownFields(program, plan, wanted, engine.provider);
    const unknown = shown.registrations.filter(({ inputs }) => unknownPaths(inputs).length > 0);
    assert.deepEqual(unknown.map(({ key }) => key.replace(/-[0-9a-f]{8}/g, "")).sort(), [
      "LocalHost/db-1",
      "LocalHost/web-0-1",
      "LocalHost/web-1-1",
    ]);
    for (const { inputs } of unknown) {
      assert.deepEqual(unknownPaths(inputs), [["spec", "tags", "vpc"]]);
    }
    assert.equal(shown.registrations.length, program.registrations.length);
  });

  it("plan a first cluster, and one that is given something new", async () => {
    const first = await new FakeEngine().plan(goal(unknownValue));
    assert.equal(first.steps.length, 6);
    const engine = await FakeEngine.running(desiredOf([cluster(), control]));
    const plan = await engine.plan(desiredOf([cluster({ network: unknownValue }), control]));
    assert.ok(
      plan.steps.some(({ kind }) => kind === "create"),
      "another network needs other hosts",
    );
    assert.ok(unknownPaths(plan.target.nodes as never).length > 0);
  });

  it("ask nobody about them", async () => {
    const engine = new FakeEngine();
    const plan = await engine.plan(
      desiredOf([
        cluster({ network: unknownValue }),
        control,
        machine("db", { imageFamily: unknownValue }),
      ]),
    );
    assert.deepEqual(engine.cloud.questions, []);
    const host = plan.target.nodes.find(({ name }) => name.startsWith("db-"));
    assert.equal(host?.spec["image"], unknownValue);
    assert.equal(host?.spec["networkId"], unknownValue);
  });

  it("are told of by their names", () => {
    assert.deepEqual(unknownNotes([]), []);
    assert.match(unknownNotes(["a", "b"])[0] ?? "", /^a, b are known after apply: /);
    assert.equal(objectsOf(goal("x")).length, 4);
  });
});
