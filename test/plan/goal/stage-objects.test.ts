import assert from "node:assert/strict";
import { templateJudge } from "../../../src/compile/compile.js";
import { planUpgrade, type StagedObjects } from "../../../src/plan/goal/stage-objects.js";
import { expandMachines } from "../../../src/sets/expand.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../../support/manifests.js";
import { FakeEngine } from "../../support/fake-engine.js";

const objectsAt = (version: string, workers = 1): Manifest[] => [
  cluster(),
  machine("cp", { kubelet: version, controlPlane: version }),
  machineDeployment("web", workers, { kubelet: version }),
];

async function running(objects: readonly Manifest[]): Promise<FakeEngine> {
  const engine = new FakeEngine();
  await engine.settle(desiredOf(objects));
  return engine;
}

function upgrade(engine: FakeEngine, objects: readonly Manifest[]) {
  const running = engine.prior.revision?.target.machines ?? [];
  const desired = desiredOf(objects);
  const judge = templateJudge(engine.provider, desired.cluster);
  return planUpgrade({ desired, wanted: expandMachines(desired, running, judge), running });
}

function stagesOf(engine: FakeEngine, objects: readonly Manifest[]): readonly StagedObjects[] {
  const plan = upgrade(engine, objects);
  assert.ok(plan.kind === "stages", JSON.stringify(plan));
  return plan.stages;
}

/** "cp 1.33.6/1.33.6" for each recorded machine; hashes are left out. */
function versionsIn(engine: FakeEngine): string[] {
  return (engine.prior.revision?.target.machines ?? []).map(({ name, spec }) => {
    const { kubelet, controlPlane } = spec.versions;
    const versions = controlPlane === undefined ? kubelet : `${kubelet}/${controlPlane}`;
    return `${name.replace(/-[0-9a-f]{8}(?=-|$)/, "")} ${versions}`;
  });
}

describe("the objects of each stage of an upgrade", () => {
  it("lead from what runs to what is wanted, one transaction each", async () => {
    const engine = await running(objectsAt("1.31.4"));
    const wanted = objectsAt("1.35.0", 2);
    const seen: string[][] = [];
    for (let left = stagesOf(engine, wanted); ; left = stagesOf(engine, wanted)) {
      const [next] = left;
      assert.ok(next !== undefined);
      await engine.settle(next.desired);
      seen.push(versionsIn(engine));
      if (left.length === 1) break;
    }
    assert.deepEqual(seen, [
      ["cp 1.32.10/1.32.10", "web-0 1.31.4", "web-1 1.31.4"],
      ["cp 1.33.6/1.33.6", "web-0 1.31.4", "web-1 1.31.4"],
      ["cp 1.34.2/1.34.2", "web-0 1.34.2", "web-1 1.34.2"],
      ["cp 1.35.0/1.35.0", "web-0 1.35.0", "web-1 1.35.0"],
    ]);
    const [last, ...more] = stagesOf(engine, wanted);
    assert.deepEqual([last?.stage.changes, more], [[], []]);
    assert.equal((await engine.plan(desiredOf(wanted))).empty, true);
  });

  it("leave for the last what could not join before", async () => {
    const engine = await running([
      cluster(),
      machine("cp", { kubelet: "1.33.6", controlPlane: "1.33.6" }),
      machineSet("old", 1, { kubelet: "1.33.6" }),
    ]);
    const wanted = [
      ...objectsAt("1.35.0"),
      machine("cp-2", { kubelet: "1.35.0", controlPlane: "1.35.0" }),
      machineSet("old", 3, { kubelet: "1.35.0" }),
      machineSet("new", 2, { kubelet: "1.35.0" }),
    ];
    const [first, last, ...others] = stagesOf(engine, wanted);
    assert.ok(first !== undefined && last !== undefined && others.length === 0);
    assert.deepEqual(
      first.desired.machines.map(({ metadata }) => metadata.name),
      ["cp"],
    );
    assert.deepEqual(first.desired.machineDeployments, []);
    assert.deepEqual(
      first.desired.machineSets.map(({ metadata, spec }) => [metadata.name, spec.replicas]),
      [
        ["old", 1],
        ["new", 0],
      ],
    );
    assert.deepEqual(last.desired, desiredOf(wanted));
    await engine.settle(first.desired);
    assert.deepEqual(versionsIn(engine), ["cp 1.34.2/1.34.2", "old-0 1.33.6"]);
  });

  it("are none where a rule refuses: nothing is begun that cannot be ended", async () => {
    const engine = await running(objectsAt("1.34.2"));
    const plan = upgrade(engine, objectsAt("1.33.6"));
    assert.ok(plan.kind === "refused");
    assert.deepEqual(
      plan.refusals.map(({ kind, machine: name }) => [kind, name]),
      [["controlPlaneDowngrade", "cp"]],
    );
  });

  it("see what a MachineSet keeps, which no manifest shows", async () => {
    const member = (version: string) => machine("cp", { kubelet: version, controlPlane: version });
    const before = [cluster(), member("1.34.2"), machineSet("old", 1, { kubelet: "1.31.0" })];
    const engine = await running(before);
    const plan = upgrade(engine, [
      cluster(),
      member("1.35.0"),
      machineSet("old", 1, { kubelet: "1.35.0" }),
    ]);
    assert.ok(plan.kind === "refused");
    assert.deepEqual(
      plan.refusals.map(({ kind, machine: name }) => [kind, name]),
      [["kubeletTooOld", "old-0"]],
    );
  });
});
