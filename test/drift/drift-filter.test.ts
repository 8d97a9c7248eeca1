import assert from "node:assert/strict";
import { driftAnnotations } from "../../src/api/drift-policy.js";
import { objectsOf } from "../../src/api/types.js";
import { rulesOfRequest } from "../../src/drift/plan-with-drift.js";
import type { Plan } from "../../src/plan/plan.js";
import { annotated, cluster, machine, machineSet } from "../support/manifests.js";
import { type EngineSetup, outcomeText, type FakeEngine } from "../support/fake-engine.js";
import {
  byPolicy,
  change,
  drifts,
  hostOf,
  kill,
  reportOn,
  running,
  desiredWith,
} from "./drifting.js";

const byHand = { tags: { by: "hand" } };
const { maxUnhealthy, maxInFlight } = driftAnnotations;

/** "create a": kind of step, and whose host it is about. */
function steps({ steps: all }: Plan): string[] {
  return all.map(
    ({ kind, key }) => `${kind} ${key.replace(/^LocalHost\/|-[0-9a-f]{8}-/g, " ").trim()}`,
  );
}

async function upDone(engine: FakeEngine, desired: ReturnType<typeof desiredWith>): Promise<void> {
  const outcome = await engine.up(desired);
  assert.equal(outcome.kind, "done", outcomeText(outcome));
  assert.deepEqual(engine.cloud.watch.violations, []);
}

