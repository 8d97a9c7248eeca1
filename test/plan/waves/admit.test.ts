import assert from "node:assert/strict";
import { keyOf, type NodeKey } from "../../../src/graph/graph.js";
import type { Plan } from "../../../src/plan/plan.js";
import { nextAction } from "../../../src/plan/waves/next-action.js";
import { wavesOf } from "../../../src/plan/waves/list-waves.js";
import { cluster, desiredOf, machine, type Manifest } from "../../support/manifests.js";
import { plainWorld } from "../../support/fake-cloud.js";
import { FakeEngine } from "../../support/fake-engine.js";

const controlPlane = machine("cp", { controlPlane: "1.34.2" });
const worker = machine("web");
const large = machine("web", { size: "large" });

async function planFor(before: Manifest[] | undefined, after: Manifest[]): Promise<Plan> {
  const engine = new FakeEngine();
  if (before !== undefined) await engine.settle(desiredOf([cluster(), ...before]));
  return engine.plan(desiredOf([cluster(), ...after]));
}

/** "change network api cp": kinds and hashes are left out. */
function shown(keys: readonly NodeKey[]): string {
  return keys.map((key) => key.replace(/^\w+\//, "").replace(/-[0-9a-f]{8}-/, ".")).join(" ");
}

function next(plan: Plan, applied: readonly string[], ready: readonly string[]): string {
  const keys = plan.steps.map(({ key }) => key);
  const hosts = plan.target.machines.map(({ host }) => host);
  const pick = (from: readonly NodeKey[], names: readonly string[]) =>
    from.filter((key) => names.includes(shown([key])));
  // What machines share is ready as soon as it is made, unless it is named with a "!".
  const shared = plan.target.nodes
    .map(keyOf)
    .filter((key) => !hosts.includes(key) && !ready.includes(`!${shown([key])}`));
  const progress = {
    applied: new Set(pick(keys, applied)),
    available: new Set([...pick(hosts, ready), ...shared]),
  };
  const action = nextAction(plan, progress);
  const named = "keys" in action ? action.keys : [];
  const what = action.kind === "commit" ? action.deletions : named;
  return `${action.kind} ${shown(what)}`.trim();
}

describe("what may happen next", () => {
  let create: Plan;
  before(async () => {
    create = await planFor(undefined, [worker, controlPlane]);
  });
  const first = ["network", "api", "cp.1"];
  const cases = [
    {
      name: "infrastructure and control plane first",
      applied: [],
      ready: [],
      want: "change network api cp.1",
    },
    {
      name: "what is left of the first wave",
      applied: ["network"],
      ready: [],
      want: "change api cp.1",
    },
    {
      name: "nothing else waits for what others need no more than the id of",
      applied: first,
      ready: ["cp.1", "!api"],
      want: "change web.1",
    },
    {
      name: "before the commit what machines share has to be ready",
      applied: [...first, "web.1"],
      ready: ["cp.1", "web.1", "!api"],
      want: "wait api",
    },
    { name: "then wait for the control plane", applied: first, ready: [], want: "wait cp.1" },
    { name: "then workers", applied: first, ready: ["cp.1"], want: "change web.1" },
    {
      name: "then wait for them",
      applied: [...first, "web.1"],
      ready: ["cp.1"],
      want: "wait web.1",
    },
    {
      name: "a control plane that stops running is waited for again",
      applied: [...first, "web.1"],
      ready: ["web.1"],
      want: "wait cp.1",
    },
    { name: "then commit", applied: [...first, "web.1"], ready: ["cp.1", "web.1"], want: "commit" },
  ];
  for (const { name, applied, ready, want } of cases) {
    it(name, () => assert.equal(next(create, applied, ready), want));
  }

  it("deletes with the commit only, once every host of the target runs", async () => {
    const replace = await planFor([controlPlane, worker], [controlPlane, large]);
    assert.equal(next(replace, [], []), "wait cp.1");
    assert.equal(next(replace, [], ["cp.1"]), "change web.1");
    const applied = replace.steps.filter(({ kind }) => kind === "create").map(({ key }) => key);
    const hosts = replace.target.machines.map(({ host }) => host);
    const waiting = nextAction(replace, {
      applied: new Set(applied),
      available: new Set(replace.target.nodes.map(keyOf).filter((key) => key !== hosts[1])),
    });
    assert.equal(waiting.kind, "wait");
    const available = new Set(replace.target.nodes.map(keyOf));
    const done = nextAction(replace, { applied: new Set(applied), available });
    assert.ok(done.kind === "commit" && done.deletions.length === 1);
  });

  it("updates infrastructure and control plane before workers, too", async () => {
    const update = await planFor(
      [controlPlane, worker],
      [machine("cp", { controlPlane: "1.35.0" }), machine("web", { kubelet: "1.33.0" })],
    );
    assert.equal(next(update, [], ["cp.1", "web.1"]), "change cp.1");
    assert.equal(next(update, ["cp.1"], ["cp.1", "web.1"]), "change web.1");
  });

  it("commits a plan that only deletes as soon as what stays runs", async () => {
    const smaller = await planFor([controlPlane, worker], [controlPlane]);
    assert.equal(next(smaller, [], []), "wait cp.1");
    assert.equal(next(smaller, [], ["cp.1"]), "commit web.1");
  });

  it("goes straight to workers where there is no control plane", async () => {
    assert.equal(next(await planFor(undefined, [worker]), ["network", "api"], []), "change web.1");
  });

  it("says of workers that nothing runs for them to follow where there is no control plane", async () => {
    const reasonOf = async (...machines: Manifest[]) =>
      wavesOf(await planFor(undefined, machines)).at(-1)?.reason;
    assert.equal(await reasonOf(worker), "workers alone: the cluster has no control plane");
    assert.equal(await reasonOf(controlPlane, worker), "the control plane runs, workers follow");
  });
});

describe("the waves of a plan", () => {
  const cases = [
    {
      name: "a first creation",
      given: () => planFor(undefined, [controlPlane, worker]),
      want: ["network api cp.1", "web.1"],
    },
    { name: "nothing to do", given: () => planFor([worker], [worker]), want: [] },
    {
      name: "a replacement",
      given: () => planFor([controlPlane, worker], [controlPlane, large]),
      want: ["web.1", "web.1"],
    },
    {
      name: "a removal",
      given: () => planFor([controlPlane, worker], [controlPlane]),
      want: ["web.1"],
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, async () =>
      assert.deepEqual(
        wavesOf(await given()).map(({ keys }) => shown(keys)),
        want,
      ),
    );
  }
});

describe("a machine that drains", () => {
  const wanted = (kubelet: string, ...names: readonly string[]) =>
    desiredOf([cluster(), controlPlane, ...names.map((name) => machine(name, { kubelet }))]);

  it("waits while another one, which is down, gets a successor", async () => {
    const engine = new FakeEngine({ traits: { ...plainWorld, joins: true } });
    await engine.settle(wanted("1.34.1", "db-1"));
    const fails = [{ at: "boot", number: 0, what: "fails" } as const];
    await engine.up(wanted("1.34.1", "db-0", "db-1"), fails, "keep");
    const plan = await engine.plan(wanted("1.34.2", "db-0", "db-1"));
    assert.equal(next(plan, [], ["cp.1", "db-1.1"]), "change db-0.2");
    assert.equal(next(plan, ["db-0.2"], ["cp.1", "db-0.2", "db-1.1"]), "change db-1.1");
  });
});
