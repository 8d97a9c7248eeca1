import assert from "node:assert/strict";
import { isCapstanError } from "../../src/api/error.js";
import { sameJson } from "../../src/api/json.js";
import { type NodeKey, nodeKey } from "../../src/graph/graph.js";
import type { Plan } from "../../src/plan/plan.js";
import type { PriorState } from "../../src/records/prior-state.js";
import {
  type AllowedChanges,
  programOf,
  revisionKey,
  transactionKey,
} from "../../src/transaction/pass.js";
import { cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";
import { payloadsOf, FakeEngine } from "../support/fake-engine.js";

const begin: AllowedChanges = { kind: "begin" };
const nothing: AllowedChanges = { kind: "change", allowed: new Set(), deletions: new Set() };

function running(...objects: Manifest[]): Promise<FakeEngine> {
  return FakeEngine.running(desiredOf([cluster(), ...objects]));
}

function desiredWith(...objects: Manifest[]) {
  return desiredOf([cluster(), ...objects]);
}

function program(plan: Plan, prior: PriorState, allowed: AllowedChanges = nothing) {
  return programOf(plan, prior, allowed, payloadsOf(plan, prior));
}

function allOf(plan: Plan): AllowedChanges {
  const keys = (deletes: boolean) =>
    new Set(plan.steps.filter(({ kind }) => (kind === "delete") === deletes).map(({ key }) => key));
  return { kind: "commit", allowed: keys(false), deletions: keys(true) };
}

function shown(keys: Iterable<NodeKey>): string[] {
  return [...keys].map((key) => key.replace(/-[0-9a-f]{8}(?=-|$)/, "-#"));
}

describe("the list that a pass registers", () => {
  const objects = [machine("cp", { controlPlane: "1.34.2" }), machine("web")];

  it("of a first pass holds Transaction first, and no Revision", async () => {
    const engine = new FakeEngine();
    const plan = await engine.plan(desiredWith(...objects));
    const none = program(plan, engine.prior);
    assert.deepEqual(shown(none.registrations.map(({ key }) => key)), [transactionKey]);
    assert.deepEqual(none.stackOutputs, {});
  });

  it("of a commit holds everything, Revision last and depending on everything", async () => {
    const engine = new FakeEngine();
    const plan = await engine.plan(desiredWith(...objects));
    const { registrations, stackOutputs } = program(plan, engine.prior, allOf(plan));
    const keys = registrations.map(({ key }) => key);
    assert.equal(keys[0], transactionKey);
    assert.equal(keys.at(-1), revisionKey);
    assert.deepEqual(registrations.at(-1)?.dependsOn, keys.slice(0, -1));
    assert.ok(registrations.slice(1).every(({ dependsOn }) => dependsOn.includes(transactionKey)));
    assert.deepEqual(stackOutputs, { cluster: "default/prod", revision: 1, machines: 2 });
  });

  it("makes a Machine a component around its host", async () => {
    const engine = new FakeEngine();
    const plan = await engine.plan(desiredWith(...objects));
    const { registrations } = program(plan, engine.prior, allOf(plan));
    const host = registrations.find(({ key }) => key.startsWith("LocalHost/web-"));
    assert.equal(host?.parent, "Machine/web");
    const component = registrations.find(({ key }) => key === "Machine/web");
    assert.deepEqual([component?.type, component?.inputs], ["component", {}]);
  });

  it("treats the payloads, and nothing else, as secrets", async () => {
    const engine = new FakeEngine();
    const plan = await engine.plan(desiredWith(...objects));
    const { registrations } = program(plan, engine.prior, allOf(plan));
    const secrets = registrations.flatMap(({ key, secretInputs }) =>
      secretInputs.map((one) => [key, one]),
    );
    assert.deepEqual(secrets, [
      [transactionKey, "payload"],
      [revisionKey, "payload"],
    ]);
  });

  it("leaves out no step's resource before it is admitted, and creates none", async () => {
    const engine = await running(...objects);
    const plan = await engine.plan(desiredWith(objects[0]!, machine("web", { size: "large" })));
    const { registrations } = program(plan, engine.prior);
    const registered = new Set(registrations.map(({ key }) => key));
    const recorded = engine.prior.resources.map(({ key }) => key);
    assert.deepEqual(
      recorded.filter((key) => !registered.has(key)),
      [],
    );
    const created = plan.steps.find(({ kind }) => kind === "create");
    assert.ok(created !== undefined && !registered.has(created.key));
  });

  it("repeats what is recorded word for word until its change is admitted", async () => {
    const engine = await running(...objects);
    const plan = await engine.plan(desiredWith(objects[0]!, machine("web", { diskGib: 99 })));
    const [step] = plan.steps;
    assert.ok(step?.kind === "update");
    const recorded = engine.prior.resources.find(({ key }) => key === step.key);
    const before = program(plan, engine.prior).registrations.find(({ key }) => key === step.key);
    assert.deepEqual(before?.inputs, recorded?.inputs);
    assert.deepEqual(new Set(before?.dependsOn), new Set(recorded?.dependsOn));
    assert.equal(before?.parent, recorded?.parent);
    const admitted = new Set([step.key]);
    const after = program(plan, engine.prior, {
      kind: "change",
      allowed: admitted,
      deletions: new Set(),
    }).registrations.find(({ key }) => key === step.key);
    assert.equal((after?.inputs["spec"] as { diskGib: number }).diskGib, 99);
  });

  it("repeats the old Revision, and its outputs, until the commit", async () => {
    const engine = await running(...objects);
    const plan = await engine.plan(desiredWith(...objects, machine("extra")));
    const old = engine.prior.resources.find(({ key }) => key === revisionKey);
    const between = program(plan, engine.prior);
    assert.deepEqual(between.registrations.at(-1)?.inputs, old?.inputs);
    assert.deepEqual(between.stackOutputs, { cluster: "default/prod", revision: 1, machines: 2 });
    const [transaction] = between.registrations;
    assert.equal(transaction?.inputs["number"], 2);
    assert.deepEqual(program(plan, engine.prior, allOf(plan)).stackOutputs, {
      cluster: "default/prod",
      revision: 2,
      machines: 3,
    });
  });

  it("of a begin writes Transaction alone: all else is registered as it is recorded", async () => {
    const engine = await running(...objects);
    const plan = await engine.plan(desiredWith(objects[0]!, machine("web", { diskGib: 99 })));
    const { registrations } = program(plan, engine.prior, begin);
    const recorded = new Map(engine.prior.resources.map((one) => [one.key, one]));
    const changed = registrations.filter(
      ({ key, inputs }) => !sameJson(inputs, recorded.get(key)?.inputs ?? null),
    );
    assert.deepEqual(
      changed.map(({ key, inputs }) => [key, inputs["number"]]),
      [[transactionKey, 2]],
    );
    assert.deepEqual(
      new Set(registrations.map(({ key }) => key)),
      new Set(recorded.keys()),
      "nothing comes, nothing goes",
    );
  });

  it("of a first begin holds Transaction and nothing else", async () => {
    const engine = new FakeEngine();
    const plan = await engine.plan(desiredWith(...objects));
    const { registrations } = program(plan, engine.prior, begin);
    assert.deepEqual(
      registrations.map(({ key }) => key),
      [transactionKey],
    );
  });

  it("keeps every token of a kept host", async () => {
    const engine = await running(...objects);
    const tokens = (registrations: { readonly inputs: unknown; readonly key: NodeKey }[]) =>
      registrations.flatMap(({ key, inputs }) => {
        const { who } = inputs as { who?: { token: string } };
        return who === undefined ? [] : [`${key} ${who.token}`];
      });
    const plan = await engine.plan(desiredWith(...objects, machine("extra")));
    const before = tokens([...engine.prior.resources]);
    const after = tokens([...program(plan, engine.prior, allOf(plan)).registrations]);
    assert.equal(before.length, 4);
    assert.deepEqual(
      before.filter((token) => !after.includes(token)),
      [],
    );
  });

  it("does not register again what is condemned already", async () => {
    const engine = await running(...objects);
    engine.tamper((resources) =>
      resources.map((one) => (one.name.startsWith("web-") ? { ...one, deleting: true } : one)),
    );
    const plan = await engine.plan(desiredWith(objects[0]!));
    const { registrations } = program(plan, engine.prior);
    assert.deepEqual(
      registrations.filter(({ key }) => key.startsWith("LocalHost/web-")),
      [],
    );
  });
});

describe("law 8: a pass that would delete what was not admitted", () => {
  const objects = [machine("web"), machine("old")];

  it("keeps what no plan mentions", async () => {
    const engine = await running(...objects);
    const plan = await engine.plan(desiredWith(machine("web")));
    const { registrations } = program(plan, engine.prior, {
      kind: "commit",
      allowed: new Set(),
      deletions: new Set(),
    });
    assert.ok(registrations.some(({ key }) => key.startsWith("LocalHost/old-")));
  });

  it("keeps what was recorded after the plan was made", async () => {
    const engine = await running(...objects);
    const plan = await engine.plan(desiredWith(...objects));
    const late = {
      ...engine.prior.resources.find(({ kind }) => kind === "LocalHost")!,
      name: "late",
    };
    const key = nodeKey("LocalHost", "late");
    engine.tamper((resources) => [...resources, { ...late, key }]);
    const { registrations } = program(plan, engine.prior, allOf(plan));
    assert.ok(registrations.some((one) => one.key === key));
  });

  it("is refused before anything starts, naming what would be lost", async () => {
    const engine = await running(...objects);
    const plan = await engine.plan(desiredWith(...objects));
    // A record under a name that no release registers: neither wanted nor kept.
    const prior: PriorState = {
      ...engine.prior,
      resources: engine.prior.resources.map((one) =>
        one.key === transactionKey ? { ...one, key: nodeKey("Transaction", "another") } : one,
      ),
    };
    assert.throws(
      () => program(plan, prior, allOf(plan)),
      (error) =>
        isCapstanError(error) &&
        error.code === "BAD_STATE" &&
        error.message.includes("would delete Transaction/another, which no plan admitted"),
    );
  });

  it("keeps a recorded resource that the target takes for a component", async () => {
    const engine = await running(...objects);
    const plan = await engine.plan(desiredWith(...objects));
    const nodes = plan.target.nodes.map((node) =>
      node.name === "api" ? { ...node, type: "component" as const } : node,
    );
    const broken: Plan = { ...plan, target: { ...plan.target, nodes } };
    const { registrations } = program(broken, engine.prior, allOf(plan));
    const api = registrations.find(({ key }) => key === "LocalLoadBalancer/api");
    assert.equal(api?.type, "resource");
  });
});
