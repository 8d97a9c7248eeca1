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

// A failure at every call of a change, and all that may be asked for behind it: test/transaction/atomic.model.test.ts and apply.test.ts.
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

  it("in one of four creations leaves the revision before", async () => {
    const failing = "worker-5";
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
    const reused = rows.filter(({ token, name }) => spent.has(token) && !name.startsWith(failing));
    assert.deepEqual(reused, [], "hosts that were rolled back are followed by fresh ones");
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  });

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
    assert.equal(sandbox.hostOf("cp-0").spec["controlPlane"], "1.35.0");
    await sandbox.assertSound(demoStack);
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

  const commitTwo = async (running: Sandbox) => {
    await running.up();
    running.write({ annotations: mayLoseWorkers, machines: { "cp-0": member } });
    await running.up();
  };
  copyForEachTest(
    scenario(),
    (copy) => {
      sandbox = copy;
    },
    commitTwo,
  );

  it("goes to a revision that is kept, with fresh hosts", async () => {
    await sandbox.capstan(0, "rollback", "--yes", "--to", "1", demoStack);
    assert.equal(sandbox.hostOf("worker-0").spec["kubelet"], "1.34.2");
    assert.match(sandbox.hostOf("worker-0").name, /-2$/);
    await sandbox.assertSound(demoStack);
  });

  it("names what it cannot do", async () => {
    const unknown = await sandbox.capstan(1, "rollback", "--yes", "--to", "9", demoStack);
    assert.match(unknown.stderr, /cannot roll back default\.demo: no revision 9 is kept/);
    const nothing = await sandbox.capstan(1, "rollback", "--yes", "default.other");
    assert.match(nothing.stderr, /cannot roll back default\.other: nothing is recorded/);
  });

  it("takes back what a plain pulumi has left unfinished", async () => {
    sandbox.write({ machines: { "cp-0": member, "worker-7": {}, "worker-8": {} } });
    await sandbox.cloud.fault("create", "fail", { name: "worker-8" });
    await sandbox.plain(1, "up", demoStack, "--yes", "--skip-preview");
    const { stdout } = await sandbox.capstan(0, "rollback", "--yes", demoStack);
    assert.match(stdout, /Rolled back: default\/demo is as revision 2 left it/);
    assert.equal(sandbox.alive().length, 3);
    await sandbox.assertSound(demoStack);
  });
});
