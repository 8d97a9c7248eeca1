import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import {
  type ScenarioCluster,
  demoStack,
  type ScenarioMachine,
  mayLoseWorkers,
} from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

const member: ScenarioMachine = { controlPlane: true };
const workers = (shape: ScenarioMachine = {}) => ({
  "worker-0": shape,
  "worker-1": shape,
  "worker-2": shape,
});
const scenario = (shape: ScenarioMachine = {}): ScenarioCluster => ({
  machines: { "cp-0": member, ...workers(shape) },
});

describe("an apply that fails", () => {
  let sandbox: Sandbox;

  copyForEachTest(scenario(), (copy) => {
    sandbox = copy;
  });

  /** Everything that is alive, with its id and its fields. */
  const alive = () => sandbox.alive().map(({ id, name, spec }) => ({ id, name, spec }));

  const assertAsBefore = async (before: ReturnType<typeof alive>) => {
    assert.deepEqual(alive(), before);
    await sandbox.assertSound(demoStack);
  };

  for (const failing of ["worker-3", "worker-5", "worker-6"]) {
    it(`in the creation of ${failing} of worker-3 to worker-6 leaves the revision before`, async () => {
      const before = alive();
      const more = { "worker-3": {}, "worker-4": {}, "worker-5": {}, "worker-6": {} };
      const shape = { machines: { ...scenario().machines, ...more } };
      sandbox.write(shape);
      await sandbox.cloud.fault("create", "fail", { name: failing });
      const { stderr } = await sandbox.up(1);
      assert.match(stderr, new RegExp(`cannot create LocalHost ${failing}-`));
      assert.match(
        stderr,
        /Rolled back: default\/demo is as revision 1 left it, recorded as revision 3; 6 resources recorded, 6 in the cloud, the same in existence and content/,
      );
      await assertAsBefore(before);

      const spent = new Set(sandbox.rows().map(({ token }) => token));
      await sandbox.up();
      const made = alive().filter(({ id }) => !before.some((one) => one.id === id));
      assert.equal(made.length, 4);
      const rows = sandbox.alive().filter(({ id }) => made.some((one) => one.id === id));
      const reused = rows.filter(
        ({ token, name }) => spent.has(token) && !name.startsWith(failing),
      );
      assert.deepEqual(reused, [], "hosts that were rolled back are followed by fresh ones");
      await sandbox.plan(0);
      await sandbox.assertSound(demoStack);
    });
  }

  it("after a plain pulumi destroy that was refused leaves what that has left", async () => {
    const before = alive();
    await sandbox.cloud.fault("terminate", "deny", { times: 50 });
    const { stdout } = await sandbox.plain(1, "destroy", demoStack, "--yes", "--skip-preview");
    assert.match(stdout, /1 deleted/, "its first deletion is that of the revision");
    await sandbox.cloud.clearFaults();
    assert.match((await sandbox.plan(2)).stdout, /nothing to change; .* is put in order/);
    const { machines } = scenario();
    sandbox.write({ machines: { ...machines, "worker-3": {} } });
    await sandbox.cloud.fault("create", "fail", { name: "worker-3" });
    assert.match((await sandbox.up(1)).stderr, /is as revision 1 left it, recorded as revision 3/);
    await assertAsBefore(before);
  });

  it("half way through an update brings every machine back to what it was", async () => {
    const before = alive();
    sandbox.write(scenario({ kubelet: "1.34.3", tags: { wave: "two" } }));
    await sandbox.cloud.fault("update", "fail", { name: "worker-1" });
    const { stderr } = await sandbox.up(1);
    assert.match(stderr, /cannot update LocalHost worker-1-/);
    await assertAsBefore(before);
    await sandbox.up();
    assert.equal(sandbox.hostOf("worker-1").spec["kubelet"], "1.34.3");
  });

  it("in a change that is taken back by new hosts only makes those", async () => {
    sandbox.write(scenario({ diskGib: 40 }));
    const { stdout } = await sandbox.plan(2);
    assert.match(stdout, /Undo: .*3 of them by making something new/);
    await sandbox.cloud.fault("update", "fail", { name: "worker-2" });
    await sandbox.up(1);
    for (const machine of Object.keys(workers())) {
      assert.equal(sandbox.hostOf(machine).spec["diskGib"], 20, machine);
    }
    await sandbox.assertSound(demoStack);
  });

  it("in a replacement keeps the hosts that were", async () => {
    const before = alive();
    sandbox.write(scenario({ size: "large" }));
    await sandbox.cloud.fault("create", "fail", { name: "worker-1" });
    await sandbox.up(1);
    await assertAsBefore(before);
  });

  it("by a host that never boots is taken back when the time is over", async () => {
    const before = alive();
    sandbox.write({ machines: { ...scenario().machines, "worker-3": {} } });
    await sandbox.cloud.fault("create", "neverBoots", { name: "worker-3" });
    const { stderr } = await sandbox.up(1, "--timeout", "1");
    assert.match(stderr, /not ready after 1 s: LocalHost\/worker-3-/);
    await assertAsBefore(before);
  });

  it("by its deadline is taken back too", async () => {
    const before = alive();
    sandbox.write({ machines: { ...scenario().machines, "worker-3": {} } });
    await sandbox.cloud.fault("create", "slowBoot", { name: "worker-3", ms: 600_000 });
    const { stderr } = await sandbox.up(1, "--deadline", "15");
    assert.match(stderr, /not ready|not done by its deadline/);
    await assertAsBefore(before);
  });

  it("beyond its point of no return stays open, and only goes forward", async () => {
    sandbox.write({
      machines: { "cp-0": { ...member, kubelet: "1.35.0" }, ...workers(), "worker-3": {} },
    });
    await sandbox.cloud.fault("create", "fail", { name: "worker-3" });
    const { stderr } = await sandbox.up(4);
    assert.match(stderr, /past its point of no return, so there is only forward/);
    const refused = await sandbox.capstan(65, "rollback", "--yes", demoStack);
    assert.match(
      refused.stderr,
      /transaction 2 of default\/demo back: it is past its point of no return/,
    );
    await sandbox.up();
    assert.equal(sandbox.hostOf("cp-0").spec["controlPlane"], "1.35.0");
    await sandbox.assertSound(demoStack);
  });

  it("before its point of no return is taken back", async () => {
    const before = alive();
    sandbox.write({ machines: { "cp-0": { ...member, kubelet: "1.35.0" }, ...workers() } });
    await sandbox.cloud.fault("update", "fail", { name: "cp-0" });
    await sandbox.up(1);
    await assertAsBefore(before);
  });

  it("and cannot be taken back says what is left, and the command that it names finishes", async () => {
    const before = alive();
    // The second member of the control plane is made before any worker is.
    sandbox.write({ machines: { ...scenario().machines, "cp-1": member, "worker-3": {} } });
    await sandbox.cloud.fault("create", "fail", { name: "worker-3" });
    await sandbox.cloud.fault("terminate", "fail", { name: "cp-1", times: 2 });
    const { stderr } = await sandbox.up(3);
    assert.match(stderr, /cannot delete LocalHost cp-1-\S+: local cloud: terminate failed/);
    assert.match(stderr, /Rolled back incompletely/);
    const command = /hint: capstan (--state \S+ rollback \S+) tries again/.exec(stderr)?.[1];
    assert.ok(command !== undefined, stderr);
    const { stdout } = await sandbox.capstan(0, ...command.split(" "), "--yes");
    assert.match(stdout, /Rolled back: .* 6 resources recorded, 6 in the cloud/);
    await assertAsBefore(before);
  });
});

