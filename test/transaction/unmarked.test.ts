import assert from "node:assert/strict";
import { nobody } from "../support/fake-cloud.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { cluster, desiredOf, machine } from "../support/manifests.js";

const member = machine("cp", { controlPlane: "1.34.2" });
const goal = desiredOf([cluster(), member, machine("db", { dataVolume: { gib: 1 } })]);
const without = desiredOf([cluster(), member]);

describe("a recorded resource that somebody has taken the marks off", () => {
  for (const kind of ["LocalNetwork", "LocalHost", "LocalVolume"]) {
    it(`is neither gone nor made again: ${kind}`, async () => {
      const engine = await FakeEngine.running(goal);
      const { id, who } =
        engine.alive().findLast((one) => one.who.kind === kind) ?? assert.fail("there is one");
      const alive = () => engine.cloud.alive().map((one) => one.id);
      const before = alive();
      engine.cloud.bears(id, nobody);
      const refusal = new RegExp(
        `UNKNOWN_PRESENCE .*${kind} ${who.name} exists: ${id} is there and bears no marks of ours`,
      );
      assert.match(outcomeText(await engine.up(goal)), refusal);
      assert.match(outcomeText(await engine.up(without)), refusal);
      assert.match(outcomeText(await engine.destroy()), refusal);
      assert.deepEqual(alive(), before);
      engine.cloud.bears(id, who);
      assert.equal(outcomeText(await engine.up(goal)), "done");
      assert.deepEqual(alive(), before);
      assert.equal(outcomeText(await engine.destroy()), "done");
      assert.deepEqual(alive(), []);
    });
  }
});
