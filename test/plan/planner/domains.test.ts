import assert from "node:assert/strict";
import { targetDigest } from "../../../src/records/target.js";
import type { InfrastructureProvider } from "../../../src/provider/port.js";
import { type CommandOutcome, FakeEngine, outcomeText } from "../../support/fake-engine.js";
import {
  cluster,
  desiredOf,
  localProvider,
  machine,
  machineDeployment,
  type MachineShape,
  machineSet,
  type Manifest,
} from "../../support/manifests.js";

const zones = ["local-a", "local-b", "local-c"];
const members = ["cp-0", "cp-1", "cp-2"].map((name) => machine(name, { controlPlane: "1.34.2" }));

function wanted(failureDomains: readonly string[] | undefined, ...objects: Manifest[]) {
  const shape = failureDomains === undefined ? {} : { failureDomains };
  return desiredOf([cluster(shape), ...members, ...objects]);
}

function mustBeDone(outcome: CommandOutcome): void {
  assert.equal(outcome.kind, "done", outcomeText(outcome));
}

/** "web-0 a": each machine of the deployment or set with the last letter of its host's zone. */
function placesOf(engine: FakeEngine, prefix: string): string[] {
  return engine
    .hosts()
    .map(({ who, spec }) => ({ name: withoutHash(who.name), zone: String(spec["zone"]) }))
    .filter(({ name }) => name.startsWith(prefix))
    .map(({ name, zone }) => `${name} ${zone.slice(6)}`)
    .sort();
}

/** "web-0" of "web-7ca2dcf0-0-a830c4ef-1". */
function withoutHash(host: string): string {
  return host.replace(/-[0-9a-f]{8}-\d+$/, "").replace(/-[0-9a-f]{8}(?=-)/, "");
}

/** As every release before this one: who leaves the field out has it from the schema. */
function beforeDomains(): InfrastructureProvider {
  const { failureDomains: _none, ...others } = Object.getOwnPropertyDescriptors(localProvider());
  return Object.create(Object.getPrototypeOf(localProvider()) as object, others) as never;
}

describe("a cluster that offers failure domains", () => {
  it("is spread, shown so, and has nothing left to plan", async () => {
    const desired = wanted(zones, machineDeployment("web", 4));
    const engine = await FakeEngine.running(desired);
    assert.deepEqual(placesOf(engine, "cp"), ["cp-0 a", "cp-1 b", "cp-2 c"]);
    assert.deepEqual(placesOf(engine, "web"), ["web-0 a", "web-1 b", "web-2 c", "web-3 a"]);
    assert.equal((await engine.plan(desired)).empty, true);
    const { machines = [], objects = [] } = engine.prior.revision?.target ?? {};
    assert.deepEqual(
      machines.slice(0, 3).map(({ failureDomain }) => failureDomain),
      zones,
    );
    assert.equal(JSON.stringify(objects).includes('"zone"'), false, "objects are as written");
  });

  it("gives a lost host its domain again", async () => {
    const desired = wanted(zones, machineDeployment("web", 3));
    const engine = await FakeEngine.running(desired);
    for (const { id } of engine.hosts().filter(({ who }) => /web-\w+-1-/.test(who.name))) {
      engine.cloud.kill(id);
    }
    mustBeDone(await engine.up(desired));
    assert.deepEqual(placesOf(engine, "web"), ["web-0 a", "web-1 b", "web-2 c"]);
  });

  it("is rolled without a set for each domain, and ends as spread as it began", async () => {
    const engine = await FakeEngine.running(wanted(zones, machineDeployment("web", 5)));
    mustBeDone(await engine.up(wanted(zones, machineDeployment("web", 3))));
    assert.deepEqual(placesOf(engine, "web"), ["web-0 a", "web-1 b", "web-2 c"]);
    const desired = wanted(zones, machineDeployment("web", 6, { size: "large" }));
    mustBeDone(await engine.up(desired));
    const places = placesOf(engine, "web").map((place) => place.slice(-1));
    assert.deepEqual(places, ["a", "b", "c", "a", "b", "c"]);
    assert.equal((await engine.plan(desired)).empty, true);
  });

  it("replaces the hosts of a domain that is withdrawn, and no others; a rollback brings them back", async () => {
    const before = wanted(zones, machineDeployment("web", 6));
    const engine = await FakeEngine.running(before);
    const shown = placesOf(engine, "web");
    const desired = wanted(["local-a", "local-b"], machineDeployment("web", 6));
    const { machines } = await engine.plan(desired);
    const changed = machines
      .filter(({ kind }) => kind === "replace")
      .map(({ machine: one }) => one);
    assert.deepEqual(changed.map((one) => withoutHash(`${one}-00000000-1`)).sort(), [
      "cp-2",
      "web-2",
      "web-5",
    ]);
    mustBeDone(await engine.up(desired));
    assert.deepEqual(placesOf(engine, "cp"), ["cp-0 a", "cp-1 b", "cp-2 a"]);
    mustBeDone(await engine.rollback([], 1));
    assert.deepEqual(placesOf(engine, "web"), shown);
    assert.equal((await engine.plan(before)).empty, true);
  });

  it("keeps who was moved where it is, when its former domain is offered again", async () => {
    const engine = await FakeEngine.running(wanted(zones));
    mustBeDone(await engine.up(wanted(["local-a", "local-b"])));
    const { steps } = await engine.plan(wanted(zones));
    assert.deepEqual(steps, []);
  });

  it("takes up a change of mind before anything was moved", async () => {
    const engine = await FakeEngine.running(wanted(zones));
    const stopped = await engine.up(wanted(["local-a", "local-b"]), [
      { at: "call", number: 1, what: "killBefore" },
    ]);
    assert.equal(stopped.kind, "killed");
    const { steps } = await engine.plan(wanted(zones));
    const made = steps.filter(({ kind }) => kind !== "delete");
    assert.deepEqual(made, [], "its host is in its first domain still");
  });
});

