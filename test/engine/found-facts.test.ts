import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import type { JsonObject } from "../../src/api/json.js";
import { refreshLookupsAnnotation } from "../../src/api/refresh-lookups.js";
import type { Desired } from "../../src/api/types.js";
import { planNotes } from "../../src/plan/changes/notes.js";
import { classifyDrift } from "../../src/drift/classify.js";
import { readExternals } from "../../src/engine/operations/externals.js";
import { findFacts } from "../../src/engine/operations/found-facts.js";
import { LocalCloud } from "../../providers/local/cloud.js";
import { LocalProvider } from "../../providers/local/provider.js";
import { callContext } from "../../src/engine/run/handler-session.js";
import { refTo } from "../../src/graph/graph.js";
import { withMembers } from "../../src/provider/provider-calls.js";
import { nobody } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import {
  annotated,
  cluster,
  type ClusterShape,
  desiredOf,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";

const control = machine("cp", { controlPlane: "1.34.2" });

/** The Cluster, with a wish to look up again. */
function wishing(wish: string | undefined, shape: ClusterShape = {}): Manifest {
  const object = cluster(shape);
  return wish === undefined ? object : annotated({ [refreshLookupsAnnotation]: wish }, object);
}

const family = { imageFamily: "ubuntu" };
const goal = (wish?: string, ...others: readonly Manifest[]): Desired =>
  desiredOf([wishing(wish), control, machineDeployment("web", 2, family), ...others]);

const imagesOf = (engine: FakeEngine, name: string) =>
  engine
    .hosts()
    .filter(({ who }) => who.name.startsWith(`${name}-`))
    .map(({ spec }) => spec["image"]);

const newer = (engine: FakeEngine) => engine.cloud.newestImages.set("ubuntu", "ubuntu-2");

describe("what is looked up", () => {
  it("is asked once for all that ask the same, and shown with the plan", async () => {
    const engine = new FakeEngine();
    const plan = await engine.plan(goal(undefined, machineSet("db", 1, family)));
    assert.deepEqual(engine.cloud.questions, [
      { kind: "machine", providerSpec: family, clusterSpec: {} },
    ]);
    assert.ok(
      planNotes(plan).includes(
        "Looked up for MachineSet db, MachineDeployment web (imageFamily ubuntu): image ubuntu-1",
      ),
    );
  });

  it("is not asked again while it is recorded, whatever is newer", async () => {
    const engine = await FakeEngine.running(goal());
    newer(engine);
    const asked = engine.cloud.questions.length;
    assert.equal((await engine.plan(goal())).empty, true);
    await engine.settle(desiredOf([cluster(), control, machineDeployment("web", 3, family)]));
    assert.equal(engine.cloud.questions.length, asked);
    assert.deepEqual(imagesOf(engine, "web"), ["ubuntu-1", "ubuntu-1", "ubuntu-1"]);
  });

  it("is asked again on request, and what changes is rolled out as any change", async () => {
    const engine = await FakeEngine.running(goal());
    newer(engine);
    const plan = await engine.settle(goal("again"));
    assert.deepEqual(
      plan.lookedUp?.map(({ before, answer }) => [before, answer]),
      [[{ image: "ubuntu-1" }, { image: "ubuntu-2" }]],
    );
    assert.ok(plan.waves.length > 1);
    assert.deepEqual(imagesOf(engine, "web"), ["ubuntu-2", "ubuntu-2"]);
    engine.cloud.newestImages.set("ubuntu", "ubuntu-3");
    assert.equal((await engine.plan(goal("again"))).empty, true);
  });

  it("goes back with a rollback, and stays there", async () => {
    const engine = await FakeEngine.running(goal());
    newer(engine);
    await engine.settle(goal("again"));
    const outcome = await engine.rollback();
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assert.deepEqual(imagesOf(engine, "web"), ["ubuntu-1", "ubuntu-1"]);
    assert.equal((await engine.plan(goal())).empty, true);
  });

  it("is what a killed up goes on with", async () => {
    const engine = new FakeEngine();
    const killed = await engine.up(goal(), [{ at: "call", number: 4, what: "killAfter" }]);
    assert.equal(killed.kind, "killed");
    newer(engine);
    const asked = engine.cloud.questions.length;
    const outcome = await engine.up(goal());
    assert.equal(outcome.kind, "done", outcomeText(outcome));
    assert.equal(engine.cloud.questions.length, asked);
    assert.deepEqual(imagesOf(engine, "web"), ["ubuntu-1", "ubuntu-1"]);
  });

  it("stays with the machines of a set, which keep what they were made with", async () => {
    const set = (replicas: number, wish?: string) =>
      desiredOf([wishing(wish), control, machineSet("db", replicas, family)]);
    const engine = await FakeEngine.running(set(1));
    newer(engine);
    await engine.settle(set(2, "again"));
    assert.deepEqual(imagesOf(engine, "db"), ["ubuntu-1", "ubuntu-2"]);
    assert.equal((await engine.plan(set(2, "again"))).empty, true);
    await engine.settle(set(3, "again"));
    assert.deepEqual(imagesOf(engine, "db"), ["ubuntu-1", "ubuntu-2", "ubuntu-2"]);
    const { lookups, machines = [] } = engine.prior.transaction?.target ?? {};
    assert.deepEqual(Object.values(lookups ?? {}), [{ image: "ubuntu-2" }]);
    assert.deepEqual(
      machines.map(({ lookedUp }) => lookedUp),
      [undefined, { image: "ubuntu-1" }, undefined, undefined],
    );
  });

  it("that nobody asks for any more is forgotten", async () => {
    const engine = await FakeEngine.running(goal());
    await engine.settle(desiredOf([cluster(), control]));
    assert.equal(engine.prior.transaction?.target.lookups, undefined);
  });

  it("is tried again where that may help, and else stops the plan with all that failed", async () => {
    const engine = new FakeEngine();
    const failing = withMembers(engine.provider, {
      resolve: async (_ctx, question) => {
        if (question.kind === "cluster") return {};
        throw new CapstanError({ code: "NOT_FOUND", source: "cloud", message: "there is none" });
      },
    });
    let failures = 2;
    const busy = withMembers(engine.provider, {
      resolve: async () => {
        if ((failures -= 1) < 0) return { image: "late" };
        throw new CapstanError({
          code: "CLOUD_THROTTLED",
          source: "cloud",
          message: "slow down",
          retryable: true,
        });
      },
    });
    const desired = desiredOf([
      cluster(),
      control,
      machineDeployment("web", 1, family),
      machineDeployment("db", 1, { imageFamily: "debian" }),
    ]);
    const context = callContext(engine.clock, new AbortController().signal);
    const about = { desired, positionOf: () => undefined, prior: engine.prior, context };
    const { lookups = {} } = await findFacts({ ...about, provider: busy });
    assert.deepEqual(Object.values(lookups), [{ image: "late" }, { image: "late" }]);
    await assert.rejects(findFacts({ ...about, provider: failing }), {
      code: "NOT_FOUND",
      message:
        "cannot look up what MachineDeployment web needs: there is none\ncannot look up what MachineDeployment db needs: there is none",
    });
  });
});

const network = (id: string, wish?: string) =>
  desiredOf([wishing(wish, { network: id }), control, machine("web")]);

const stranger = (engine: FakeEngine) =>
  engine.cloud.plant({ ...nobody, kind: "LocalNetwork" }, { cidr: "10.9.0.0/16" }).id;

describe("what is used and not ours", () => {
  it("gives its id to what refers to it, and has no record", async () => {
    const engine = new FakeEngine();
    const id = stranger(engine);
    const plan = await engine.settle(network(id));
    assert.deepEqual(
      plan.infrastructure.map(({ key, kind }) => [key, kind]),
      [
        ["LocalNetwork/network", "external"],
        ["LocalLoadBalancer/api", "create"],
      ],
    );
    assert.deepEqual(
      engine.hosts().map(({ spec }) => spec["networkId"]),
      [id, id],
    );
    assert.ok(!engine.prior.resources.some(({ kind }) => kind === "LocalNetwork"));
    assert.equal((await engine.plan(network(id))).empty, true);
  });

  it("has to be there: what is gone, or never was, stops the plan before it begins", async () => {
    const engine = new FakeEngine();
    const id = stranger(engine);
    engine.cloud.kill(id);
    for (const one of [id, "net-none"]) {
      await assert.rejects(engine.plan(network(one)), {
        code: "UNSUPPORTED_CHANGE",
        message: `cannot use LocalNetwork network: the cloud has no LocalNetwork ${one}`,
      });
    }
  });

  it("has to be there for a rollback to what used it, too", async () => {
    const engine = new FakeEngine();
    const id = stranger(engine);
    await engine.settle(network(id));
    await engine.settle(desiredOf([cluster(), control]));
    engine.cloud.kill(id);
    const outcome = await engine.rollback();
    assert.match(outcomeText(outcome), /UNSUPPORTED_CHANGE cannot use LocalNetwork network/);
  });

  it("is not taken for absent where nobody can tell", async () => {
    const engine = new FakeEngine();
    const id = stranger(engine);
    const outcome = await engine.up(network(id), [{ at: "look", number: 1, what: "failForGood" }]);
    assert.equal(outcome.kind === "broke" && outcome.error.code, "UNKNOWN_PRESENCE");
    assert.deepEqual(engine.calls, []);
  });

  it("may not be the cluster's own", async () => {
    const engine = await FakeEngine.running(desiredOf([cluster(), control]));
    const own = engine.alive().find(({ who }) => who.kind === "LocalNetwork")?.id ?? "";
    await assert.rejects(engine.plan(network(own)), /is the cluster's own/);
  });

  it("takes the place of one of ours, which goes, and the other way round", async () => {
    const engine = await FakeEngine.running(desiredOf([cluster(), control, machine("web")]));
    const id = stranger(engine);
    await engine.settle(network(id));
    const alive = () =>
      engine.cloud.alive().flatMap((one) => (one.who.kind === "LocalNetwork" ? [one.id] : []));
    assert.deepEqual(alive(), [id]);
    await engine.settle(desiredOf([cluster(), control, machine("web")]));
    assert.equal(alive().length, 2);
    assert.ok(alive().includes(id));
  });

  it("cannot be of a kind that nobody can find", async () => {
    const engine = new FakeEngine();
    const { locate, create, remove } = engine.provider.handlers.get("LocalNetwork")!;
    const provider = withMembers(engine.provider, {
      handlers: new Map([["LocalNetwork", { locate, create, remove }]]),
    });
    const context = callContext(engine.clock, new AbortController().signal);
    const about = { desired: network("net-1"), positionOf: () => undefined, context };
    await assert.rejects(
      findFacts({ ...about, prior: engine.prior, provider }),
      /cannot use LocalNetwork network: provider local has no find for LocalNetwork/,
    );
  });

  /** A host that takes an output of the network. */
  class Addressed extends LocalProvider {
    override compile(...given: Parameters<LocalProvider["compile"]>) {
      const { infrastructure, hosts } = super.compile(...given);
      const tagged = [...hosts].map(([name, spec]): [string, JsonObject] => [
        name,
        { ...spec, tags: { network: refTo("LocalNetwork", "network", "address") } },
      ]);
      return { infrastructure, hosts: new Map(tagged) };
    }
  }
  const addressed = (engine: FakeEngine) => new Addressed(new LocalCloud("/nowhere", engine.clock));

  it("keeps the outputs that it had, says when they are others, and takes them over on request", async () => {
    const engine = new FakeEngine();
    engine.upgrade(addressed(engine));
    const id = stranger(engine);
    const was = engine.cloud.get(id)?.status["address"];
    await engine.settle(network(id));
    engine.cloud.restate(id, { address: "10.9.9.9" });
    assert.equal((await engine.plan(network(id))).empty, true);
    const { externals = [] } = engine.prior.transaction?.target ?? {};
    const context = callContext(engine.clock, new AbortController().signal);
    const { sights } = await readExternals(externals, engine.provider, context);
    const sight = await engine.sight();
    assert.ok(!("failed" in sight));
    const { items } = classifyDrift(engine.prior, { ...sight, externals: sights }, engine.provider);
    assert.deepEqual(
      items.map((item) => [item.class, item.external, "fields" in item && item.fields]),
      [["changed", true, [{ path: "address", recorded: was, seen: "10.9.9.9" }]]],
    );
    await engine.settle(network(id, "again"));
    assert.deepEqual(
      engine.hosts().map(({ spec }) => spec["tags"]),
      [{ network: "10.9.9.9" }, { network: "10.9.9.9" }],
    );
  });

  it("has to tell what is asked of it", async () => {
    const engine = new FakeEngine();
    engine.upgrade(addressed(engine));
    const id = stranger(engine);
    engine.cloud.restate(id, {});
    await assert.rejects(engine.plan(network(id)), {
      code: "UNSUPPORTED_CHANGE",
      message: `cannot use LocalNetwork network: ${id} does not tell its address`,
    });
  });
});
