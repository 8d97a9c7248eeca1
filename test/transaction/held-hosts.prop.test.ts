import assert from "node:assert/strict";
import fc from "fast-check";
import { goneIn, holdingHistories, rareHistories } from "../support/holding-histories.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { plainWorld } from "../support/fake-cloud.js";
import { annotatedSet, cluster, desiredOf, machine, machineSet } from "../support/manifests.js";
import { assertAsyncLaw } from "../support/laws.js";
import { inMutant } from "../support/mutant.js";

describe("what a hook holds", () => {
  it("stays with all that lives with it, and is there once, whatever verbs and faults there are", async () => {
    const property = fc.asyncProperty(holdingHistories, async (history) => {
      const { gone, outcomes } = await goneIn(history);
      assert.deepEqual(gone, [], outcomes.join("\n"));
    });
    await assertAsyncLaw(property, 100);
  });

  it("stays in what such histories come to seldom", async () => {
    for (const history of rareHistories) assert.deepEqual((await goneIn(history)).gone, []);
  });

  it("stays where two lost states have made the host of a double the only one", async () => {
    const hooks = { "pre-terminate.delete.hook.machine.cluster.x-k8s.io/migrate": "backup" };
    const set = (annotations: Record<string, string>) =>
      desiredOf([
        cluster(),
        machine("cp-0", { controlPlane: "1.34.2" }),
        annotatedSet(annotations, machineSet("set", 1)),
      ]);
    const engine = await FakeEngine.running(set(hooks), { traits: plainWorld, adopt: true });
    assert.match(outcomeText(await engine.rotate()), /held by/);
    engine.loseState();
    assert.equal(outcomeText(await engine.up(set({}))), "done");
    const [double] = engine.hosts().filter(({ who }) => who.name.startsWith("set-0-"));
    engine.cloud.kill(double?.id ?? "");
    assert.equal(outcomeText(await engine.up(set(hooks))), "done");
    const before = engine.hosts().map(({ id }) => id);
    engine.loseState();
    await engine.up(set(hooks));
    const left = engine.hosts().map(({ id }) => id);
    assert.deepEqual(
      before.filter((id) => !left.includes(id)),
      [],
    );
  });

  for (const [what, find, replace] of [
    [
      "would go where what a destroy is told went on with what another was told",
      "told === undefined || Object.entries(held)",
      "true || Object.entries(held)",
    ],
    [
      "would go where a rollback that failed forgot what held it before",
      "told[machine.name] === undefined ? owed[host] : undefined",
      "undefined",
    ],
    [
      "would go where an open adoption was planned for other manifests",
      "if (target === undefined)\n        return [desired, about];",
      "if (target !== null)\n        return [desired, about];",
    ],
    [
      "would go where a hook before the drain held nodes alone",
      'heldBy("preDrain", goesOn ? running : [], waits)',
      'heldBy("preDrain", asks ? running : [], waits)',
    ],
    [
      "would go where nobody remembered what a destroy was told",
      "input.told === undefined",
      "input.told !== null",
    ],
    [
      "would go where a name's first date was taken for its generation",
      "/(?=(-[0-9a-f]{8}-[1-9]\\d*)-.)/g",
      "/(-[0-9a-f]{8}-[1-9]\\d*)-./g",
    ],
  ] as const) {
    it(what, async () => {
      const asked = { module: "test/support/holding-histories.js", own: { goneIn } };
      await inMutant([{ find, replace }], asked, async (copy) => {
        const sampled = fc.sample(holdingHistories, { numRuns: 400, seed: 56 });
        for (const history of [...rareHistories, ...sampled]) {
          const { gone } = await copy.goneIn(history);
          if (gone.some((one) => / takes \S+ db-/.test(one))) return;
        }
        assert.fail("nothing went");
      });
    });
  }
});