describe("a first creation that fails", () => {
  let sandbox: Sandbox;

  beforeEach(async () => {
    sandbox = await Sandbox.make(scenario());
  });
  afterEach(() => sandbox.close());

  for (const failing of ["network", "cp-0", "worker-1"]) {
    it(`at ${failing} leaves nothing at all, and then succeeds with fresh hosts`, async () => {
      await sandbox.cloud.fault("create", "fail", { name: failing });
      const { stderr } = await sandbox.up(1);
      assert.match(
        stderr,
        /Rolled back: nothing of default\/demo is left; 0 resources recorded, 0 in the cloud/,
      );
      assert.deepEqual(sandbox.alive(), []);
      assert.deepEqual((await sandbox.deployment(demoStack)).resources ?? [], []);
      const spent = new Set(sandbox.rows().map(({ token }) => token));
      await sandbox.up();
      assert.equal(sandbox.alive().length, 6);
      assert.ok(sandbox.alive().every(({ token }) => !spent.has(token)));
      await sandbox.plan(0);
      await sandbox.assertSound(demoStack);
    });
  }

  it("and was killed is taken back to nothing, and none of its manifests is remembered", async () => {
    const notes = () => readdirSync(join(sandbox.state, "work", "sources", demoStack));
    const fault = { call: "create", mode: "hangAfter", name: "worker-1" };
    await (await sandbox.startHanging(fault)).killTree();
    assert.equal(notes().length, 1);
    const { stdout } = await sandbox.capstan(0, "rollback", "--yes", demoStack);
    assert.match(stdout, /Rolled back: nothing of default\/demo is left/);
    assert.deepEqual(notes(), []);
  });
});

