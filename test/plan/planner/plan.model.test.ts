import assert from "node:assert/strict";
import fc from "fast-check";
import { isCapstanError } from "../../../src/api/error.js";
import type { NodeKey } from "../../../src/graph/graph.js";
import { planSummary, planTree } from "../../../src/plan/changes/tree.js";
import type { Plan } from "../../../src/plan/plan.js";
import {
  desiredCluster,
  type WantedCluster,
  wantedClusters,
} from "../../support/wanted-cluster.js";
import { assertAsyncLaw } from "../../support/laws.js";
import type { CommandFault } from "../../support/faults.js";
import { FakeEngine } from "../../support/fake-engine.js";

/** What can happen to a cluster, in any order. */
type Event =
  | { readonly kind: "edit"; readonly wanted: WantedCluster }
  | { readonly kind: "up"; readonly faults: readonly CommandFault[] }
  | { readonly kind: "kill"; readonly pick: number }
  | { readonly kind: "drift"; readonly pick: number; readonly fields: Record<string, string> };

/** One command is killed; test/transaction/atomic.model lets everything else go wrong as well. */
const kills: fc.Arbitrary<CommandFault> = fc.record({
  at: fc.constant("call" as const),
  number: fc.nat({ max: 12 }),
  what: fc.constantFrom("killBefore" as const, "killAfter" as const),
});

const events: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant("edit" as const), wanted: wantedClusters }),
  fc.record({ kind: fc.constant("up" as const), faults: fc.array(kills, { maxLength: 1 }) }),
  fc.record({ kind: fc.constant("kill" as const), pick: fc.nat({ max: 20 }) }),
  fc.record({
    kind: fc.constant("drift" as const),
    pick: fc.nat({ max: 20 }),
    fields: fc.constantFrom({ kubelet: "1.0.0" }, { size: "large" }, { image: "other" }),
  }),
);

const histories = fc.tuple(wantedClusters, fc.array(events, { maxLength: 8 }));

/** Lets a history happen, each command held against the laws. Returns the last goal, and what was last asked for. */
async function happen(
  engine: FakeEngine,
  [first, history]: [WantedCluster, Event[]],
): Promise<{ readonly planGoal: WantedCluster; readonly asked: WantedCluster }> {
  let planGoal = first;
  let asked = first;
  for (const event of history) {
    const hosts = engine.hosts();
    switch (event.kind) {
      case "edit":
        planGoal = event.wanted;
        break;
      case "up":
        asked = planGoal;
        await engine.up(desiredCluster(planGoal), event.faults);
        break;
      case "kill":
      case "drift": {
        const host = hosts[event.pick % Math.max(hosts.length, 1)];
        if (host === undefined) break;
        if (event.kind === "kill") engine.cloud.kill(host.id);
        else engine.cloud.drift(host.id, event.fields);
        break;
      }
    }
  }
  assert.deepEqual(engine.cloud.watch.violations, []);
  return { planGoal, asked };
}

async function isRefused(planning: Promise<Plan>): Promise<boolean> {
  try {
    await planning;
    return false;
  } catch (error) {
    if (isCapstanError(error) && error.code === "NOT_REVERSIBLE") return true;
    throw error;
  }
}

