import assert from "node:assert/strict";
import type { StackEngine } from "../../src/engine/pulumi/engine.js";
import { HostsDead } from "../../src/engine/run/failures.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { nodeKey } from "../../src/graph/graph.js";
import { CapstanError } from "../../src/api/error.js";
import { cloudResources, type PendingOperation } from "../../src/records/prior-state.js";
import { standingOf } from "../../src/transaction/lifecycle.js";
import { cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";
import type { CommandFault } from "../support/faults.js";
import { plainWorld } from "../support/fake-cloud.js";
import {
  type EngineSetup,
  type CommandTools,
  outcomeText,
  FakeEngine,
} from "../support/fake-engine.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const member = machine("cp", { controlPlane: "1.34.2" });
const before = goal(member, machine("web"));
const after = goal(member, machine("web", { size: "large" }));
const upgraded = goal(machine("cp", { controlPlane: "1.35.0" }), machine("web", { size: "large" }));

async function running(setup: EngineSetup = {}): Promise<FakeEngine> {
  const engine = new FakeEngine(setup);
  await engine.settle(before);
  return engine;
}

/** Names of the hosts that are alive, without hashes. */
function hosts(engine: FakeEngine): string[] {
  return engine.hosts().map(({ who }) => who.name.replace(/-[0-9a-f]{8}-/, "."));
}

/** Nothing was forbidden, and cloud and state hold the same. */
function assertSound(engine: FakeEngine): void {
  assert.deepEqual(engine.cloud.watch.violations, []);
  assert.deepEqual(
    engine
      .alive()
      .map(({ id }) => id)
      .sort(),
    cloudResources(engine.prior)
      .map(({ id }) => id)
      .sort(),
  );
}

const fails: CommandFault = { at: "call", number: 0, what: "fail" };

describe("a change that fails", () => {
  it("is taken back: the old hosts serve on, the same change succeeds with fresh ones", async () => {
    const engine = await running();
    const outcome = await engine.up(after, [{ at: "boot", number: 0, what: "fails" }]);
    assert.match(outcomeText(outcome), /^rolledBack: failed to start: LocalHost\/web-\w+-1$/);
    assert.deepEqual(hosts(engine), ["cp.1", "web.1"]);
    assertSound(engine);
    assert.deepEqual(
      engine.prior.revision?.history.map(({ number, ending }) => `${number} ${ending.kind}`),
      ["1 committed", "2 rolledBack", "3 committed"],
    );
    await engine.settle(after);
    assert.deepEqual(hosts(engine), ["cp.1", "web.2"], "no token is used twice");
  });

  it("says why the cloud's host failed, with its code", async () => {
    const engine = await running();
    engine.cloud.failure = { code: "QUOTA", reason: "no large\nhost is left" };
    const outcome = await engine.up(after, [{ at: "boot", number: 0, what: "fails" }]);
    assert.ok(outcome.kind === "rolledBack" && outcome.failure instanceof HostsDead);
    assert.match(outcome.failure.message, /LocalHost\/web-\w+-1 \(no large host is left\)$/);
    assert.deepEqual(
      outcome.failure.resources.map(({ code, message }) => [code, message]),
      [["QUOTA", "its host failed to start: no large host is left"]],
    );
  });

  it("of a first creation leaves nothing, and the next one is another life", async () => {
    const engine = new FakeEngine();
    const outcome = await engine.up(before, [{ at: "call", number: 3, what: "fail" }]);
    assert.ok(outcome.kind === "rolledBack" && outcome.to === "nothing", outcomeText(outcome));
    assert.deepEqual([engine.alive(), engine.prior.resources], [[], []]);
    await engine.settle(before);
    assert.equal(engine.prior.transaction?.clusterUid, "uid-2");
  });

  it("because a host never runs is taken back at the deadline of the wait", async () => {
    const engine = await running();
    const outcome = await engine.up(after, [{ at: "boot", number: 0, what: "never" }]);
    assert.ok(outcome.kind === "rolledBack" && outcome.failure.code === "DEADLINE");
    assertSound(engine);
  });

  it("before its begin leaves everything as it was", async () => {
    const engine = await running();
    const plan = await engine.plan(after);
    engine.cloud.kill(engine.hosts().find(({ who }) => who.name.startsWith("cp"))?.id ?? "");
    const state = JSON.stringify(engine.prior);
    const outcome = await engine.apply(plan);
    assert.match(outcomeText(outcome), /^stopped untouched: LocalHost\/cp-\w+-2 has to be created/);
    assert.equal(JSON.stringify(engine.prior), state);
  });

  it("and whose records cannot be read then tells of both", async () => {
    let isLost = false;
    const engine = await running({
      sabotage: ({ engine: real, ...rest }) => {
        const pass: StackEngine["pass"] = async (...args) => {
          const result = await real.pass(...args);
          isLost ||= result.code !== 0;
          return result;
        };
        const readState: StackEngine["readState"] = async (stack) => {
          if (!isLost) return real.readState(stack);
          throw new CapstanError({ code: "BAD_STATE", source: "engine", message: "it is damaged" });
        };
        const broken = { pass: { value: pass }, readState: { value: readState } };
        return { ...rest, engine: Object.create(real, broken) as StackEngine };
      },
    });
    const outcome = await engine.up(after, [fails]);
    assert.match(
      outcomeText(outcome),
      /^broke: BAD_STATE it is damaged\nIt was read after a failure: cannot create LocalHost web-/,
    );
  });

  it("beyond the point of no return only goes on", async () => {
    const engine = await running();
    const outcome = await engine.up(upgraded, [{ at: "call", number: 1, what: "fail" }]);
    assert.match(outcomeText(outcome), /^stopped forwardOnly: cannot create LocalHost web-/);
    assert.match(outcomeText(await engine.rollback()), /^broke: NOT_REVERSIBLE/);
    const [revision, first] = [engine.prior.revision?.number, engine.hosts()[0]];
    assert.deepEqual([revision, first?.spec["controlPlane"]], [1, "1.35.0"]);
    await engine.settle(upgraded);
    assertSound(engine);
  });
});

describe("a control-plane machine of a newer version that fails", () => {
  const replaced = goal(machine("cp", { controlPlane: "1.35.0", size: "large" }), machine("web"));

  it("is beyond the point of no return all the same: its successor is made, nothing taken back", async () => {
    const engine = await running();
    const outcome = await engine.up(replaced, [{ at: "boot", number: 0, what: "fails" }]);
    assert.match(outcomeText(outcome), /^stopped forwardOnly: failed to start: LocalHost\/cp-/);
    assert.match(outcomeText(await engine.rollback()), /^broke: NOT_REVERSIBLE/);
    await engine.settle(replaced);
    assert.deepEqual(hosts(engine), ["web.1", "cp.2"]);
    assertSound(engine);
  });
});

describe("a cloud that cannot say whether something exists", () => {
  it("stops a command that looks, before it touches anything", async () => {
    const engine = await running({ traits: { ...plainWorld, listingLagMs: 900 } });
    const [calls, state] = [engine.calls.length, JSON.stringify(engine.prior)];
    const outcome = await engine.up(after, [{ at: "look", number: 1, what: "unknown" }]);
    assert.match(outcomeText(outcome), /^broke: UNKNOWN_PRESENCE cannot find out whether Local/);
    assert.deepEqual([engine.calls.length, JSON.stringify(engine.prior)], [calls, state]);
  });

  it("stops a pass, whose transaction is then taken back; nothing is made on a guess", async () => {
    const engine = await running();
    const calls = engine.calls.length;
    const outcome = await engine.up(after, [{ at: "look", number: 3, what: "unknown" }]);
    assert.match(outcomeText(outcome), /^rolledBack: cannot create LocalHost web-.* exists: /);
    assert.equal(engine.calls.length, calls);
    assertSound(engine);
  });

  it("touches nothing when it cannot even list", async () => {
    const engine = await running();
    const [calls, state] = [engine.calls.length, JSON.stringify(engine.prior)];
    const outcome = await engine.up(after, [{ at: "look", number: 0, what: "failForGood" }]);
    assert.match(outcomeText(outcome), /^broke: CLOUD_FAILED/);
    assert.deepEqual([engine.calls.length, JSON.stringify(engine.prior)], [calls, state]);
  });
});

describe("a deletion that fails", () => {
  it("after the commit is owed, and the same change finishes it", async () => {
    const engine = await running();
    const outcome = await engine.up(after, [{ at: "call", number: 1, what: "failForGood" }]);
    assert.match(outcomeText(outcome), /^stopped owing: cannot delete LocalHost web-/);
    assert.equal(standingOf(engine.prior), "owing");
    await engine.settle(after);
    assert.deepEqual(hosts(engine), ["cp.1", "web.1"]);
    assertSound(engine);
  });

  it("once is tried again by itself", async () => {
    const engine = await running();
    const outcome = await engine.up(after, [{ at: "call", number: 1, what: "fail" }]);
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assertSound(engine);
  });

  it("in a rollback leaves it incomplete, naming what is left; the next one finishes it", async () => {
    const engine = await running();
    const outcome = await engine.up(after, [
      { at: "boot", number: 0, what: "fails" },
      { at: "call", number: 1, what: "failForGood" },
    ]);
    assert.match(outcomeText(outcome), /^stopped incomplete: cannot delete LocalHost web-/);
    assert.equal((await engine.rollback()).kind, "rolledBack");
    assert.deepEqual(hosts(engine), ["cp.1", "web.1"]);
    assertSound(engine);
  });
});

describe("a rollback of what was taken back already", () => {
  it("looks whether that holds, and does not say that it takes anything back", async () => {
    const told: RunEvent["kind"][] = [];
    const engine = await running({ tell: ({ kind }) => void told.push(kind) });
    const failed = await engine.up(after, [{ at: "call", number: 0, what: "failForGood" }]);
    assert.equal(failed.kind, "rolledBack", outcomeText(failed));
    assert.ok(told.includes("rollingBack"));
    told.length = 0;
    const again = await engine.rollback();
    assert.equal(again.kind, "rolledBack", outcomeText(again));
    assert.ok(!told.includes("rollingBack"), told.join());
    assertSound(engine);
  });
});

describe("an interrupted command", () => {
  it("leaves its transaction open, and the same command goes on with it", async () => {
    const engine = new FakeEngine();
    const outcome = await engine.up(before, [{ at: "call", number: 1, what: "interrupt" }]);
    assert.match(outcomeText(outcome), /^broke: CANCELLED/);
    assert.equal(standingOf(engine.prior), "forward");
    const made = engine.alive().map(({ id }) => id);
    await engine.settle(before);
    assert.deepEqual([engine.prior.revision?.number, made.length], [1, 2]);
    assert.ok(made.every((id) => engine.alive().some((one) => one.id === id)));
  });

  /** An apply is killed that has made two hosts, of which no record is left. */
  const leaveHosts = async (engine: FakeEngine) => {
    const more = goal(member, machine("web"), machine("db"), machine("gpu"));
    await engine.up(more, [{ at: "call", number: 1, what: "killAfter" }]);
    assert.deepEqual(hosts(engine), ["cp.1", "web.1", "db.1", "gpu.1"]);
    const { resources } = engine.savedState();
    const isLeft = (key: string) => /^LocalHost\/(db|gpu)-/.test(key);
    engine.restoreState({ resources: resources.filter(({ key }) => !isLeft(key)), pending: [] });
  };

  it("between passes makes no further call: what it has not removed stays for the next", async () => {
    const engine = await running();
    await leaveHosts(engine);
    const calls = engine.calls.length;
    const outcome = await engine.up(before, [{ at: "call", number: 0, what: "interrupt" }]);
    assert.match(outcomeText(outcome), /^broke: CANCELLED/);
    const made = engine.calls.slice(calls).map(({ call }) => call);
    assert.deepEqual(made, ["delete"], "the other host is not touched");
    await engine.settle(before);
    assertSound(engine);
  });

  it("while a removal takes no effect does not ask for it again", async () => {
    let asked = 0;
    const remove = async () => {
      asked += 1;
      if (asked === 2) engine.lastProcess.interrupt();
    };
    const engine = await running({
      sabotage: ({ provider, ...rest }) => {
        const handlers = [...provider.handlers].map(
          ([kind, handler]) => [kind, { ...handler, remove }] as const,
        );
        return { ...rest, provider: { ...provider, handlers: new Map(handlers) } };
      },
    });
    await leaveHosts(engine);
    const outcome = await engine.up(before);
    assert.match(outcomeText(outcome), /^broke: CANCELLED/);
    assert.equal(asked, 2);
  });

  it("past the transaction's deadline is gone on with under a new number", async () => {
    const engine = await running();
    await engine.up(after, [fails, { at: "write", number: 2, what: "killBefore" }]);
    engine.clock.advance(24 * 3_600_000);
    const plan = await engine.settle(after);
    assert.equal(plan.transaction.number, 3);
    assertSound(engine);
  });

  it("whose last call takes effect after its death makes no second host", async () => {
    const engine = await running();
    const outcome = await engine.up(after, [{ at: "call", number: 0, what: "killLate" }]);
    assert.equal(outcome.kind, "killed");
    assert.deepEqual(hosts(engine), ["cp.1", "web.1"], "it has not happened yet");
    await engine.settle(after);
    assert.deepEqual(hosts(engine), ["cp.1", "web.1"]);
    assertSound(engine);
  });
});

describe("what a killed engine left pending", () => {
  const host = nodeKey("LocalHost", "elsewhere");
  const left = (type: string): PendingOperation => ({
    type,
    urn: `urn::${host}`,
    key: host,
    kind: "LocalHost",
    inputs: {},
  });

  for (const type of ["importing", "reading"]) {
    it(`is cleared when it was ${type} what is in no record`, async () => {
      const engine = await running();
      engine.leavePending(left(type));
      assert.equal(standingOf(engine.prior), "owing");
      await engine.settle(before);
      assert.deepEqual([engine.prior.pending, standingOf(engine.prior)], [[], "idle"]);
      assertSound(engine);
    });
  }

  it("and nothing clears ends the command, which names it and how to clear it", async () => {
    const engine = await running({ sabotage: withoutRefresh });
    engine.leavePending(left("importing"));
    const outcome = await engine.up(before);
    assert.ok(outcome.kind === "stopped" && outcome.result === "owing", outcomeText(outcome));
    assert.match(
      outcome.failure.message,
      /^cannot clear what is pending in default\.\w+: importing urn/,
    );
    assert.match(outcome.failure.hint ?? "", /pulumi refresh --stack default\.\w+$/);
  });

  it("and a refresh that changes nothing ends the command instead of going round", async () => {
    const engine = await running({ sabotage: withoutRefresh });
    const key = engine.prior.resources.find(({ kind }) => kind === "LocalHost")?.key ?? host;
    engine.leavePending({ ...left("updating"), key });
    const outcome = await engine.up(before);
    assert.match(outcomeText(outcome), /^stopped owing: cannot recover .* has changed nothing/);
  });

  it("and a refresh that changes nothing ends at an interrupt", async () => {
    const rounds: string[] = [];
    const engine = await running({
      sabotage: withoutRefresh,
      tell: ({ kind }) => rounds.push(kind) > 0 && kind === "recovering" && interrupt(),
    });
    const interrupt = () => engine.lastProcess.interrupt();
    engine.leavePending({ ...left("updating"), key: engine.prior.resources.at(-2)!.key });
    rounds.length = 0;
    assert.match(outcomeText(await engine.up(before)), /^broke: CANCELLED/);
    assert.deepEqual(rounds, ["recovering"]);
  });
});

/** An engine that reads nothing again, and says that it did. */
function withoutRefresh({ engine, ...rest }: CommandTools): CommandTools {
  const refresh = async () => ({ code: 0, stdout: "", stderr: "" });
  return { ...rest, engine: Object.create(engine, { refresh: { value: refresh } }) as StackEngine };
}

describe("a cloud that is slow", () => {
  it("is waited for when it asks to slow down", async () => {
    const engine = await running();
    const outcome = await engine.up(after, [{ at: "call", number: 0, what: "throttle" }]);
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assertSound(engine);
  });

  it("whose answer was lost is asked what it did", async () => {
    const engine = await running();
    const outcome = await engine.up(after, [{ at: "call", number: 0, what: "loseAnswer" }]);
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assertSound(engine);
  });

  it("that can neither answer nor be asked about a creation is listed before it is taken back", async () => {
    const engine = new FakeEngine({ traits: { ...plainWorld, listingLagMs: 900 } });
    const outcome = await engine.up(before, [
      { at: "call", number: 3, what: "loseAnswer" },
      { at: "look", number: 23, what: "unknown" },
      { at: "look", number: 24, what: "unknown" },
    ]);
    assert.match(outcomeText(outcome), /^rolledBack: cannot create LocalHost web-.* exists: /);
    assert.equal(engine.calls.filter(({ call }) => call === "create").length, 4);
    assert.deepEqual(engine.alive(), []);
  });

  for (const verb of ["up", "rollback"] as const) {
    it(`whose listings lag hides no orphan of a killed command from ${verb}`, async () => {
      const engine = await running({ traits: { ...plainWorld, listingLagMs: 900 } });
      await engine.up(after, [{ at: "call", number: 0, what: "killAfter" }]);
      const outcome = verb === "up" ? await engine.up(before) : await engine.rollback();
      assert.equal(outcome.kind, verb === "up" ? "done" : "rolledBack", outcomeText(outcome));
      assertSound(engine);
      assert.deepEqual(hosts(engine), ["cp.1", "web.1"]);
    });
  }
});
