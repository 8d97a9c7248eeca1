import assert from "node:assert/strict";
import pc from "picocolors";
import { destroyText, notTriedText } from "../../src/cli/destroy-text.js";
import { planDestroy } from "../../src/engine/operations/destroy.js";
import { callsFailed } from "../../src/engine/run/failures.js";
import { cloudResources } from "../../src/records/prior-state.js";
import { hostOf } from "../drift/drifting.js";
import { FakeEngine } from "../support/fake-engine.js";
import { cluster, desiredOf, machine, machineDeployment } from "../support/manifests.js";

const wanted = desiredOf([
  cluster(),
  machine("cp", { controlPlane: "1.34.2" }),
  machineDeployment("web", 2),
]);

/** What a destroy of it shows, with short ids. */
async function shown(engine: FakeEngine): Promise<string> {
  const state = { ...engine.prior, foreign: [] };
  const destruction = await planDestroy("default.prod", state, {
    provider: engine.provider,
    clock: engine.clock,
    stop: new AbortController().signal,
    by: "a@b",
  });
  return destroyText(destruction, { colors: pc.createColors(false), columns: 100 });
}

describe("what a destroy shows", () => {
  it("is the tree of up, with the id of everything that goes and how much that is", async () => {
    const engine = await FakeEngine.running(wanted);
    const text = await shown(engine);
    const lines = text.split("\n").map((line) => line.trim());
    assert.match(lines[0] ?? "", /^Cluster default\/prod +provider local$/);
    assert.ok(
      lines.some((line) => /MachineDeployment web +2 -> 0$/.test(line)),
      text,
    );
    for (const { id } of engine.alive()) {
      assert.equal(lines.filter((line) => line.endsWith(`- delete     ${id}`)).length, 1, text);
    }
    assert.ok(lines.includes(`Plan: ${engine.alive().length} to delete`), text);
  });

  it("names all that is left where a deletion fails: what failed, and what was not tried for it", async () => {
    const engine = await FakeEngine.running(wanted);
    const { prior } = engine;
    const hosts = cloudResources(prior).filter(({ name }) => name.startsWith("web-"));
    const failed = callsFailed(
      "default/prod",
      hosts.map(({ kind, name }) => ({
        operation: "delete",
        state: "failed",
        kind,
        name,
        message: "it is in use",
      })),
    );
    const text = `${failed.message}\n${notTriedText(failed, prior)}`;
    for (const { kind, name } of cloudResources(prior)) {
      assert.equal(text.split(`${kind} ${name}`).length, 2, text);
    }
    assert.equal(notTriedText(failed, { ...prior, resources: hosts }), "");
  });

  it("has a host that no record knows on a line of its own", async () => {
    const engine = await FakeEngine.running(wanted);
    const lost = hostOf(engine, "cp");
    engine.tamper((all) => all.filter(({ name }) => name !== lost.who.name));
    const text = await shown(engine);
    assert.match(text, new RegExp(`- .*${lost.who.name} +${lost.id}, in no record`));
    assert.ok(text.includes(`Plan: ${engine.alive().length} to delete`), text);
  });
});
