import assert from "node:assert/strict";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";

const names = ["a", "b", "c"];
const wanted = (shape: Parameters<typeof machine>[1] = {}, version = "1.34.2") =>
  desiredOf([
    cluster(),
    machine("cp", { controlPlane: version }),
    ...names.map((name) => machine(name, shape)),
  ]);

const hostsOf = (engine: FakeEngine) => engine.hosts().map(({ id, spec }) => ({ id, spec }));

async function running() {
  const engine = await FakeEngine.running(wanted({ diskGib: 20 }));
  return { engine, before: hostsOf(engine) };
}

describe("a change in place that fails", () => {
  it("half way brings every machine back to what it was, on its own host", async () => {
    const { engine, before } = await running();
    const tagged = wanted({ diskGib: 20, kubelet: "1.34.3", tags: { wave: "two" } });
    const outcome = await engine.up(tagged, [{ at: "call", number: 1, what: "fail" }]);
    assert.equal(outcome.kind, "rolledBack", outcomeText(outcome));
    assert.deepEqual(hostsOf(engine), before);
    assert.deepEqual(engine.cloud.watch.violations, []);
    await engine.settle(tagged);
    assert.deepEqual(
      hostsOf(engine).map(({ id }) => id),
      before.map(({ id }) => id),
    );
  });

  it("half way makes new hosts where a disk has grown, and keeps the others", async () => {
    const { engine, before } = await running();
    const grown = wanted({ diskGib: 40 });
    assert.equal((await engine.plan(grown)).steps.length, 3);
    const outcome = await engine.up(grown, [{ at: "call", number: 2, what: "failForGood" }]);
    assert.equal(outcome.kind, "rolledBack", outcomeText(outcome));
    const disks = hostsOf(engine).map(({ spec }) => spec["diskGib"] ?? 20);
    assert.deepEqual(disks, [20, 20, 20, 20]);
    const kept = before.filter(({ id }) => hostsOf(engine).some((one) => one.id === id));
    assert.equal(kept.length, 2, "the member, and the worker whose disk did not grow");
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("before its point of no return leaves the member of the control plane as it was", async () => {
    const { engine, before } = await running();
    const newer = wanted({ diskGib: 20 }, "1.35.0");
    const outcome = await engine.up(newer, [{ at: "call", number: 0, what: "failForGood" }]);
    assert.equal(outcome.kind, "rolledBack", outcomeText(outcome));
    assert.deepEqual(hostsOf(engine), before);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("without a rollback keeps its host, and the next up finishes the update on it", async () => {
    const { engine, before } = await running();
    const newer = wanted({ diskGib: 20, kubelet: "1.34.3" });
    const faults = [{ at: "call", number: 0, what: "fail" }] as const;
    const outcome = await engine.up(newer, faults, "keep");
    assert.equal(outcome.kind, "stopped", outcomeText(outcome));
    await engine.settle(newer);
    const after = hostsOf(engine);
    assert.deepEqual(
      after.map(({ id }) => id),
      before.map(({ id }) => id),
    );
    assert.equal(after.filter(({ spec }) => spec["kubelet"] === "1.34.3").length, 3);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });
});

describe("a host that dies before a record shows it", () => {
  it("is followed by another one, with a token of its own", async () => {
    const { engine } = await running();
    const more = desiredOf([
      cluster(),
      machine("cp", { controlPlane: "1.34.2" }),
      ...[...names, "d"].map((name) => machine(name, { diskGib: 20 })),
    ]);
    await engine.up(more, [{ at: "call", number: 0, what: "killAfter" }]);
    const made = engine.hosts().at(-1);
    assert.match(made?.who.name ?? "", /^d-/);
    engine.cloud.kill(made?.id ?? "");
    const outcome = await engine.up(more);
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    const successor = engine.hosts().find(({ who }) => who.name.startsWith("d-"));
    assert.notEqual(successor?.who.name, made?.who.name);
    assert.notEqual(successor?.who.token, made?.who.token);
    assert.equal((await engine.plan(more)).empty, true);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });
});
