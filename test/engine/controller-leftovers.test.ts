import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { leftoverDataAnnotation, leftoversAnnotation } from "../../src/api/leftover-policy.js";
import { removeLeftovers } from "../../src/engine/run/remove-leftovers.js";
import type { RunEvent } from "../../src/engine/run/run-event.js";
import type { Leftover, LeftoverScope } from "../../src/provider/leftovers.js";
import type { InfrastructureProvider } from "../../src/provider/port.js";
import { withMembers } from "../../src/provider/provider-calls.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { FakeEngine } from "../support/fake-engine.js";
import { annotated, cluster, desiredOf, localProvider, machine } from "../support/manifests.js";

const made = (id: string, wave: number, more: Partial<Leftover> = {}): Leftover => ({
  kind: "thing",
  id,
  by: "a controller",
  wave,
  ...more,
});

/** A cloud with what controllers have made. */
class Leftovers {
  readonly there: Map<string, Leftover>;
  /** What was asked for, in order; with how many hosts there were. */
  readonly asked: string[] = [];
  /** What a removal is answered with, once each. */
  readonly refusals = new Map<string, CapstanError[]>();
  scope: LeftoverScope | undefined;
  hosts: () => number = () => 0;

  constructor(...found: Leftover[]) {
    this.there = new Map(found.map((one) => [one.id, one]));
  }

  provider(): InfrastructureProvider {
    return withMembers<InfrastructureProvider>(localProvider(), {
      leftovers: async (_ctx, scope) => {
        this.scope = scope;
        return [...this.there.values()];
      },
      removeLeftover: async (_ctx, _scope, { id }) => {
        this.asked.push(`${id} beside ${this.hosts()} hosts`);
        const refusal = this.refusals.get(id)?.shift();
        if (refusal !== undefined) throw refusal;
        this.there.delete(id);
      },
    });
  }
}

const inUse = (by: string) =>
  new CapstanError({ code: "IN_USE", source: "cloud", message: "it is in use", blockedBy: [by] });
const denied = () =>
  new CapstanError({ code: "PERMISSION", source: "cloud", message: "may not call it" });

const removing = { [leftoversAnnotation]: "remove" };
const desired = (annotations: Record<string, string>) =>
  desiredOf([
    annotated(annotations, cluster()),
    machine("cp", { controlPlane: "1.34.2" }),
    machine("web"),
  ]);

/** A running cluster, and what its controllers have made. */
async function running(
  annotations: Record<string, string>,
  leftovers: Leftovers,
  tell?: (event: RunEvent) => void,
): Promise<FakeEngine> {
  const setup = { provider: leftovers.provider(), ...(tell !== undefined && { tell }) };
  const engine = await FakeEngine.running(desired(annotations), setup);
  leftovers.hosts = () => engine.hosts().length;
  return engine;
}

