import assert from "node:assert/strict";
import { keysAnnotation } from "../../src/api/key-stage.js";
import { recordedKeys, stageOf } from "../../src/records/recorded-keys.js";
import {
  annotated,
  cluster,
  desiredOf,
  machine,
  machineDeployment,
  type Manifest,
} from "../support/manifests.js";
import { plainWorld } from "../support/fake-cloud.js";
import type { CommandFault } from "../support/faults.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const member = (name: string, size = "small") => machine(name, { controlPlane: "1.34.2", size });
const joins = { traits: { ...plainWorld, joins: true } } as const;
const small = goal(member("cp-0"), machineDeployment("web", 2, { size: "small" }));
const asking = (keys: string, ...objects: Manifest[]) =>
  desiredOf([annotated({ [keysAnnotation]: keys }, cluster()), ...objects]);

function hosts(engine: FakeEngine): string[] {
  return engine.hosts().map(({ who }) => who.name.replace(/-[0-9a-f]{8}-/, "."));
}

function stageIn({ prior }: FakeEngine): string {
  return stageOf(prior.revision?.target);
}

function numbersKept({ prior }: FakeEngine): string[] {
  return Object.keys(prior.transaction?.keys ?? {});
}

/** "web-a830c4ef": without its incarnation. */
function generations(engine: FakeEngine): string[] {
  return engine.hosts().map(({ who }) => who.name.replace(/-\d+$/, ""));
}

const killed: CommandFault = { at: "write", number: 9, what: "killAfter" };

