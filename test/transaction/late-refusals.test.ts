import assert from "node:assert/strict";
import { HostsDead } from "../../src/engine/run/failures.js";
import { cloudResources } from "../../src/records/prior-state.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import { cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";
import { plainWorld, type WorldTraits } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const dataVolume = { gib: 10 };

function accepting(traits: Partial<WorldTraits> = {}) {
  const events: RunEvent[] = [];
  const engine = new FakeEngine({
    traits: { ...plainWorld, acceptsFirst: true, ...traits },
    tell: (event) => events.push(event),
  });
  return { engine, events };
}

/** Size and name without its hash of each host that is alive. */
function hosts(engine: FakeEngine): string[] {
  return engine
    .hosts()
    .map(({ who, spec }) => `${who.name.replace(/-[0-9a-f]{8}-/, ".")} ${String(spec["size"])}`);
}

/** Cloud and state hold the same, and nothing was forbidden. */
function assertSound(engine: FakeEngine): void {
  assert.deepEqual(engine.cloud.watch.violations, []);
  const ids = (all: readonly { readonly id?: string }[]) => all.map(({ id }) => id).sort();
  assert.deepEqual(ids(engine.alive()), ids(cloudResources(engine.prior)));
}

describe("a host that the cloud accepts and then refuses", () => {
  it("stops what is made after it at once, and is the error of the transaction", async () => {
    const { engine, events } = accepting();
    await engine.settle(goal(machine("web")));
    const beganMs = engine.clock.now();
    const outcome = await engine.up(goal(machine("web"), machine("db", { dataVolume })), [
      { at: "boot", number: 0, what: "fails" },
    ]);
    assert.ok(outcome.kind === "rolledBack", outcomeText(outcome));
    assert.ok(outcome.failure instanceof HostsDead);
    assert.match(
      outcome.failure.message,
      /^failed to start: LocalHost\/db-\w+-1 \(no quota is left\)$/,
    );
    assert.deepEqual(
      outcome.failure.resources.map(({ code }) => code),
      ["QUOTA"],
    );
    assert.ok(engine.clock.now() - beganMs < 10_000, "nobody waits two minutes for a volume");
    const volumes = events.flatMap((one) =>
      one.kind === "resource" && one.event.kind === "LocalVolume" ? [one.event.state] : [],
    );
    assert.ok(!volumes.includes("done"), volumes.join());
    assertSound(engine);
  });

  it("for want of room becomes its next alternative, under a name of its own", async () => {
    const { engine, events } = accepting();
    engine.cloud.isFull = true;
    const web = machine("web", { size: "medium", otherSizes: ["large"], dataVolume });
    const outcome = await engine.up(goal(web));
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assert.deepEqual(hosts(engine), ["web.2 large"]);
    assert.equal(events.filter(({ kind }) => kind === "plannedAnew").length, 1);
    assertSound(engine);
    assert.ok((await engine.plan(goal(web))).empty, "it counts as wanted");
  });

  it("goes through its alternatives in their order, each once", async () => {
    const { engine } = accepting();
    const asked: unknown[] = [];
    engine.cloud.hasRoomFor = ({ size }) => (asked.push(size), size === "large");
    const sizes = { size: "small", otherSizes: ["medium", "large"] };
    const outcome = await engine.up(goal(machine("web", sizes)));
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assert.deepEqual(asked, ["small", "medium", "large"]);
    assertSound(engine);
  });

  it("is taken back with the last refusal once no alternative is left", async () => {
    const { engine } = accepting();
    engine.cloud.hasRoomFor = () => false;
    const outcome = await engine.up(goal(machine("web", { size: "small", otherSizes: ["large"] })));
    assert.ok(outcome.kind === "rolledBack" && outcome.failure instanceof HostsDead);
    assert.deepEqual(
      outcome.failure.resources.map(({ code }) => code),
      ["CAPACITY"],
    );
    assert.deepEqual(engine.alive(), []);
  });

  it("goes on where a killed command has stopped", async () => {
    const { engine } = accepting();
    engine.cloud.isFull = true;
    const web = goal(machine("web", { size: "medium", otherSizes: ["large"], dataVolume }));
    for (let call = 1; call < 8; call += 1) {
      const { engine: another } = accepting();
      another.cloud.isFull = true;
      await another.up(web, [{ at: "call", number: call, what: "killAfter" }]);
      await another.settle(web);
      assert.deepEqual(
        another.hosts().map(({ spec }) => spec["size"]),
        ["large"],
        `killed after call ${call}`,
      );
      assertSound(another);
    }
    assert.equal((await engine.up(web)).kind, "done");
  });
});

describe("a removal that the cloud accepts and then refuses", () => {
  it("is told of at once, asked for again, and done in the end", async () => {
    const { engine, events } = accepting();
    await engine.settle(goal(machine("web"), machine("db")));
    const beganMs = engine.clock.now();
    const outcome = await engine.up(goal(machine("web")), [
      { at: "call", number: 0, what: "fail" },
    ]);
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assert.deepEqual(hosts(engine), ["web.1 small"]);
    const told = events.flatMap((one) => (one.kind === "resource" ? [one.event] : []));
    assert.ok(
      told.some(({ state, message = "" }) => state === "waiting" && message.includes("still used")),
      "the cloud's words are shown",
    );
    assert.ok(engine.clock.now() - beganMs < 30_000, "nobody waits until it is due by the clock");
    assertSound(engine);
  });
});