describe("a destroy with what controllers in the cluster have made", () => {
  it("removes nothing unless the Cluster asks for it", async () => {
    const leftovers = new Leftovers(made("lb", 1), made("vol", 2, { holdsData: true }));
    const engine = await running({}, leftovers);
    assert.equal((await engine.destroy()).kind, "done");
    assert.deepEqual(leftovers.asked, []);
    assert.deepEqual(engine.alive(), []);
  });

  it("removes it wave by wave after the last host, and before the rest", async () => {
    const leftovers = new Leftovers(
      made("sg", 3),
      made("lb", 1),
      made("vol", 4, { holdsData: true }),
    );
    const events: string[] = [];
    const engine = await running(removing, leftovers, (event) => {
      if (event.kind === "leftover") events.push(event.leftover.id);
      if (event.kind === "pass") events.push(event.reason);
    });
    events.length = 0;
    assert.equal((await engine.destroy()).kind, "done");
    assert.deepEqual(leftovers.asked, ["lb beside 0 hosts", "sg beside 0 hosts"]);
    assert.deepEqual([...leftovers.there.keys()], ["vol"]);
    assert.deepEqual(events, [
      "workers go first",
      "no controller may be left",
      "what controllers have made goes",
      "lb",
      "sg",
      "control plane and infrastructure go last",
    ]);
  });

  it("removes data where the Cluster asks for just that", async () => {
    const leftovers = new Leftovers(made("vol", 4, { holdsData: true }), made("lb", 1));
    const engine = await running({ [leftoverDataAnnotation]: "remove" }, leftovers);
    await engine.destroy();
    assert.deepEqual([...leftovers.there.keys()], ["lb"]);
  });

  it("leaves alone what has come since its plan", async () => {
    const leftovers = new Leftovers(made("lb", 1));
    const engine = await running(removing, leftovers, (event) => {
      if (event.kind === "pass") leftovers.there.set("late", made("late", 1));
    });
    leftovers.there.delete("late");
    assert.equal((await engine.destroy()).kind, "done");
    assert.deepEqual([...leftovers.there.keys()], ["late"]);
  });

  it("that fails at one of them goes on with the rest, whoever comes next", async () => {
    const leftovers = new Leftovers(made("lb", 1), made("sg", 2));
    // A run tries once more before it gives up.
    leftovers.refusals.set("sg", [denied(), denied()]);
    const engine = await running(removing, leftovers);
    const outcome = await engine.destroy();
    assert.ok(outcome.kind === "stopped" && outcome.result === "incomplete");
    assert.match(outcome.failure.message, /^cannot delete thing sg, made by a controller: may not/);
    assert.ok(engine.alive().length > 0, "what it stands on is still there");
    assert.equal((await engine.destroy()).kind, "done");
    assert.deepEqual(
      leftovers.asked.map((one) => one.split(" ")[0]),
      ["lb", "sg", "sg", "sg"],
    );
    assert.deepEqual(engine.alive(), []);
  });

  it("that stopped half-way has no way back: another up removes nothing more and makes nothing", async () => {
    const leftovers = new Leftovers(made("lb", 1));
    leftovers.refusals.set("lb", [denied(), denied()]);
    const engine = await running(removing, leftovers);
    await engine.destroy();
    const outcome = await engine.up(desired(removing));
    assert.ok(outcome.kind === "broke" && outcome.error.code === "NOT_REVERSIBLE");
    assert.deepEqual(engine.hosts(), []);
    assert.deepEqual([...leftovers.there.keys()], ["lb"]);
    assert.equal((await engine.destroy()).kind, "done");
    assert.deepEqual([...leftovers.there.keys()], []);
  });

  it("says where the cluster is, also while its target is empty already", async () => {
    const leftovers = new Leftovers(made("lb", 1));
    leftovers.refusals.set("lb", [denied(), denied()]);
    const engine = await running(removing, leftovers);
    await engine.destroy();
    await engine.destroy();
    assert.equal(leftovers.scope?.cluster, "default/prod");
    assert.ok(
      leftovers.scope.places?.some(({ kind, isOurs }) => kind === "LocalNetwork" && isOurs),
    );
  });
});

describe("the removal of what controllers have made", () => {
  const removal = (leftovers: Leftovers, timeoutMs = 60_000) => {
    const waits: string[] = [];
    const context = {
      clock: new FakeClock(),
      signal: new AbortController().signal,
      assertEngineAlive: () => {},
    };
    const scope = { cluster: "default/prod", clusterUid: "uid" };
    const provider = leftovers.provider();
    const done = removeLeftovers([...leftovers.there.values()], {
      provider,
      scope,
      context,
      timeoutMs,
      waiting: (reason) => waits.push(reason),
      removed: () => {},
    });
    return { done, waits };
  };

  it("tries again what is still in use, and says so once", async () => {
    const leftovers = new Leftovers(made("sg", 1));
    leftovers.refusals.set("sg", [inUse("eni-1"), inUse("eni-1"), inUse("eni-1")]);
    const { done, waits } = removal(leftovers);
    await done;
    assert.equal(leftovers.asked.length, 4);
    assert.equal(waits.length, 1);
    assert.match(
      waits[0] ?? "",
      /thing sg, made by a controller: it is in use \(in its way: eni-1\)$/,
    );
  });

  it("gives up when the time is up, with what is in the way", async () => {
    const leftovers = new Leftovers(made("sg", 1), made("next", 2));
    leftovers.refusals.set(
      "sg",
      Array.from({ length: 100 }, () => inUse("eni-1")),
    );
    await assert.rejects(removal(leftovers).done, failsWith("IN_USE", /in its way: eni-1/));
    assert.ok(leftovers.there.has("next"), "what comes later is not begun");
  });

  it("asks once for what goes, and waits until it is not shown any more", async () => {
    const leftovers = new Leftovers(made("lb", 1));
    const lasting = leftovers.there;
    lasting.delete = () => false;
    await assert.rejects(
      removal(leftovers, 20_000).done,
      failsWith("DEADLINE", /thing lb: still there/),
    );
    assert.equal(leftovers.asked.length, 1);
  });
});
