import assert from "node:assert/strict";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";

const replicas = 4;
const good = { size: "small", kubelet: "1.34.1" };
/** Another size needs new hosts, so old ones have gone by the time it stops. */
const bad = { size: "medium", kubelet: "1.34.99" };
const workers = (template: object) =>
  desiredOf([
    cluster(),
    machine("cp", { controlPlane: "1.34.2" }),
    machineDeployment("web", replicas, template, { maxSurge: 1, maxUnavailable: 1 }),
  ]);
/** Of the new hosts two run, and the third never does. */
const stuck = [{ at: "boot", number: 2, what: "never" }] as const;

const webOf = (engine: FakeEngine) =>
  engine.hosts().filter(({ who }) => who.name.startsWith("web-"));

/** Every worker is of this template and serves, no bound was broken, and nothing is left to do. */
async function assertAll(engine: FakeEngine, template: typeof good): Promise<void> {
  const want = Array.from({ length: replicas }, () => [template.size, template.kubelet, "ready"]);
  assert.deepEqual(
    webOf(engine).map(({ spec, phase }) => [spec["size"], spec["kubelet"], phase]),
    want,
  );
  assert.deepEqual(engine.cloud.rollouts.violations, []);
  assert.deepEqual(engine.cloud.watch.violations, []);
  assert.equal((await engine.plan(workers(template))).empty, true);
}

describe("a rollout whose hosts never run", () => {
  it("is rolled back within its bounds", async () => {
    const engine = await FakeEngine.running(workers(good));
    const outcome = await engine.up(workers(bad), stuck);
    assert.equal(outcome.kind, "rolledBack", outcomeText(outcome));
    await assertAll(engine, good);
  });

  const corrections = {
    "a version that exists": { ...bad, kubelet: "1.34.2" },
    "another edit on top": { size: "large", kubelet: "1.34.2" },
    "the template before": good,
  };
  for (const [name, template] of Object.entries(corrections)) {
    it(`and whose hosts are kept goes on to ${name}`, async () => {
      const engine = await FakeEngine.running(workers(good));
      const outcome = await engine.up(workers(bad), stuck, "keep");
      assert.equal(outcome.kind, "stopped", outcomeText(outcome));
      assert.ok(webOf(engine).some(({ phase }) => phase === "pending"));
      const next = await engine.up(workers(template));
      assert.equal(next.kind, "done", outcomeText(next));
      await assertAll(engine, template);
    });
  }

  it("and whose hosts are kept is taken back by rollback", async () => {
    const engine = await FakeEngine.running(workers(good));
    await engine.up(workers(bad), stuck, "keep");
    const outcome = await engine.rollback();
    assert.equal(outcome.kind, "rolledBack", outcomeText(outcome));
    await assertAll(engine, good);
  });
});
