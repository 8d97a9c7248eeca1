import assert from "node:assert/strict";
import fc from "fast-check";
import type { NodeKey } from "../../src/graph/graph.js";
import { planSummary, planTree } from "../../src/plan/tree.js";
import { desiredFleet, type Fleet, fleets } from "../support/fleet.js";
import { assertLaw } from "../support/laws.js";
import { type Interruption, PretendEngine } from "../support/pretend-engine.js";

/** What can happen to a cluster, in any order. */
type Event =
  | { readonly kind: "edit"; readonly fleet: Fleet }
  | { readonly kind: "apply"; readonly interruption: Interruption | undefined }
  | { readonly kind: "kill"; readonly pick: number }
  | { readonly kind: "drift"; readonly pick: number; readonly fields: Record<string, string> };

const interruptions = fc.record({
  afterCalls: fc.nat({ max: 12 }),
  lastCall: fc.constantFrom("notMade" as const, "unrecorded" as const),
});

const events: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant("edit" as const), fleet: fleets }),
  fc.record({
    kind: fc.constant("apply" as const),
    interruption: fc.option(interruptions, { nil: undefined }),
  }),
  fc.record({ kind: fc.constant("kill" as const), pick: fc.nat({ max: 20 }) }),
  fc.record({
    kind: fc.constant("drift" as const),
    pick: fc.nat({ max: 20 }),
    fields: fc.constantFrom({ kubelet: "1.0.0" }, { size: "large" }, { image: "other" }),
  }),
);

const histories = fc.tuple(fleets, fc.array(events, { maxLength: 12 }));

/** Lets a history happen; the engine holds every pass against the laws. Returns the last wish. */
function happen(engine: PretendEngine, [first, history]: [Fleet, Event[]]): Fleet {
  let wish = first;
  for (const event of history) {
    const hosts = engine.hosts();
    switch (event.kind) {
      case "edit":
        wish = event.fleet;
        break;
      case "apply":
        engine.apply(engine.plan(desiredFleet(wish)), event.interruption);
        break;
      case "kill":
      case "drift": {
        const host = hosts[event.pick % Math.max(hosts.length, 1)];
        if (host === undefined) break;
        if (event.kind === "kill") engine.kill(host.id);
        else engine.drift(host.id, event.fields);
        break;
      }
    }
  }
  return wish;
}

describe("a cluster over time", () => {
  it("law 1, 2: after any history the wish is reached, and planning again finds nothing to do", () => {
    const property = fc.property(histories, (history) => {
      const engine = new PretendEngine();
      const wish = desiredFleet(happen(engine, history));
      // What an interrupted creation left may not be able to serve: it is found out on the way.
      engine.settle(wish, 3);
      const again = engine.plan(wish);
      assert.equal(planSummary(again), "No changes: objects, state and cloud agree.");
      assert.deepEqual(
        [again.empty, again.steps, again.stale, again.resumes],
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
      assert.deepEqual(again.strangers, []);
    });
    assertLaw(property, 150);
  });

  it("law 2: an empty plan that is applied anyway touches nothing", () => {
    const property = fc.property(fleets, (fleet) => {
      const engine = new PretendEngine();
      const wish = desiredFleet(fleet);
      engine.settle(wish);
      const before = JSON.stringify(engine.prior);
      const calls = engine.calls.length;
      engine.settle(wish);
      assert.equal(engine.calls.length, calls);
      assert.equal(JSON.stringify(engine.prior), before, "the record changed");
    });
    assertLaw(property, 40);
  });

  it("law 7: nothing is done that the plan did not show, and all of it is", () => {
    const property = fc.property(histories, (history) => {
      const engine = new PretendEngine();
      const wish = desiredFleet(happen(engine, history));
      const orphaned = new Set(engine.prior.pending.map(({ key }) => key));
      const plan = engine.plan(wish);
      const parents = new Map(engine.prior.resources.map(({ key, parent }) => [key, parent]));
      const since = engine.calls.length;
      engine.apply(plan);
      const shown = new Set(plan.steps.map(({ kind, key }) => `${kind} ${key}`));
      const done = engine.calls.slice(since).filter(({ key }) => !orphaned.has(key));
      for (const { call, key } of done) {
        assert.ok(shown.has(`${call} ${key}`), `${call} ${key} was not in the plan`);
      }
      const lines = new Set(planTree(plan).flatMap(({ key }) => key ?? []));
      const named = plan.machines.flatMap(({ machine, supersedes }) => [machine, supersedes]);
      const machines = new Set(named.map((name) => `Machine/${name}`));
      for (const { kind, key } of plan.steps) {
        const visible = lines.has(key) || machines.has(parents.get(key) ?? "");
        assert.ok(visible, `${kind} ${key} has no line in the tree`);
      }
    });
    assertLaw(property, 100);
  });

  it("law 8: deletions come with the commit, after every new host runs; passes never shrink", () => {
    const property = fc.property(histories, (history) => {
      const engine = new PretendEngine();
      // The engine asserts it in each pass; here, that what it did shows the same.
      happen(engine, history);
      for (const { call, inCommit, key } of engine.calls) {
        assert.equal(inCommit, call === "delete", `${call} ${key}, commit ${inCommit}`);
      }
    });
    assertLaw(property, 100);
  });

  it("incarnations only rise, and no name ever stands for two hosts", () => {
    const property = fc.property(histories, (history) => {
      const engine = new PretendEngine();
      happen(engine, history);
      const created = engine.calls.filter(({ call }) => call === "create");
      const ids = new Map<NodeKey, string>();
      for (const { key, id } of created.filter((one) => one.key.startsWith("LocalHost/"))) {
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
    assertLaw(property, 150);
  });
});
