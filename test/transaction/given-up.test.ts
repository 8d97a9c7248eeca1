import assert from "node:assert/strict";
import type { Desired } from "../../src/api/types.js";
import { objectsOf } from "../../src/api/types.js";
import { rulesOfHealing } from "../../src/drift/plan-with-drift.js";
import type { NodeReport } from "../../src/provider/port.js";
import { isOpen } from "../../src/records/prior-state.js";
import { plainWorld } from "../support/fake-cloud.js";
import { type EngineSetup, FakeEngine, outcomeText } from "../support/fake-engine.js";
import {
  annotated,
  cluster,
  desiredOf,
  healthCheck,
  machine,
  machineDeployment,
  type Manifest,
} from "../support/manifests.js";
import { recalling } from "../support/recalling.js";

const hook = { "pre-drain.delete.hook.machine.cluster.x-k8s.io/migrate": "backup" };

/** A worker that is replaced before its successor is made where `maxSurge` is 0. */
function pool(maxSurge: number, annotations: Record<string, string> = {}, tags = {}): Desired {
  const deployment = machineDeployment("pool", 1, { tags }, { maxSurge, maxUnavailable: 1 });
  const spec = deployment["spec"] as { template: Manifest };
  const template = annotated(annotations, {
    ...spec.template,
    metadata: spec.template["metadata"] ?? {},
  });
  const { labels } = spec.template["metadata"] as { labels: object };
  const metadata = { ...(template["metadata"] as object), labels };
  return desiredOf([
    cluster(),
    machine("cp", { controlPlane: "1.34.2" }),
    { ...deployment, spec: { ...spec, template: { ...template, metadata } } },
    healthCheck("check"),
  ]);
}

/** Its Node has not been ready for longer than the check allows. */
async function fallenIll(desired: Desired, setup: EngineSetup = {}, ...later: readonly Desired[]) {
  const engine: FakeEngine = new FakeEngine({
    traits: { ...plainWorld, joins: true, tellsTimes: true },
    driftRules: (asked) => rulesOfHealing(objectsOf(asked), engine.clock.now()),
    ...setup,
  });
  for (const one of [desired, ...later]) await engine.settle(one);
  engine.clock.advance(3_600_000);
  const sick = workersOf(engine)[0]!;
  const since = new Date(engine.clock.now() - 900_000).toISOString();
  engine.cloud.hosts.nodeSays = (host): NodeReport => ({
    kubelet: "1.34.2",
    ...(host === sick && {
      conditions: [{ type: "Ready", status: "False", lastTransitionTime: since }],
    }),
  });
  return { engine, sick };
}

function workersOf(engine: FakeEngine): string[] {
  const names = engine.hosts().map(({ who }) => who.name);
  return names.filter((name) => name.startsWith("pool-"));
}

/** A command that is interrupted while pods still go from the sick host, whose successor runs. */
async function interruptedWhileDraining(desired: Desired, setup?: EngineSetup) {
  const { engine, sick } = await fallenIll(desired, setup);
  const { hosts } = engine.cloud;
  hosts.blockersOf = (host) => {
    assert.equal(host, sick);
    engine.lastProcess.interrupt();
    return [{ pod: "default/a", why: "its budget allows none" }];
  };
  assert.match(outcomeText(await engine.up(desired)), /CANCELLED/);
  hosts.blockersOf = () => [];
  assert.ok(isOpen(engine.prior));
  const successor = workersOf(engine).find((name) => name !== sick);
  assert.ok(successor !== undefined);
  return { engine, sick, successor };
}

describe("a host that was given up", () => {
  it("goes once whoever replaced it goes on, and its successor serves", async () => {
    const { engine, successor } = await interruptedWhileDraining(pool(1));
    const { number } = engine.prior.transaction!;
    assert.equal(outcomeText(await engine.up(pool(1))), "done");
    assert.deepEqual(workersOf(engine), [successor]);
    assert.equal(engine.prior.revision?.number, number, "the same transaction");
    assert.ok((await engine.plan(pool(1))).empty);
  });

  it("goes whatever is asked for next", async () => {
    const { engine, successor } = await interruptedWhileDraining(pool(1));
    assert.equal(outcomeText(await engine.up(pool(1, {}, { team: "a" }))), "done");
    assert.deepEqual(workersOf(engine), [successor]);
  });

  it("would serve again if transactions did not tell of it", async () => {
    const { engine, sick } = await interruptedWhileDraining(pool(1), {
      sabotage: (means) => recalling(means, ({ givenUp: _givenUp, ...rest }) => rest),
    });
    assert.equal(outcomeText(await engine.up(pool(1))), "done");
    assert.deepEqual(workersOf(engine), [sick]);
  });

  it("serves again once its transaction is taken back, and is judged anew", async () => {
    const { engine, sick } = await interruptedWhileDraining(pool(1));
    assert.match(outcomeText(await engine.rollback()), /^rolledBack/);
    assert.deepEqual(workersOf(engine), [sick]);
    assert.equal(engine.prior.transaction?.givenUp, undefined);
    engine.cloud.hosts.nodeSays = () => ({ kubelet: "1.34.2" });
    assert.ok((await engine.plan(pool(1))).empty, "it is well by now");
  });

  it("is held in one transaction, however often somebody goes on with it", async () => {
    const wanted = pool(0, hook);
    const { engine, sick } = await fallenIll(wanted);
    assert.match(outcomeText(await engine.up(wanted)), /HELD/);
    const { number } = engine.prior.transaction!;
    for (const _ of [1, 2]) {
      assert.match(outcomeText(await engine.up(wanted)), /HELD/);
      assert.equal(engine.prior.transaction?.number, number);
    }
    assert.deepEqual(workersOf(engine), [sick]);
    assert.equal(outcomeText(await engine.up(pool(0))), "done");
    assert.equal(workersOf(engine).length, 1);
    assert.notDeepEqual(workersOf(engine), [sick]);
  });

  it("serves no earlier revision either while its deletion is owed", async () => {
    const wanted = pool(1, hook);
    const { engine, sick } = await fallenIll(pool(1), {}, wanted);
    assert.match(outcomeText(await engine.up(wanted)), /^stopped owing.*held by/s);
    const successor = workersOf(engine).find((name) => name !== sick)!;
    assert.equal(outcomeText(await engine.rollback([], 1)), "done");
    assert.deepEqual(workersOf(engine), [successor]);
    assert.deepEqual(Object.keys(engine.prior.transaction?.givenUp ?? {}), [`LocalHost/${sick}`]);
    assert.equal(outcomeText(await engine.up(pool(1, {}, { team: "a" }))), "done");
    assert.equal(engine.prior.transaction?.givenUp, undefined, "nothing is left of it");
  });
});
