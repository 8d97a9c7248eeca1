import assert from "node:assert/strict";
import fc from "fast-check";
import { objectsOf } from "../../src/api/types.js";
import { rulesOfHealing } from "../../src/drift/plan-with-drift.js";
import { isOpen } from "../../src/records/prior-state.js";
import type { Direction } from "../../src/records/transaction.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import type { CommandFault } from "../support/faults.js";
import { faults } from "../support/histories.js";
import { assertAsyncLaw } from "../support/laws.js";
import { cluster, desiredOf, healthCheck, machine, testCluster } from "../support/manifests.js";

const selector = { matchLabels: { "cluster.k8s.io/cluster-name": testCluster } };

/** Three members of a version, whose health is looked at. */
function members(version: string) {
  return desiredOf([
    cluster(),
    ...["cp-0", "cp-1", "cp-2"].map((name) =>
      machine(name, { controlPlane: version, kubelet: version }),
    ),
    healthCheck("check", "", { selector }),
  ]);
}

const before = members("1.34.2");

/** The cloud shows the change of one member done, and neither its kubelet nor its etcd comes back. */
async function broken(
  wanted: ReturnType<typeof members>,
  name = "cp-1",
  faults: readonly CommandFault[] = [],
) {
  const engine: FakeEngine = new FakeEngine({
    traits: { ...plainWorld, joins: true, tellsTimes: true },
    driftRules: (asked) => rulesOfHealing(objectsOf(asked), engine.clock.now()),
  });
  await engine.settle(before);
  engine.clock.advance(3_600_000);
  const seen = (name: string) => engine.hosts().find(({ who }) => who.name === name);
  const sick = engine.hosts().find(({ who }) => who.name.startsWith(`${name}-`))!.who.name;
  let sinceMs: number | undefined;
  const isSick = (host: string) => {
    if (host !== sick) return false;
    if (seen(sick)?.spec["kubelet"] !== "1.34.2") sinceMs ??= engine.clock.now();
    return sinceMs !== undefined;
  };
  const { hosts } = engine.cloud;
  hosts.ails = (host) => (isSick(host) ? "it does not answer" : undefined);
  hosts.nodeSays = (host) => {
    const kubelet = String(seen(host)?.spec["kubelet"]);
    if (!isSick(host)) return { kubelet };
    const lastTransitionTime = new Date(sinceMs!).toISOString();
    return { kubelet, conditions: [{ type: "Ready", status: "False", lastTransitionTime }] };
  };
  const outcome = await engine.up(wanted, faults);
  return { engine, sick, outcome, isThere: () => seen(sick) !== undefined };
}

describe("a member that never comes back from its change", function () {
  this.timeout(120_000);

  interface Case {
    readonly name: string;
    readonly wanted: string;
    readonly open: Direction;
    /** What leaves it. */
    readonly then: string;
  }
  const cases: readonly Case[] = [
    { name: "past the point of no return", wanted: "1.35.0", open: "forward", then: "1.35.0" },
    { name: "on the way back", wanted: "1.34.3", open: "back", then: "1.34.2" },
    { name: "on the way back, tried again", wanted: "1.34.3", open: "back", then: "1.34.3" },
  ];
  for (const { name, wanted, open, then } of cases) {
    it(`gets another host ${name}, once its health check says so`, async () => {
      const { engine, outcome, isThere } = await broken(members(wanted));
      assert.ok(isOpen(engine.prior));
      assert.match(outcomeText(outcome), /^stopped (forwardOnly|incomplete): etcd was not well/);
      assert.equal(engine.prior.transaction?.direction, open);
      assert.ok(outcome.kind === "stopped");
      assert.match(outcome.failure.hint ?? "", /gets another host by capstan up/);
      const soon = await engine.plan(members(then));
      assert.ok(
        soon.machines.every(({ kind }) => kind !== "replace"),
        "it is given its time",
      );
      engine.clock.advance(900_000);
      assert.equal(outcomeText(await engine.up(members(then))), "done");
      assert.ok(!isThere());
      assert.equal(engine.hosts().length, 3);
      assert.ok((await engine.plan(members(then))).empty);
      assert.deepEqual(engine.cloud.watch.violations, []);
    });
  }

  const histories = fc.record({
    member: fc.constantFrom("cp-0", "cp-1", "cp-2"),
    wanted: fc.constantFrom("1.34.3", "1.35.0"),
    then: fc.constantFrom("1.34.2", "1.34.3", "1.35.0"),
    first: fc.array(faults, { maxLength: 1 }),
    second: fc.array(faults, { maxLength: 1 }),
  });
  it("keeps nobody from the end, whatever is killed: the others are a majority", () =>
    assertAsyncLaw(
      fc.asyncProperty(histories, async ({ member, wanted, then, first, second }) => {
        const { engine } = await broken(members(wanted), member, first);
        engine.clock.advance(900_000);
        await engine.up(members(wanted), second);
        const outcomes: string[] = [];
        for (let round = 0; round < 4; round += 1) {
          // Past the point of no return nothing older is to be had.
          const passed = await engine.plan(members(then)).catch(() => undefined);
          outcomes.push(
            outcomeText(await engine.up(members(passed === undefined ? wanted : then))),
          );
          engine.clock.advance(900_000);
        }
        assert.equal(outcomes.at(-1), "done", outcomes.join("\n"));
        assert.ok(!isOpen(engine.prior));
        assert.equal(engine.hosts().length, 3);
        assert.deepEqual(engine.cloud.watch.violations, []);
      }),
      25,
    ));

  it("gets another host, too, once its host is deleted in the cloud", async () => {
    const { engine, sick, isThere } = await broken(members("1.35.0"));
    engine.cloud.kill(engine.hosts().find(({ who }) => who.name === sick)!.id);
    assert.equal(outcomeText(await engine.up(members("1.35.0"))), "done");
    assert.ok(!isThere());
    assert.equal(engine.hosts().length, 3);
  });
});
