import assert from "node:assert/strict";
import { wavesText } from "../../../src/plan/waves/list-waves.js";
import { planNotes } from "../../../src/plan/changes/notes.js";
import {
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
} from "../../support/manifests.js";
import { withWorker } from "../../../src/cli/survey-cluster.js";
import type { StackWorker } from "../../../src/engine/locks/stack-worker.js";
import { FakeEngine } from "../../support/fake-engine.js";

const web = (shape: object, spec: object = {}) => {
  const plain = machineDeployment("web", 8, shape) as { spec: object };
  return { ...plain, spec: { ...plain.spec, ...spec } };
};

async function planned(after: object) {
  const engine = new FakeEngine();
  const member = machine("cp", { controlPlane: "1.34.2" });
  await engine.settle(desiredOf([cluster(), member, web({ size: "small" })]));
  return engine.plan(desiredOf([cluster(), member, web({ size: "large" }, after)]));
}

describe("what a plan says of drift that it leaves", () => {
  it("is how much, why, and the first few by name", async () => {
    const engine = new FakeEngine();
    const objects = [cluster(), machine("cp", { controlPlane: "1.34.2" }), machineSet("db", 6)];
    const desired = desiredOf(objects);
    await engine.settle(desired);
    const plan = await engine.plan(desired);
    const [first, ...others] = plan.target.machines.map(({ host }) => host);
    assert.ok(first !== undefined);
    const ignored = others.map((key) => ({ key, because: "ignore" as const }));
    const notes = planNotes({
      ...plan,
      ignoredDrift: [{ key: first, because: "frozen" }, ...ignored],
    });
    assert.deepEqual(notes, [
      `1 drifted, not believed: ${first}`,
      `6 drifted, ignored by policy: ${others.slice(0, 5).join(", ")}, ... (1 more)`,
    ]);
  });
});

describe("what a plan says of an open transaction", () => {
  const open = { number: 2, direction: "forward", goal: { kind: "up" }, by: "ann@laptop" } as const;
  const holder = 'ann@laptop (pid 7, "capstan up")';

  /** The notes of a plan beside a worker. */
  async function notes(worker: StackWorker): Promise<string[]> {
    const engine = new FakeEngine();
    const plan = await engine.plan(
      desiredOf([cluster(), machine("cp", { controlPlane: "1.34.2" })]),
    );
    return planNotes(withWorker({ ...plan, open }, worker));
  }

  it("is that a command is at work, while one is", async () => {
    assert.deepEqual(await notes({ kind: "alive", holder }), [
      `Transaction 2 is under way: ${holder} works on it. This plan is what it had left to do when the cloud was read.`,
    ]);
  });

  it("is that it is not finished, and what becomes of it, where none is", async () => {
    const [note, ...more] = await notes({ kind: "none" });
    assert.match(note ?? "", /^Transaction 2 .*is not finished; this goes on from there\.$/);
    assert.deepEqual(more, []);
  });
});

describe("what a plan says of a resource without a record that is to stay", () => {
  it("is what the cloud shows, and not how it came about", async () => {
    const engine = new FakeEngine();
    const plan = await engine.plan(
      desiredOf([cluster(), machine("cp", { controlPlane: "1.34.2" })]),
    );
    const who = {
      cluster: "default/prod",
      clusterUid: "u",
      kind: "LocalVolume",
      name: "data",
      token: "t",
    };
    const notes = planNotes({ ...plan, orphaned: [{ id: "vol-1", who, letGo: true }] });
    assert.deepEqual(notes, [
      "In no record although it has this cluster's ownership tags, to lose them and stay: LocalVolume data (vol-1)",
    ]);
  });
});

describe("what a plan says of a cluster without a control plane", () => {
  it("is that workers have nothing to join", async () => {
    const engine = new FakeEngine();
    const alone = await engine.plan(desiredOf([cluster(), machine("web")]));
    assert.deepEqual(planNotes(alone), [
      "No Machine is a control-plane member: the workers have nothing to join; versions.controlPlane makes one",
    ]);
    const member = machine("cp", { controlPlane: "1.34.2" });
    assert.deepEqual(
      planNotes(await engine.plan(desiredOf([cluster(), member, machine("web")]))),
      [],
    );
    assert.deepEqual(planNotes(await engine.plan(desiredOf([cluster()]))), []);
  });
});

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

  it("is which of its delete marks choose nobody", async () => {
    const engine = new FakeEngine();
    const set = (annotations: object, replicas: number) => {
      const plain = machineSet("db", replicas) as { metadata: object };
      const marked = { ...plain, metadata: { ...plain.metadata, annotations } };
      return desiredOf([cluster(), machine("cp", { controlPlane: "1.34.2" }), marked]);
    };
    await engine.settle(set({}, 3));
    const mark = (names: string) => ({ "cluster.k8s.io/delete-machine": names });
    assert.deepEqual(planNotes(await engine.plan(set(mark("db-0"), 3))), []);
    assert.deepEqual(planNotes(await engine.plan(set(mark("db-0 db-1"), 1))), []);
    assert.deepEqual(planNotes(await engine.plan(set(mark("db-0, db-7"), 2))), [
      "MachineSet db: cluster.k8s.io/delete-machine marks db-7, and no machine of it has that name.",
    ]);
    const modern = { "cluster.x-k8s.io/delete-machine": "db-0" };
    assert.deepEqual(planNotes(await engine.plan(set(modern, 2))), [
      "MachineSet db: cluster.x-k8s.io/delete-machine marks nothing in profile v1alpha1; cluster.k8s.io/delete-machine does.",
    ]);
    const asked = { ...modern, "capstan.dev/profile": "modern" };
    assert.deepEqual(planNotes(await engine.plan(set(asked, 2))), []);
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
