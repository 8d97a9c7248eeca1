import assert from "node:assert/strict";
import fc from "fast-check";
import { adoptionAsked } from "../../src/engine/operations/survey.js";
import { heldBy } from "../../src/engine/run/drains.js";
import { heldAs, heldBefore, holdsAsRecorded } from "../../src/plan/decisions/held-words.js";
import { hostsInName } from "../../src/records/host-name.js";
import { goneIn, holdingHistories, rareHistories } from "../support/holding-histories.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { plainWorld } from "../support/fake-cloud.js";
import { annotatedSet, cluster, desiredOf, machine, machineSet } from "../support/manifests.js";
import { assertAsyncLaw } from "../support/laws.js";
import { inMutant } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";

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

  for (const [what, defect] of [
    [
      "would go where what a destroy is told went on with what another was told",
      replaced(holdsAsRecorded, () => () => true),
    ],
    [
      "would go where a rollback that failed forgot what held it before",
      replaced(heldBefore, () => () => undefined),
    ],
    [
      "would go where an open adoption was planned for other manifests",
      replaced(
        adoptionAsked,
        () =>
          (...asked) =>
            asked,
      ),
    ],
    [
      "would go where a hook before the drain held nodes alone",
      replaced(
        heldBy,
        (original) => (when, leaving, waits) =>
          when === "preDrain" && waits.bootstrap === undefined
            ? []
            : original(when, leaving, waits),
      ),
    ],
    [
      "would go where nobody remembered what a destroy was told",
      replaced(
        heldAs,
        (original) =>
          ({ told: _told, ...input }, found) =>
            original(input, found),
      ),
    ],
    [
      "would go where a name's first date was taken for its generation",
      replaced(hostsInName, (original) => (name) => original(name).slice(0, 1)),
    ],
  ] as const) {
    it(what, async () => {
      const asked = { module: "test/support/holding-histories.js", own: { goneIn } };
      await inMutant([defect], asked, async (copy) => {
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