describe("a cluster over time", () => {
  it("law 1, 2: after any history the goal is reached, and planning again finds nothing to do", async () => {
    const property = fc.asyncProperty(histories, async (history) => {
      const engine = new FakeEngine();
      const happened = await happen(engine, history);
      const planGoal = desiredCluster(happened.planGoal);
      // Past a point of no return what was begun has to be ended first.
      const isForwardOnly = await isRefused(engine.plan(planGoal));
      if (isForwardOnly) await engine.settle(desiredCluster(happened.asked));
      // What an interrupted creation left may not be able to serve any more: that is found out on the way.
      const outcome = await engine.up(planGoal);
      if (outcome.kind !== "done") await engine.settle(planGoal);
      const again = await engine.plan(planGoal);
      assert.equal(planSummary(again), "No changes: objects, state and cloud agree.");
      assert.deepEqual(
        [again.empty, again.steps, again.stale, again.open !== undefined],
        [true, [], [], false],
      );
      assert.ok(
        planTree(again).every(({ kind }) => kind === "same" || kind === "group"),
        "the tree of an empty plan shows a change",
      );
      const hosts = engine.hosts().map(({ who }) => who.name);
      assert.deepEqual(
        hosts.sort(),
        again.target.machines.map(({ host }) => host.replace("LocalHost/", "")).sort(),
        "the cloud holds the target's hosts and nothing else",
      );
      assert.deepEqual(again.unrecorded, []);
    });
    await assertAsyncLaw(property, 70);
  });

  it("law 2: an empty plan that is applied anyway touches nothing", async () => {
    const property = fc.asyncProperty(wantedClusters, async (wanted) => {
      const engine = new FakeEngine();
      const planGoal = desiredCluster(wanted);
      await engine.settle(planGoal);
      const before = JSON.stringify(engine.prior);
      const calls = engine.calls.length;
      await engine.settle(planGoal);
      assert.equal(engine.calls.length, calls);
      assert.equal(JSON.stringify(engine.prior), before, "the record changed");
    });
    await assertAsyncLaw(property, 20);
  });

  it("law 7: every step of a plan has a line in its tree, and an undisturbed apply does them all", async () => {
    const property = fc.asyncProperty(histories, async (history) => {
      const engine = new FakeEngine();
      const { planGoal: last } = await happen(engine, history);
      const planGoal = desiredCluster(last);
      const { prior } = engine;
      if (await isRefused(engine.plan(planGoal))) return;
      const plan = await engine.plan(planGoal);
      const since = engine.calls.length;
      const outcome = await engine.apply(plan);
      const lines = new Set(planTree(plan).flatMap(({ key }) => key ?? []));
      const named = plan.machines.flatMap(({ machine, supersedes }) => [machine, supersedes]);
      const machines = new Set(named.map((name) => `Machine/${name}`));
      const parents = new Map(prior.resources.map(({ key, parent }) => [key, parent]));
      for (const { kind, key } of plan.steps) {
        const visible = lines.has(key) || machines.has(parents.get(key) ?? "");
        assert.ok(visible, `${kind} ${key} has no line in the tree`);
      }
      const done = new Set(engine.calls.slice(since).map(({ call, key }) => `${call} ${key}`));
      const found = new Set([...prior.resources, ...prior.pending].map(({ key }) => key));
      for (const { kind, key } of outcome.kind === "done" ? plan.steps : []) {
        if (kind !== "create" || found.has(key)) continue;
        assert.ok(done.has(`create ${key}`), `create ${key} was planned, not done`);
      }
    });
    await assertAsyncLaw(property, 40);
  });

  it("incarnations only rise, and no name ever stands for two hosts", async () => {
    const property = fc.asyncProperty(histories, async (history) => {
      const engine = new FakeEngine();
      await happen(engine, history);
      const created = engine.calls.filter(({ call }) => call === "create");
      const uid = engine.prior.transaction?.clusterUid;
      const ids = new Map<NodeKey, string>();
      for (const { key, id } of created.filter((one) => one.key.startsWith("LocalHost/"))) {
        if (engine.cloud.get(id)?.who.clusterUid !== uid) continue;
        assert.equal(ids.get(key) ?? id, id, `${key} was created twice`);
        ids.set(key, id);
      }
      const spent = engine.prior.transaction?.spent ?? {};
      for (const key of ids.keys()) {
        const [, generation = "", incarnation] = /^LocalHost\/(.*)-(\d+)$/.exec(key) ?? [];
        assert.ok(
          (spent[generation] ?? 0) >= Number(incarnation),
          `${key} was made, but is not counted as spent`,
        );
      }
    });
    await assertAsyncLaw(property, 50);
  });
});