describe("the keys of a cluster are rotated", () => {
  it("and those of a host that nobody recorded are remembered once a hook has given it a record", async () => {
    const hook = { "pre-terminate.delete.hook.machine.cluster.x-k8s.io/migrate": "" };
    const held = annotated(hook, machine("db"));
    const members = [member("cp-0"), machine("web")];
    const engine = await FakeEngine.running(goal(...members), joins);
    for (const to of ["1+2", "2+1", "2"] as const) {
      assert.equal(outcomeText(await engine.rotate([], to)), "done");
    }
    await engine.up(goal(...members, held), [{ at: "call", number: 1, what: "killAfter" }]);
    engine.clock.advance(20 * 60_000);
    const left = hosts(engine).filter((host) => host.startsWith("db"));
    assert.equal(left.length, 1);
    assert.match(outcomeText(await engine.up(goal(...members))), /^stopped owing: .*held by/s);
    const bigger = goal(member("cp-0"), machine("web", { size: "large" }));
    assert.match(outcomeText(await engine.up(bigger)), /^stopped owing: .*held by/s);
    await engine.settle(goal(...members, machine("db")));
    assert.deepEqual(
      hosts(engine).filter((host) => host.startsWith("db")),
      left,
    );
    await engine.settle(goal(...members));
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("in three steps, each with new hosts that trust those which they replace", async () => {
    const engine = await FakeEngine.running(small, joins);
    const before = generations(engine);
    for (const [to, kept] of [
      ["1+2", ["1", "2"]],
      ["2+1", ["1", "2"]],
      ["2", ["1", "2"]],
      ["2+3", ["2", "3"]],
    ] as const) {
      const old = hosts(engine);
      assert.equal(outcomeText(await engine.rotate()), "done");
      assert.equal(stageIn(engine), to);
      assert.deepEqual(numbersKept(engine), kept);
      assert.deepEqual(
        hosts(engine).filter((host) => old.includes(host)),
        [],
      );
      assert.deepEqual(generations(engine), before);
      assert.ok((await engine.plan(small)).empty);
    }
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("and the last member that signs with the old ones goes before workers come", async () => {
    const engine = await FakeEngine.running(small, joins);
    await engine.rotate();
    const since = engine.calls.length;
    await engine.rotate();
    const calls = engine.calls
      .slice(since)
      .map(({ call, key }) => `${call} ${key.replace(/^LocalHost\/|-[0-9a-f]{8}-\d+$/g, "")}`);
    assert.deepEqual(calls.slice(0, 2), ["create cp-0", "delete cp-0"]);
    assert.match(calls[2] ?? "", /^create web/);
  });

  it("with no more than the machines that a deployment may lack or have too many", async () => {
    const engine = await FakeEngine.running(small, joins);
    await engine.rotate();
    assert.deepEqual(engine.cloud.rollouts.violations, []);
  });

  it("and a step that fails is taken back, hosts of both stages beside each other", async () => {
    const engine = await FakeEngine.running(small, joins);
    const before = hosts(engine);
    const outcome = await engine.rotate([{ at: "boot", number: 1, what: "fails" }]);
    assert.match(outcomeText(outcome), /^rolledBack/);
    assert.equal(stageIn(engine), "1");
    assert.ok(hosts(engine).includes(before[0] ?? ""));
    assert.equal(outcomeText(await engine.rotate()), "done");
    assert.equal(stageIn(engine), "1+2");
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("and a step that is killed goes on with the same words, with the same keys", async () => {
    const engine = await FakeEngine.running(small, joins);
    assert.match(outcomeText(await engine.rotate([killed], "1+2")), /killed/);
    const keys = recordedKeys(engine.prior);
    assert.equal(keys?.alsoTrusted?.length, 1);
    assert.equal(outcomeText(await engine.rotate([], "1+2")), "done");
    assert.deepEqual(recordedKeys(engine.prior), keys);
    const since = engine.calls.length;
    assert.equal(outcomeText(await engine.rotate([], "1+2")), "done");
    assert.equal(engine.calls.length, since);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("and up goes on with a step that was killed", async () => {
    const engine = await FakeEngine.running(small, joins);
    await engine.rotate([killed]);
    await engine.settle(small);
    assert.equal(stageIn(engine), "1+2");
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("and the last step is taken back by rollback as long as the old keys are kept", async () => {
    const engine = await FakeEngine.running(small, joins);
    for (let step = 0; step < 3; step += 1) await engine.rotate();
    assert.equal(outcomeText(await engine.rollback()), "done");
    assert.equal(stageIn(engine), "2+1");
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("and no rollback leads to hosts that those which stand do not trust", async () => {
    const engine = await FakeEngine.running(small, joins);
    const first = engine.prior.revision?.number;
    await engine.rotate();
    await engine.rotate();
    const since = engine.calls.length;
    const outcome = await engine.rollback([], first);
    assert.match(
      outcomeText(outcome),
      /cannot change Cluster default\/prod: its hosts would be made with keys 1, and some stand that were made with keys 2\+1: these would not trust them/,
    );
    assert.equal(engine.calls.length, since);
  });

  it("nor to keys that were given up before anybody signed with them", async () => {
    const engine = await FakeEngine.running(small, joins);
    await engine.rotate();
    const step = engine.prior.revision?.number ?? 0;
    await engine.rollback();
    await engine.settle(goal(member("cp-0"), machineDeployment("web", 3, { size: "small" })));
    assert.match(
      outcomeText(await engine.rollback([], step)),
      /its hosts would be made with keys 1\+2, and keys 2 are not kept any more/,
    );
  });

  it("nor to keys that are not kept any more", async () => {
    const engine = await FakeEngine.running(small, joins);
    for (let step = 0; step < 3; step += 1) await engine.rotate();
    const last = engine.prior.revision?.number ?? 0;
    await engine.settle(goal(member("cp-0"), machineDeployment("web", 3, { size: "small" })));
    assert.deepEqual(numbersKept(engine), ["2"]);
    assert.match(
      outcomeText(await engine.rollback([], last - 1)),
      /its hosts would be made with keys 2\+1, and keys 1 are not kept any more/,
    );
  });

  it("by an annotation of the Cluster too, step by step", async () => {
    const engine = await FakeEngine.running(small, joins);
    await engine.settle(asking("1+2", member("cp-0")));
    assert.equal(stageIn(engine), "1+2");
    await assert.rejects(
      engine.plan(asking("2", member("cp-0"))),
      /its hosts would be made with keys 2, and some stand that were made with keys 1\+2/,
    );
    assert.match(
      outcomeText(await engine.rotate()),
      /annotation capstan\.dev\/keys of the Cluster says 1\+2/,
    );
    await engine.settle(asking("2+1", member("cp-0")));
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("which a cluster whose state was lost has as its manifests say", async () => {
    const engine = await FakeEngine.running(small, { ...joins, adopt: true });
    await engine.settle(asking("1+2", member("cp-0")));
    const before = hosts(engine);
    engine.loseState();
    await engine.settle(asking("1+2", member("cp-0")));
    assert.equal(stageIn(engine), "1+2");
    assert.deepEqual(hosts(engine), before);
  });

  it("and a new cluster may begin anywhere", async () => {
    const engine = new FakeEngine(joins);
    await engine.settle(asking("4+3", member("cp-0"), machine("web")));
    assert.deepEqual(numbersKept(engine), ["3", "4"]);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("where hosts get any", async () => {
    const engine = await FakeEngine.running(small, { ...joins, adopt: true });
    engine.loseState();
    await engine.settle(small);
    await assert.rejects(
      engine.plan(asking("1+2", member("cp-0"))),
      /its hosts would be made with keys 1\+2, and its state holds no keys/,
    );
    assert.match(outcomeText(await engine.rotate()), /its state holds none/);
  });

  it("where nothing else is under way", async () => {
    const engine = await FakeEngine.running(small, joins);
    await engine.up(goal(member("cp-0", "large")), [killed]);
    assert.match(outcomeText(await engine.rotate()), /cannot rotate its keys: transaction 2 /);
  });
});
