import assert from "node:assert/strict";
import { recordDrift, loseRecords } from "../support/record-accidents.js";
import { FakeEngine, outcomeText } from "../support/fake-engine.js";
import { cluster, desiredOf, machine, type Manifest } from "../support/manifests.js";

// A request that changes records alone carries out no step of another request: finding D-A1 and D-A2.

const member = machine("cp", { controlPlane: "1.34.2" });
const anchor = machine("anchor", { dataVolume: { gib: 1 } });
const wanted = (...more: Manifest[]) => desiredOf([cluster(), member, anchor, ...more]);
const both = wanted(machine("db", { dataVolume: { gib: 1 } }));

const nobody = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };

/** Requests that are about Machine db, or about no Machine at all. */
const requests: Readonly<Record<string, (engine: FakeEngine) => Promise<string>>> = {
  forget: async (engine) => outcomeText(await engine.forget("db")),
  import: async (engine) => {
    const spec = engine.hosts().find(({ who }) => who.name.startsWith("anchor"))?.spec ?? {};
    const { id } = engine.cloud.plant(nobody, spec);
    return outcomeText(await engine.import("extra", id, wanted(machine("db"), machine("extra"))));
  },
  move: async (engine) => outcomeText(await engine.handOver("kube")),
};

function idsOf(engine: FakeEngine, name: string): string[] {
  return engine
    .alive()
    .filter(({ who }) => who.name.startsWith(name))
    .map(({ id }) => id);
}

describe("a request that changes records alone", () => {
  for (const [verb, run] of Object.entries(requests)) {
    for (const name of ["cp", "anchor"]) {
      it(`leaves the recorded drift of ${name} as it is: ${verb}`, async () => {
        const engine = await FakeEngine.running(both);
        const before = idsOf(engine, name);
        const [host] = before;
        engine.cloud.drift(host ?? "", { tags: { by: "hand" } });
        recordDrift(engine);
        assert.equal(await run(engine), "done");
        assert.deepEqual(idsOf(engine, name), before);
        assert.deepEqual(engine.cloud.get(host ?? "")?.spec["tags"], { by: "hand" });
        assert.deepEqual(engine.cloud.watch.violations, []);
      });

      it(`leaves ${name}, whose record is lost, to the next up: ${verb}`, async () => {
        const engine = await FakeEngine.running(both);
        const before = idsOf(engine, name);
        loseRecords(engine, (key) => key.startsWith(`LocalHost/${name}`));
        assert.equal(await run(engine), "done");
        assert.deepEqual(idsOf(engine, name), before);
        const next = verb === "forget" ? wanted() : both;
        if (verb === "forget") assert.equal(outcomeText(await engine.up(next)), "done");
        assert.deepEqual(idsOf(engine, name), before);
        assert.deepEqual(engine.cloud.watch.violations, []);
      });
    }
  }

  it("corrects recorded drift with the next up", async () => {
    const engine = await FakeEngine.running(both);
    const [host = ""] = idsOf(engine, "cp");
    engine.cloud.drift(host, { tags: { by: "hand" } });
    recordDrift(engine);
    assert.equal(outcomeText(await engine.forget("db")), "done");
    const plan = await engine.plan(wanted());
    assert.deepEqual(
      plan.steps.map(({ kind, key }) => `${kind} ${key.split("-")[0]}`),
      ["update LocalHost/cp"],
    );
    assert.equal(outcomeText(await engine.up(wanted())), "done");
    assert.deepEqual(idsOf(engine, "cp"), [host]);
  });

  it("releases the host of the forgotten machine also where its record is lost", async () => {
    const engine = await FakeEngine.running(both);
    const before = idsOf(engine, "db");
    loseRecords(engine, (key) => key.startsWith("LocalHost/db"));
    assert.equal(outcomeText(await engine.forget("db")), "done");
    assert.equal(outcomeText(await engine.up(wanted())), "done");
    assert.deepEqual(
      before.map((id) => engine.cloud.get(id)?.phase),
      before.map(() => "ready"),
    );
    assert.deepEqual(idsOf(engine, "db"), []);
    assert.deepEqual(engine.cloud.watch.violations, []);
  });
});
