import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { plainWorld } from "../support/fake-cloud.js";
import { type CommandOutcome, FakeEngine, outcomeText } from "../support/fake-engine.js";
import { cluster, desiredOf, machine, machineSet, type Manifest } from "../support/manifests.js";

const goal = (...objects: Manifest[]) => desiredOf([cluster(), ...objects]);
const joins = { traits: { ...plainWorld, joins: true } } as const;
const member = machine("cp-0", { controlPlane: "1.34.2" });
const web = (size: string) => machine("web", { size });
const small = goal(member, web("small"), machine("other"));
const large = goal(member, web("large"), machine("other"));
const stuck = [{ pod: "default/a", why: "its budget allows none" }];

/** A change that was interrupted while it drained, before its commit or after it. */
async function interrupted(committed: boolean): Promise<FakeEngine> {
  const engine = await FakeEngine.running(small, joins);
  const { hosts } = engine.cloud;
  if (committed) {
    const fault = { at: "call", number: 5, what: "failForGood" } as const;
    assert.match(outcomeText(await engine.up(large, [fault])), /^stopped owing/);
  }
  hosts.blockersOf = () => {
    const message = "interrupted";
    engine.lastProcess.stop.abort(new CapstanError({ code: "CANCELLED", source: "user", message }));
    return stuck;
  };
  assert.match(outcomeText(await engine.up(large)), /CANCELLED/);
  assert.equal(hosts.cordoned.size, 1);
  hosts.blockersOf = () => [];
  return engine;
}

/** Hosts that run, of whomever, and take no pods. */
function cordoned({ cloud }: FakeEngine): string[] {
  const alive = new Set(cloud.alive().map(({ who }) => who.name));
  return [...cloud.hosts.cordoned].filter((name) => alive.has(name));
}

const verbs: readonly {
  readonly name: string;
  run(engine: FakeEngine): Promise<CommandOutcome>;
  readonly hosts: number;
}[] = [
  { name: "up goes on", run: (engine) => engine.up(large), hosts: 3 },
  { name: "up goes elsewhere", run: (engine) => engine.up(small), hosts: 3 },
  { name: "rollback", run: (engine) => engine.rollback(), hosts: 3 },
  { name: "rollback to the first", run: (engine) => engine.rollback([], 1), hosts: 3 },
  { name: "destroy", run: (engine) => engine.destroy(), hosts: 0 },
];

describe("after a drain that was interrupted", () => {
  for (const committed of [false, true]) {
    describe(committed ? "behind the commit" : "before the commit", () => {
      for (const { name, run, hosts } of verbs) {
        it(`${name} leaves no host that stays without pods`, async () => {
          const engine = await interrupted(committed);
          const outcome = outcomeText(await run(engine));
          assert.match(outcome, /^(done|rolledBack)/, outcome);
          assert.deepEqual(cordoned(engine), []);
          assert.equal(engine.hosts().length, hosts, outcome);
          assert.deepEqual(engine.cloud.watch.violations, []);
        });
      }
    });
  }

  it("state forget lets nothing go before that is finished", async () => {
    for (const committed of [false, true]) {
      const engine = await interrupted(committed);
      const before = engine.hosts().map(({ id }) => id);
      assert.match(outcomeText(await engine.forget("web")), /TRANSACTION_OPEN/);
      assert.deepEqual(
        engine.hosts().map(({ id }) => id),
        before,
      );
      await engine.settle(large);
      assert.equal(outcomeText(await engine.forget("web")), "done");
      assert.deepEqual(cordoned(engine), []);
    }
  });

  it("state move lets the Machine that it moves take pods again", async () => {
    const pool = (replicas: number) => machineSet("pool", replicas);
    const engine = await FakeEngine.running(goal(member, machine("web"), pool(2)), joins);
    const { hosts } = engine.cloud;
    hosts.blockersOf = () => {
      const message = "interrupted";
      const failure = new CapstanError({ code: "CANCELLED", source: "user", message });
      engine.lastProcess.stop.abort(failure);
      return stuck;
    };
    assert.match(outcomeText(await engine.up(goal(member, machine("web"), pool(1)))), /CANCELLED/);
    hosts.blockersOf = () => [];
    assert.equal(hosts.cordoned.size, 1);
    const set = (name: string) => ({ kind: "MachineSet", name }) as const;
    const wanted = goal(member, machine("web"), machineSet("moved", 2));
    const outcome = await engine.move(wanted, [{ from: set("pool"), to: set("moved") }]);
    assert.equal(outcomeText(outcome), "done");
    assert.equal(engine.hosts().length, 4);
    assert.deepEqual(cordoned(engine), []);
  });
});
