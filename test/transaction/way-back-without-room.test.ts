import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import type { Desired } from "../../src/api/types.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";

/** Three workers, of which one at a time makes room for its successor, and others that are made at once. */
function pool(diskGib: number, others: readonly string[] = []): Desired {
  return desiredOf([
    cluster(),
    machine("cp", { controlPlane: "1.34.2" }),
    machineDeployment("pool", 3, { diskGib }, { maxSurge: 0, maxUnavailable: 1 }),
    ...others.map((name) => machine(name)),
  ]);
}
const before = pool(20);
/** A disk grows where it is, and only another host has a smaller one. `z` is refused after the first disk has grown. */
const larger = pool(40, ["z"]);

const quota = new CapstanError({
  code: "QUOTA",
  source: "cloud",
  message: "cannot create LocalHost: its project has no room for another host",
  hint: "raise the quota",
});

function workersOf(engine: FakeEngine): string[] {
  return engine.hosts().flatMap(({ id, who }) => (who.name.startsWith("pool-") ? [id] : []));
}

/** A cloud that has no room for one host more: a change that it took back as far as it could. */
async function withoutRoom() {
  const engine = new FakeEngine({ traits: plainWorld });
  await engine.settle(before);
  engine.cloud.refusal = ({ call }) => (call === "create" ? quota : undefined);
  const outcome = outcomeText(await engine.up(larger));
  const grown = engine.cloud.calls.filter(({ call }) => call === "update");
  assert.equal(grown.length, 1);
  return { engine, outcome };
}

describe("a rollback where the cloud makes no more hosts", () => {
  it("keeps every worker that serves", async () => {
    const { engine, outcome } = await withoutRoom();
    assert.match(outcome, /no room/);
    assert.equal(workersOf(engine).length, 3, outcome);
    await engine.rollback();
    assert.equal(workersOf(engine).length, 3, outcome);
  });

  it("comes to the hosts of before once there is room for one more", async () => {
    const { engine } = await withoutRoom();
    engine.cloud.refusal = () => undefined;
    assert.match(outcomeText(await engine.rollback()), /^rolledBack/);
    assert.equal(workersOf(engine).length, 3);
    assert.ok((await engine.plan(before)).empty);
    assert.deepEqual(engine.cloud.rollouts.violations, []);
  });
});
