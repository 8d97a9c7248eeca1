import assert from "node:assert/strict";
import { cluster, desiredOf, machine } from "../support/manifests.js";
import { plainWorld } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";

const goal = desiredOf([
  cluster(),
  machine("cp", { controlPlane: "1.34.2" }),
  machine("db", { dataVolume: { gib: 1 } }),
]);

describe("what is lost in a cloud whose tokens lead for ever to what they once made", () => {
  for (const kind of ["LocalNetwork", "LocalVolume"]) {
    it(`is made again under another name: ${kind}`, async () => {
      const engine = await FakeEngine.running(goal, {
        traits: { ...plainWorld, tokensLast: true },
      });
      const find = () => engine.alive().find(({ who }) => who.kind === kind);
      for (let times = 0; times < 2; times += 1) {
        const lost = find() ?? assert.fail("there is one");
        engine.cloud.kill(lost.id);
        assert.equal(outcomeText(await engine.up(goal)), "done");
        const made = find() ?? assert.fail("there is one again");
        assert.notEqual(made.who.token, lost.who.token);
        assert.match(made.who.name, /-[0-9a-f]{8}$/);
        assert.equal(outcomeText(await engine.up(goal)), "done");
        assert.equal(find()?.id, made.id, "it serves on");
      }
      assert.deepEqual(engine.cloud.watch.violations, []);
      assert.equal(outcomeText(await engine.destroy()), "done");
      assert.deepEqual(engine.alive(), []);
    });
  }
});
