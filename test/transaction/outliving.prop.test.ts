import assert from "node:assert/strict";
import fc from "fast-check";
import { CapstanError } from "../../src/api/error.js";
import { isToldToStay, policiesToldTo } from "../../src/plan/decisions/satellite-policies.js";
import { lettingGoLast } from "../../src/plan/waves/next-action.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { assertAsyncLaw } from "../support/laws.js";
import { cluster, desiredOf, machine, machineSet } from "../support/manifests.js";
import { inMutant } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";
import { dataOf, outlivingHistories, robbedIn } from "../support/outliving-histories.js";

describe("data that is to outlive its host", () => {
  const member = machine("cp-0", { controlPlane: "1.34.2" });
  const db = machine("db", { dataVolume: { gib: 1, whenHostGoes: "keep" } });
  const isProtected = new CapstanError({
    code: "CLOUD_FAILED",
    source: "cloud",
    message: "it is protected",
  });

  it("stays with its host where that stays after all", async () => {
    const both = desiredOf([cluster(), member, db]);
    const engine = await FakeEngine.running(both, { traits: plainWorld });
    const before = engine.alive().map(({ id }) => id);
    engine.cloud.refusal = ({ call, who: { kind } }) =>
      call === "delete" && kind === "LocalHost" ? isProtected : undefined;
    assert.match(outcomeText(await engine.up(desiredOf([cluster(), member]))), /^stopped owing/);
    engine.cloud.refusal = () => undefined;
    assert.equal(outcomeText(await engine.up(both)), "done");
    assert.deepEqual(
      engine.alive().map(({ id }) => id),
      before,
    );
    await engine.settle(desiredOf([cluster(), member]));
    assert.deepEqual(
      engine.alive().filter(({ who }) => who.name.startsWith("db-")),
      [],
    );
    assert.deepEqual(engine.cloud.watch.violations, []);
  });

  it("stays with it for as long as it stands, whatever verbs and faults there are", async () => {
    const property = fc.asyncProperty(outlivingHistories, async (history) => {
      const { robbed, outcomes } = await robbedIn(history);
      assert.deepEqual(robbed, [], outcomes.join("\n"));
    });
    await assertAsyncLaw(property, 100);
  });

  const whatIsLeft = (engine: FakeEngine) =>
    engine.cloud.alive().map(({ id, who }) => [id, who.token]);

  it("stays where manifests that a destroy is named with keep it", async () => {
    const doomed = desiredOf([cluster(), member, machine("db", { dataVolume: { gib: 1 } })]);
    const engine = await FakeEngine.running(doomed, { traits: plainWorld });
    const [volume = ""] = dataOf(engine);
    assert.equal(outcomeText(await engine.destroy([], desiredOf([cluster(), member, db]))), "done");
    assert.deepEqual(whatIsLeft(engine), [[volume, ""]]);
  });

  it("stays where a destroy's records are older than its host", async () => {
    const shape = { dataVolume: { gib: 1, whenHostGoes: "keep" } } as const;
    const pool = (replicas: number) =>
      desiredOf([cluster(), member, machineSet("pool", replicas, shape)]);
    const engine = await FakeEngine.running(pool(0), { traits: plainWorld });
    const old = engine.savedState();
    await engine.settle(pool(1));
    const [volume = ""] = dataOf(engine);
    engine.restoreState(old);
    assert.equal(outcomeText(await engine.destroy()), "done");
    assert.deepEqual(whatIsLeft(engine), [[volume, ""]]);
  });

  for (const [what, defect, breach] of [
    [
      "would go where it were let go with its host",
      replaced(lettingGoLast, () => (action) => action),
      /stands without its data$/,
    ],
    [
      "would go where manifests that are named with a destroy did not count",
      replaced(
        policiesToldTo,
        (original) => (input, compiledGoal) =>
          input.planGoal.kind === "objects" ? original(input, compiledGoal) : undefined,
      ),
      /was to be kept$/,
    ],
    [
      "would go where what manifests say now did not count",
      replaced(isToldToStay, () => () => false),
      /was to be kept$/,
    ],
  ] as const) {
    it(what, async () => {
      const asked = { module: "test/support/outliving-histories.js", own: { robbedIn } };
      await inMutant([defect], asked, async (copy) => {
        const robbed: string[] = [];
        for (const history of fc.sample(outlivingHistories, { numRuns: 200, seed: 55 })) {
          robbed.push(...(await copy.robbedIn(history)).robbed);
          if (robbed.some((one) => breach.test(one))) return;
        }
        assert.fail([...new Set(robbed)].join("\n"));
      });
    });
  }
});
