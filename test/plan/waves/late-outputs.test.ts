import assert from "node:assert/strict";
import type { JsonObject } from "../../../src/api/json.js";
import { keyOf, nodeKey, type NodeKey, refTo } from "../../../src/graph/graph.js";
import { makePlan } from "../../../src/plan/planner/make-plan.js";
import { nextAction } from "../../../src/plan/waves/next-action.js";
import type { CompiledParts, InfrastructureProvider } from "../../../src/provider/port.js";
import { FakeEngine } from "../../support/fake-engine.js";
import { cluster, desiredOf, localProvider, machine } from "../../support/manifests.js";

/** Its hosts are told the address of the load balancer, which that has only once it is ready. */
function telling(): InfrastructureProvider {
  const local: InfrastructureProvider = localProvider();
  const address = refTo("LocalLoadBalancer", "api", "address");
  return Object.assign(Object.create(local) as InfrastructureProvider, {
    compile: (...args: Parameters<InfrastructureProvider["compile"]>): CompiledParts => {
      const parts = local.compile(...args);
      const withAddress = (spec: JsonObject) => ({ ...spec, tags: { address } });
      const hosts = [...parts.hosts].map(([name, spec]) => [name, withAddress(spec)] as const);
      return { ...parts, hosts: new Map(hosts) };
    },
  });
}

const desired = desiredOf([cluster(), machine("cp", { controlPlane: "1.34.2" }), machine("web")]);
const names = (keys: readonly NodeKey[]) =>
  keys.map((key) => key.replace(/^\w+\//, "").replace(/-[0-9a-f]{8}-/, "."));

describe("an output that a resource tells only once it is ready", () => {
  it("is made, then waited for, before what refers to it", async () => {
    const plan = await new FakeEngine({ provider: telling() }).plan(desired);
    const all = plan.target.nodes.map(keyOf);
    const [network, api] = all;
    const after = (applied: readonly (NodeKey | undefined)[], unready: readonly NodeKey[]) => {
      const made = new Set(applied.flatMap((key) => key ?? []));
      const available = new Set(all.filter((key) => !unready.includes(key)));
      const action = nextAction(plan, { applied: made, available });
      return "keys" in action ? [action.kind, ...names(action.keys)] : [action.kind];
    };
    assert.deepEqual(after([], all), ["change", "network", "api"]);
    assert.deepEqual(after([network], all), ["change", "api"]);
    assert.deepEqual(after([network, api], all), ["wait", "network", "api"]);
    const hosts = all.filter((key) => key.startsWith("LocalHost/"));
    assert.deepEqual(after([network, api], hosts), ["change", "cp.1"]);
    assert.deepEqual(
      plan.waves.map(({ keys }) => names(keys)),
      [["network", "api"], ["cp.1"], ["web.1"]],
    );
  });

  it("is what hosts get, and no difference afterwards", async () => {
    const engine = new FakeEngine({ provider: telling() });
    await engine.settle(desired);
    const api = engine.alive().find(({ who }) => who.kind === "LocalLoadBalancer");
    const address = api?.status["address"];
    assert.ok(typeof address === "string");
    assert.deepEqual(
      engine.hosts().map(({ spec }) => spec["tags"]),
      [{ address }, { address }],
    );
    assert.ok((await engine.plan(desired)).empty);
  });

  it("that its record lacks is read again before anything refers to it", async () => {
    const engine = new FakeEngine({ provider: telling() });
    await engine.settle(desired);
    const [observedResources, resources] = [new Map(), engine.prior.resources];
    for (const one of engine.alive())
      observedResources.set(nodeKey(one.who.kind, one.who.name), one);
    const withoutStatus = resources.map((one) =>
      one.kind === "LocalLoadBalancer" ? { ...one, outputs: { ...one.outputs, status: {} } } : one,
    );
    const input = {
      planGoal: { kind: "objects" as const, desired },
      provider: telling(),
      prior: { ...engine.prior, resources: withoutStatus },
      observedResources,
      unrecorded: [],
      listed: resources.length,
      newClusterUid: "uid-2",
      owner: "files",
      goal: { kind: "up" as const },
      by: "ann@laptop",
      nowMs: 5_000,
      deadlineMs: 1_000,
      removal: "accepted" as const,
    };
    assert.deepEqual(names(makePlan(input).stale), ["api"]);
    assert.deepEqual(makePlan({ ...input, prior: engine.prior }).stale, []);
  });
});
