import assert from "node:assert/strict";
import type { Desired } from "../../src/api/types.js";
import { objectsOf } from "../../src/api/types.js";
import { rulesOfHealing } from "../../src/drift/plan-with-drift.js";
import type { NodeReport } from "../../src/provider/port.js";
import { isOpen } from "../../src/records/prior-state.js";
import { plainWorld } from "../support/fake-cloud.js";
import type { CommandFault } from "../support/faults.js";
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

/** Every host that a command makes boots for ever. */
const neverBoots = Array.from({ length: 20 }, (_, number): CommandFault => ({
  at: "boot",
  number,
  what: "never",
}));
const never = neverBoots.slice(0, 1);

const members = ["cp-0", "cp-1", "cp-2"];

function workersBeside(size: string, tags = {}, maxSurge = 1): Desired {
  return desiredOf([
    cluster(),
    ...members.map((name) => machine(name, { controlPlane: "1.34.2" })),
    machineDeployment("pool", 2, { size, tags }, { maxSurge, maxUnavailable: 1 }),
    machine("db"),
  ]);
}

/** A machine whose host the cloud shows gone. */
async function lost(
  name: string,
  wanted = workersBeside("small"),
): Promise<{ engine: FakeEngine; kill: (other: string) => void }> {
  const engine = await FakeEngine.running(wanted, { traits: { ...plainWorld, joins: true } });
  const kill = (one: string) => {
    engine.cloud.kill(engine.hosts().find(({ who }) => who.name.startsWith(one))!.id);
  };
  kill(name);
  return { engine, kill };
}

/** Nothing is open, every machine has one host, each of them runs, and no law was broken. */
function assertWhole(engine: FakeEngine): void {
  const hosts = engine.hosts();
  assert.ok(!isOpen(engine.prior));
  assert.deepEqual(
    hosts.filter(({ phase }) => phase !== "ready").map(({ who }) => who.name),
    [],
  );
  assert.deepEqual(
    hosts.map(({ who }) => `LocalHost/${who.name}`).sort(),
    engine.prior.revision?.target.machines.map(({ host }) => host).sort(),
  );
  assert.deepEqual(engine.cloud.watch.violations, []);
}

