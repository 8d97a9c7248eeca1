import assert from "node:assert/strict";
import { wavesText } from "../../src/plan/admission/waves.js";
import { planNotes } from "../../src/plan/notes.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";
import { PretendEngine } from "../support/pretend-engine.js";

const web = (shape: object, spec: object = {}) => {
  const plain = machineDeployment("web", 8, shape) as { spec: object };
  return { ...plain, spec: { ...plain.spec, ...spec } };
};

async function planned(after: object) {
  const engine = new PretendEngine();
  const member = machine("cp", { controlPlane: "1.34.2" });
  await engine.settle(desiredOf([cluster(), member, web({ size: "small" })]));
  return engine.plan(desiredOf([cluster(), member, web({ size: "large" }, after)]));
}

describe("what a plan says of a deployment", () => {
  it("is how many machines do not follow a template that is held back", async () => {
    assert.deepEqual(planNotes(await planned({ paused: true })), [
      "MachineDeployment web: 8 machines do not follow the template (it is paused).",
    ]);
    assert.deepEqual(planNotes(await planned({ strategy: { type: "OnDelete" } })), [
      "MachineDeployment web: 8 machines do not follow the template (its strategy is OnDelete).",
    ]);
    assert.deepEqual(planNotes(await planned({})), []);
  });

  it("is how many machines are missing while a wave makes and deletes", async () => {
    const bounds = (maxSurge: number, maxUnavailable: number) => ({
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
    });
    assert.match(wavesText(await planned(bounds(2, 1))), /at most 1 machine unavailable$/);
    assert.match(wavesText(await planned(bounds(0, 3))), /at most 3 machines unavailable$/);
    assert.match(wavesText(await planned(bounds(2, 0))), /^\d+ waves$/);
  });
});