describe("a cluster that begins to offer failure domains", () => {
  const objects = [machineSet("set", 3), machineDeployment("web", 2)];

  it("moves nobody, and puts who comes then where the fewest are", async () => {
    const engine = await FakeEngine.running(wanted(undefined, ...objects));
    assert.deepEqual(placesOf(engine, "web"), ["web-0 a", "web-1 a"]);
    const { steps } = await engine.plan(wanted(zones, ...objects));
    assert.deepEqual(steps, []);
    mustBeDone(await engine.up(wanted(zones, machineSet("set", 3), machineDeployment("web", 4))));
    assert.deepEqual(placesOf(engine, "web"), ["web-0 a", "web-1 a", "web-2 b", "web-3 c"]);
    assert.deepEqual(placesOf(engine, "set"), ["set-0 a", "set-1 a", "set-2 a"]);
  });

  it("without one is as an earlier release has left it: same target, same words", async () => {
    const old = new FakeEngine({ provider: beforeDomains() });
    const desired = wanted(undefined, ...objects);
    await old.settle(desired);
    const engine = await FakeEngine.running(desired);
    const [before, now] = [old, engine].map((one) => one.prior.revision?.target);
    assert.ok(before !== undefined && now !== undefined);
    assert.equal(targetDigest(now), targetDigest(before));
    assert.equal(JSON.stringify(now.objects).match(/"zone":"local-a"/g)?.length, 5);
    assert.equal(JSON.stringify(now).includes("failureDomain"), false);
  });
});

describe("failure domains that only hosts tell of", () => {
  const shape: MachineShape = { size: "medium" };

  it("are found again where a state is lost", async () => {
    const engine = new FakeEngine({ adopt: true });
    const desired = wanted(zones, machineDeployment("web", 5), machineSet("set", 2));
    await engine.settle(desired);
    mustBeDone(await engine.up(wanted(zones, machineDeployment("web", 5), machineSet("set", 4))));
    const [shown, hosts] = [placesOf(engine, ""), engine.hosts()];
    engine.loseState();
    await engine.settle(wanted(zones, machineDeployment("web", 5), machineSet("set", 4)));
    assert.deepEqual([placesOf(engine, ""), engine.hosts()], [shown, hosts]);
    const { machines = [] } = engine.prior.revision?.target ?? {};
    assert.ok(machines.every(({ failureDomain }) => failureDomain !== undefined));
    assert.equal(JSON.stringify(machines.map(({ spec }) => spec)).includes('"zone"'), false);
  });

  it("are found where a lost state's manifests want another template by now", async () => {
    const engine = new FakeEngine({ adopt: true });
    await engine.settle(wanted(zones, machineDeployment("web", 3)));
    engine.loseState();
    const desired = wanted(zones, machineDeployment("web", 3, shape));
    await engine.settle(desired);
    assert.deepEqual(placesOf(engine, "web"), ["web-0 a", "web-1 b", "web-2 c"]);
    await engine.settle(desired);
    assert.deepEqual(placesOf(engine, "web"), ["web-0 a", "web-1 b", "web-2 c"]);
    assert.equal((await engine.plan(desired)).empty, true);
  });

  for (const [shape, name] of [
    [{}, "are kept by a host that is imported as it is"],
    [{ diskGib: 30 }, "are kept by a host that is imported and changed later"],
  ] as const) {
    it(name, async () => {
      const engine = await FakeEngine.running(wanted(zones, machineDeployment("web", 1)));
      const spec = engine.hosts().find(({ who }) => who.name.startsWith("web"))?.spec ?? {};
      const nobody = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };
      const { id } = engine.cloud.plant(nobody, { ...spec, zone: "local-c" });
      const desired = wanted(zones, machineDeployment("web", 1), machine("db", shape));
      mustBeDone(await engine.import("db", id, desired));
      mustBeDone(await engine.up(desired));
      assert.deepEqual(placesOf(engine, "db"), ["db c"]);
      assert.equal(engine.cloud.get(id)?.phase, "ready");
      assert.equal((await engine.plan(desired)).empty, true);
      const db = engine.prior.revision?.target.machines.find((one) => one.name === "db");
      assert.equal(db?.failureDomain, "local-c");
      assert.equal(JSON.stringify(db.spec).includes("zone"), false);
    });
  }
});