describe("a plan that tolerates drift", () => {
  it("has no step for what is only reported, and says what it leaves", async () => {
    const desired = desiredWith(drifts("report", machine("a")));
    const engine = await running(desired);
    kill(engine, "a");
    const plan = await engine.plan(desired);
    assert.deepEqual([plan.empty, plan.stale, plan.ignoredDrift?.length], [true, [], 1]);
    assert.equal(plan.ignoredDrift?.[0]?.because, "report");
  });

  it("replaces what a policy replaces: a new host beside one that serves until then", async () => {
    const desired = desiredWith(drifts("replace", machine("a")));
    const engine = await running(desired);
    const before = hostOf(engine, "a");
    change(engine, "a", byHand);
    const plan = await engine.plan(desired);
    assert.deepEqual(steps(plan), ["create a 2", "delete a 1"]);
    assert.equal(
      plan.machines.find(({ machine: name }) => name === "a")?.reasons.join(),
      'it drifted: tags {} -> {"by":"hand"}; its drift policy asks for a new host',
    );
    await upDone(engine, desired);
    assert.notEqual(hostOf(engine, "a").id, before.id);
    assert.deepEqual((await reportOn(engine)).items, []);
  });

  it("keeps the old host, as it is, when its replacement fails", async () => {
    const desired = desiredWith(drifts("replace", machine("a")));
    const engine = await running(desired);
    change(engine, "a", byHand);
    const { id } = hostOf(engine, "a");
    const outcome = await engine.up(desired, [{ at: "boot", number: 0, what: "fails" }]);
    assert.equal(outcome.kind, "rolledBack", outcomeText(outcome));
    assert.deepEqual([hostOf(engine, "a").id, hostOf(engine, "a").spec["tags"]], [id, byHand.tags]);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("is carried out although what it leaves is gone: nobody waits for that", async () => {
    const desired = desiredWith(drifts("report", machine("a")));
    const engine = await running(desired);
    kill(engine, "a");
    change(engine, "b", byHand);
    await upDone(engine, desired);
    assert.deepEqual(hostOf(engine, "b").spec["tags"], {});
    assert.deepEqual(
      (await reportOn(engine)).items.map((item) => item.class),
      ["missing"],
    );
  });

  it("is taken back beside what it leaves, and that is no difference to the records", async () => {
    const desired = desiredWith(drifts("report", machine("a")));
    const engine = await running(desired);
    change(engine, "a", byHand);
    const more = desiredWith(drifts("report", machine("a")), machine("d"));
    const outcome = await engine.up(more, [{ at: "boot", number: 0, what: "fails" }]);
    assert.equal(outcome.kind, "rolledBack", outcomeText(outcome));
    assert.deepEqual(hostOf(engine, "a").spec["tags"], byHand.tags);
  });

  it("gives way to a change that somebody asks for on the same machine", async () => {
    const engine = await running(desiredWith(drifts("ignore", machine("a"))));
    kill(engine, "a");
    const desired = desiredWith(drifts("ignore", machine("a", { tags: { team: "x" } })));
    const plan = await engine.plan(desired);
    assert.deepEqual([steps(plan), plan.ignoredDrift], [["create a 2", "delete a 1"], undefined]);
    await upDone(engine, desired);
  });

  it("gives a machine up that has no host before one that has", async () => {
    const three = (count: number) => desiredWith(drifts("report", machineSet("set", count)));
    const engine = await running(three(3));
    kill(engine, "set-1");
    assert.deepEqual(steps(await engine.plan(three(2))), ["delete set-1 1"]);
  });

  it("finds what a lost state has left, whatever the policy", async () => {
    const desired = desiredWith(drifts("ignore", cluster()));
    const engine = await running(desired, { ...byPolicy, adopt: true });
    const before = engine.hosts().map(({ id }) => id);
    engine.tamper(() => []);
    await upDone(engine, desired);
    assert.deepEqual(
      engine.hosts().map(({ id }) => id),
      before,
    );
  });

  it("leaves hosts that the cloud takes away where nobody is to replace them", async () => {
    for (const [policy, because] of [
      ["report", "report"],
      ["ignore", "ignore"],
    ] as const) {
      const desired = desiredWith(drifts(policy, machine("a")));
      const engine = await running(desired);
      engine.cloud.announce(hostOf(engine, "a").id);
      const plan = await engine.plan(desired);
      assert.deepEqual(
        [plan.empty, plan.ignoredDrift?.map((one) => one.because)],
        [true, [because]],
      );
    }
  });

  it("replaces as many of them at a time as the budget allows, and not the only member", async () => {
    const desired = desiredWith();
    const engine = await running(desired);
    for (const { id } of engine.hosts()) engine.cloud.announce(id);
    const plan = await engine.plan(desired);
    assert.deepEqual(steps(plan), ["create a 2", "delete a 1"]);
    assert.deepEqual(
      plan.ignoredDrift?.map(({ because }) => because),
      ["overBudget", "overBudget", "report"],
    );
  });

  it("touches nothing of a frozen cluster", async () => {
    const engine = await running(desiredWith());
    for (const { id } of engine.alive()) engine.cloud.kill(id);
    const plan = await engine.plan(desiredWith());
    assert.deepEqual([plan.empty, plan.ignoredDrift?.length], [true, 6]);
  });

  it("corrects in turns: the second half when the first is done", async () => {
    const asks = annotated({ [maxUnhealthy]: "100%", [maxInFlight]: "2" }, cluster());
    const desired = desiredWith(asks, machineSet("set", 3));
    const engine = await running(desired);
    kill(engine, "set-0", "set-1", "set-2", "a");
    assert.deepEqual(steps(await engine.plan(desired)).length, 4);
    await upDone(engine, desired);
    assert.equal((await reportOn(engine)).items.length, 2);
    await upDone(engine, desired);
    assert.deepEqual((await reportOn(engine)).items, []);
  });

  it("does not put members off where it changes another member: quorum counts on them", async () => {
    const members = (size: string) =>
      ["cp", "cp-1", "cp-2"].map((name) =>
        machine(name, { controlPlane: "1.34.2", ...(name === "cp" && { tags: { size } }) }),
      );
    const asks = annotated({ [maxUnhealthy]: "100%" }, cluster());
    const engine = await running(desiredWith(asks, ...members("s")));
    kill(engine, "cp-1", "cp-2");
    const waiting = await engine.plan(desiredWith(asks, ...members("s")));
    assert.deepEqual(waiting.ignoredDrift?.length, 1);
    const asked = await engine.plan(desiredWith(asks, ...members("m")));
    assert.equal(asked.ignoredDrift, undefined);
  });

  it("hides what an apply has left only where a policy says so", async () => {
    const plant = (engine: FakeEngine) =>
      engine.cloud.plant({ ...hostOf(engine, "a").who, name: "old-0123abcd-0", token: "t" }, {});
    const kept = desiredWith(drifts("report", cluster()));
    const engine = await running(kept);
    plant(engine);
    assert.deepEqual((await engine.plan(kept)).orphaned, []);
    const other = await running(desiredWith());
    plant(other);
    assert.equal((await other.plan(desiredWith())).orphaned.length, 1);
  });
});

describe("capstan plan and up", () => {
  const ignoring: EngineSetup = {
    driftRules: (desired) => rulesOfRequest(objectsOf(desired)),
  };

  it("correct everything, also what the loop would only report or put off", async () => {
    const desired = desiredWith(drifts("report", machine("a")), drifts("report", machine("b")));
    const engine = await running(desired, ignoring);
    kill(engine, "a", "b", "c");
    const plan = await engine.plan(desired);
    assert.deepEqual([plan.steps.length, plan.ignoredDrift], [6, undefined]);
    await upDone(engine, desired);
    assert.deepEqual((await reportOn(engine)).items, []);
  });

  it("put another host beside each one that the cloud takes away", async () => {
    const desired = desiredWith();
    const engine = await running(desired, ignoring);
    for (const name of ["a", "b", "c"]) engine.cloud.announce(hostOf(engine, name).id);
    const plan = await engine.plan(desired);
    assert.deepEqual([plan.steps.length, plan.ignoredDrift], [6, undefined]);
  });

  it("leave alone what is to be ignored", async () => {
    const desired = desiredWith(drifts("ignore", machine("a")));
    const engine = await running(desired, ignoring);
    change(engine, "a", byHand);
    const plan = await engine.plan(desired);
    assert.deepEqual(
      [plan.empty, plan.ignoredDrift?.map(({ because }) => because)],
      [true, ["ignore"]],
    );
  });
});

describe("without rules", () => {
  it("everything is seen as it is", async () => {
    const desired = desiredWith(drifts("ignore", machine("a")));
    const engine = await running(desired, {});
    kill(engine, "a");
    assert.deepEqual(steps(await engine.plan(desired)), ["create a 2", "delete a 1"]);
  });
});