describe("rollback", () => {
  let sandbox: Sandbox;

  const commitThree = async (running: Sandbox) => {
    await running.up();
    running.write(scenario({ kubelet: "1.34.3" }));
    await running.up();
    running.write({ annotations: mayLoseWorkers, machines: { "cp-0": member } });
    await running.up();
  };
  copyForEachTest(
    scenario(),
    (copy) => {
      sandbox = copy;
    },
    commitThree,
  );

  it("goes to the revision before", async () => {
    const { stdout } = await sandbox.capstan(0, "rollback", "--yes", demoStack);
    assert.match(stdout, /revision 4 of default\/demo, 4 machines run/);
    assert.equal(sandbox.hostOf("worker-0").spec["kubelet"], "1.34.3");
    await sandbox.assertSound(demoStack);
  });

  it("goes to any revision that is kept, with fresh hosts", async () => {
    await sandbox.capstan(0, "rollback", "--yes", "--to", "1", demoStack);
    assert.equal(sandbox.hostOf("worker-0").spec["kubelet"], "1.34.2");
    assert.match(sandbox.hostOf("worker-0").name, /-2$/);
    await sandbox.assertSound(demoStack);
  });

  it("asked for again after a change that was taken back goes nowhere", async () => {
    const before = sandbox.alive();
    sandbox.write({ machines: { "cp-0": member, "worker-7": {} } });
    await sandbox.cloud.fault("create", "fail", { name: "worker-7" });
    await sandbox.up(1);
    const { stdout } = await sandbox.capstan(0, "rollback", "--yes", demoStack);
    assert.match(stdout, /Rolled back: default\/demo is as revision 5 left it; 3 resources/);
    assert.deepEqual(sandbox.alive(), before);
  });

  it("names what it cannot do", async () => {
    const unknown = await sandbox.capstan(1, "rollback", "--yes", "--to", "9", demoStack);
    assert.match(unknown.stderr, /cannot roll back default\.demo: no revision 9 is kept/);
    const nothing = await sandbox.capstan(1, "rollback", "--yes", "default.other");
    assert.match(nothing.stderr, /cannot roll back default\.other: nothing is recorded/);
  });

  it("takes back what was killed half way, also an update that the records do not show", async () => {
    const before = sandbox.hostOf("cp-0");
    const tagged = { ...member, tags: { team: "b" } };
    sandbox.write({ annotations: mayLoseWorkers, machines: { "cp-0": tagged } });
    const fault = { call: "update", mode: "hangAfter", name: "cp-0" };
    await (await sandbox.startHanging(fault)).killTree();
    assert.notDeepEqual(sandbox.hostOf("cp-0").spec, before.spec);
    const { stdout } = await sandbox.capstan(0, "rollback", "--yes", demoStack);
    assert.match(stdout, /Rolled back: default\/demo is as revision 3 left it; 3 resources/);
    assert.deepEqual(sandbox.hostOf("cp-0"), before);
    await sandbox.assertSound(demoStack);
  });

  it("takes back what was killed half way, also a creation that no record shows", async () => {
    sandbox.write({ machines: { "cp-0": member, "worker-7": {} } });
    const fault = { call: "create", mode: "hangAfter", name: "worker-7" };
    await (await sandbox.startHanging(fault)).killTree();
    sandbox.hostOf("worker-7");
    await sandbox.capstan(0, "rollback", "--yes", demoStack);
    assert.equal(sandbox.alive().length, 3);
    await sandbox.assertSound(demoStack);
  });

  it("takes back what a plain pulumi has left unfinished", async () => {
    sandbox.write({ machines: { "cp-0": member, "worker-7": {}, "worker-8": {} } });
    await sandbox.cloud.fault("create", "fail", { name: "worker-8" });
    await sandbox.plain(1, "up", demoStack, "--yes", "--skip-preview");
    const { stdout } = await sandbox.capstan(0, "rollback", "--yes", demoStack);
    assert.match(stdout, /Rolled back: default\/demo is as revision 3 left it/);
    assert.equal(sandbox.alive().length, 3);
    await sandbox.assertSound(demoStack);
  });
});
