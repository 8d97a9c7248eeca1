import assert from "node:assert/strict";
import type { Plan } from "../../../src/plan/plan.js";
import { failsWith } from "../../support/errors.js";
import {
  asking,
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  type Manifest,
} from "../../support/manifests.js";
import { FakeEngine } from "../../support/fake-engine.js";

function running(...objects: Manifest[]): Promise<FakeEngine> {
  return FakeEngine.running(desiredOf([cluster(), ...objects]));
}

function plan(engine: FakeEngine, ...objects: Manifest[]): Promise<Plan> {
  return engine.plan(desiredOf([cluster(), ...objects]));
}

function stepsOf({ steps }: Plan): string[] {
  return steps.map(({ kind, key }) => `${kind} ${key.replace(/-[0-9a-f]{8}(?=-|$)/g, "-#")}`);
}

describe("plans under an update policy", () => {
  it("replaceOnly: a new host for a new kubelet, named by its incarnation, and then nothing to do", async () => {
    const engine = await running(machine("web"));
    const changed = asking("replaceOnly", machine("web", { kubelet: "1.34.1" }));
    const first = await plan(engine, changed);
    assert.deepEqual(stepsOf(first), ["create LocalHost/web-#-2", "delete LocalHost/web-#-1"]);
    const [change] = first.machines;
    assert.deepEqual(
      [change?.kind, change?.reasons],
      ["replace", ["policy replaceOnly asks for it"]],
    );
    await engine.settle(desiredOf([cluster(), changed]));
    assert.equal((await plan(engine, changed)).empty, true);
    const again = asking("replaceOnly", machine("web", { kubelet: "1.34.2" }));
    assert.deepEqual(stepsOf(await plan(engine, again)), [
      "create LocalHost/web-#-3",
      "delete LocalHost/web-#-2",
    ]);
  });

  it("replaceOnly: a deployment's machines go on in a new set, and say why", async () => {
    const engine = await running(machineDeployment("web", 2));
    const changed = asking("replaceOnly", machineDeployment("web", 2, { kubelet: "1.34.1" }));
    const { machines } = await plan(engine, changed);
    assert.deepEqual(
      machines.map(({ kind, reasons }) => [kind, reasons]),
      Array.from({ length: 2 }, () => ["replace", ["policy replaceOnly asks for it"]]),
    );
    await engine.settle(desiredOf([cluster(), changed]));
    assert.equal((await plan(engine, changed)).empty, true);
  });

  it("inPlaceOnly: refused with both reasons, also of a deployment", async () => {
    for (const make of [
      (shape = {}) => machine("web", shape),
      (shape = {}) => machineDeployment("web", 1, shape),
    ]) {
      const engine = await running(make());
      await assert.rejects(
        plan(engine, asking("inPlaceOnly", make({ size: "large" }))),
        failsWith(
          "UNSUPPORTED_CHANGE",
          /^cannot change Machine web\S*: changing size needs a new host \(.+\), which policy inPlaceOnly rules out$/,
        ),
      );
      const allowed = await plan(engine, asking("inPlaceOnly", make({ kubelet: "1.34.1" })));
      assert.deepEqual(
        allowed.steps.map(({ kind }) => kind),
        ["update"],
      );
    }
  });

  it("inPlaceOnly: a step whose opposite needs a new host cannot be taken back", async () => {
    const engine = await running(asking("inPlaceOnly", machine("web", { diskGib: 20 })));
    const { undo } = await plan(engine, asking("inPlaceOnly", machine("web", { diskGib: 40 })));
    assert.equal(undo[0]?.class, "pointOfNoReturn");
    assert.match(undo[0].reason, /a disk only grows.+inPlaceOnly/);
  });

  it("another policy alone changes no resource", async () => {
    const engine = await running(machine("web"));
    const asked = await plan(engine, asking("replaceOnly", machine("web")));
    assert.deepEqual([stepsOf(asked), asked.empty], [[], false]);
  });
});