describe("a host that never comes up", () => {
  for (const name of ["pool-", "cp-1-", "db-"]) {
    it(`gets a successor on the way back, where that of a lost ${name} did not come up`, async () => {
      const { engine } = await lost(name);
      const outcome = await engine.up(workersBeside("small"), never);
      assert.match(outcomeText(outcome), /^rolledBack: not ready after 4 s: LocalHost\/\S+-2$/);
      assertWhole(engine);
      assert.ok((await engine.plan(workersBeside("small"))).empty);
    });

    const verbs = [
      {
        verb: "up",
        want: /^done$/,
        run: (engine: FakeEngine) => engine.up(workersBeside("small")),
      },
      { verb: "rollback", want: /^rolledBack/, run: (engine: FakeEngine) => engine.rollback() },
      {
        verb: "up to another size",
        want: /^done$/,
        run: (engine: FakeEngine) => engine.up(workersBeside("medium")),
      },
      {
        verb: "up to another tag",
        want: /^done$/,
        run: (engine: FakeEngine) => engine.up(workersBeside("small", { team: "a" })),
      },
    ];
    for (const { verb, want, run } of verbs) {
      it(`blocks no ${verb} once hosts come up again, in place of a lost ${name}`, async () => {
        const { engine, kill } = await lost(name);
        const stuck = outcomeText(await engine.up(workersBeside("small"), neverBoots));
        assert.match(stuck, /^stopped incomplete: not ready after 4 s/);
        if (name !== "db-") kill("db-");
        assert.match(outcomeText(await run(engine)), want);
        assertWhole(engine);
      });
    }
  }

  it("gets a successor from the next command, where it was kept", async () => {
    const { engine } = await lost("pool-");
    const kept = await engine.up(workersBeside("small"), never, "keep");
    assert.match(outcomeText(kept), /^stopped kept: not ready after 4 s/);
    assert.equal(outcomeText(await engine.up(workersBeside("small"), [], "keep")), "done");
    assertWhole(engine);
  });

  it("gets a successor beyond the point of no return", async () => {
    const at = (version: string, size: string) =>
      desiredOf([
        cluster(),
        ...members.map((name) => machine(name, { controlPlane: version, size })),
      ]);
    const traits = { ...plainWorld, joins: true };
    const engine = await FakeEngine.running(at("1.34.2", "small"), { traits });
    const upgraded = at("1.35.0", "large");
    const failed = await engine.up(upgraded, [{ at: "boot", number: 1, what: "never" }]);
    assert.match(outcomeText(failed), /^stopped forwardOnly: not ready after 4 s/);
    assert.equal(outcomeText(await engine.up(upgraded)), "done");
    assertWhole(engine);
  });

  it("is no more than two, however often nothing comes up", async () => {
    for (const name of ["pool-", "cp-1-", "db-"]) {
      const { engine } = await lost(name);
      const whole = engine.hosts().length + 1;
      for (const _ of [1, 2, 3, 4]) {
        const stuck = outcomeText(await engine.up(workersBeside("small"), neverBoots));
        assert.match(stuck, /^stopped incomplete/);
        assert.ok(engine.hosts().length <= whole + 1, `${name}: ${engine.hosts().length} hosts`);
      }
      assert.equal(outcomeText(await engine.up(workersBeside("small"))), "done");
      assertWhole(engine);
    }
  });

  it("is waited for by whoever goes on after a kill, and is kept if it comes up", async () => {
    const { engine } = await lost("db-");
    const kill: CommandFault = { at: "call", number: 0, what: "killAfter" };
    assert.equal(outcomeText(await engine.up(workersBeside("small"), [kill])), "killed");
    assert.equal(outcomeText(await engine.up(workersBeside("small"))), "done");
    assert.ok(engine.hosts().some(({ who }) => /^db-\w+-2$/.test(who.name)));
    assertWhole(engine);
  });

  it("serves on if it runs, and only has to prove it for longer than the command waits", async () => {
    const proving = (tags: Record<string, string>) => {
      const deployment = machineDeployment("pool", 1, { size: "small", tags });
      const spec = { ...(deployment["spec"] as object), minReadySeconds: 10 };
      return desiredOf([
        cluster(),
        machine("cp", { controlPlane: "1.34.2" }),
        { ...deployment, spec },
      ]);
    };
    const engine = new FakeEngine({ traits: { ...plainWorld, tellsTimes: true } });
    for (const _ of [1, 2]) {
      const outcome = outcomeText(await engine.up(proving({}), [], "keep"));
      assert.match(outcome, /^stopped kept: not ready after 4 s: \S+-1 \(ready, but not yet/);
    }
    engine.clock.advance(10_000);
    assert.equal(outcomeText(await engine.up(proving({}))), "done");
    assert.deepEqual(
      workersOf(engine).map((host) => host.slice(-2)),
      ["-1"],
    );
  });

  it("is none that runs, and whose cluster does not answer whether it has joined", async () => {
    for (const onFailure of ["rollBack", "keep"] as const) {
      const { engine } = await lost("db-");
      engine.cloud.hosts.answers = () =>
        !engine.hosts().some(({ who }) => /^db-\w+-2$/.test(who.name));
      const outcome = outcomeText(await engine.up(workersBeside("small"), [], onFailure));
      assert.match(
        outcome,
        /not ready after 4 s: \S+-2 \(it runs, and its cluster does not answer/,
      );
      engine.cloud.hosts.answers = () => true;
      assert.equal(outcomeText(await engine.up(workersBeside("small"))), "done");
      assert.ok(
        engine.hosts().some(({ who }) => /^db-\w+-2$/.test(who.name)),
        onFailure,
      );
      assertWhole(engine);
    }
  });

  it("that the revision has is left to health checks", async () => {
    const { engine } = await lost("pool-");
    await engine.settle(workersBeside("small"));
    const [host] = engine.hosts().filter(({ who }) => who.name.startsWith("db-"));
    engine.cloud.stall(host!.id);
    for (const _ of [1, 2]) {
      const outcome = await engine.up(workersBeside("small", { team: "a" }));
      assert.notEqual(outcome.kind, "done");
      assert.ok(engine.hosts().some(({ id }) => id === host!.id));
    }
  });
});

describe("a host that an adoption found before it came up", () => {
  const wanted = (tags: Record<string, string>) =>
    desiredOf([
      cluster(),
      machine("cp", { controlPlane: "1.34.2" }),
      machine("db", { tags }),
      machine("web"),
    ]);

  it("gets a successor from the next up, also after a change that was rolled back", async () => {
    for (const fails of [false, true]) {
      const engine = await FakeEngine.running(wanted({}), { adopt: true });
      const [hanging] = engine.hosts().filter(({ who }) => who.name.startsWith("web-"));
      engine.cloud.stall(hanging?.id ?? "");
      engine.loseState();
      assert.equal(outcomeText(await engine.up(wanted({}))), "done");
      const refused: CommandFault[] = [{ at: "call", number: 0, what: "failForGood" }];
      if (fails) assert.match(outcomeText(await engine.up(wanted({ a: "b" }), refused)), /^rolled/);
      assert.equal(outcomeText(await engine.up(wanted({ a: "b" }))), "done");
      const web = engine.hosts().filter(({ who }) => who.name.startsWith("web-"));
      assert.deepEqual(
        web.map(({ phase, id }) => [phase, id === hanging?.id]),
        [["ready", false]],
      );
      assert.deepEqual(engine.cloud.watch.violations, []);
    }
  });
});
