import assert from "node:assert/strict";
import { demoStack, type ScenarioCluster } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

const shape = (tags: Readonly<Record<string, string>> = {}): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true } },
  deployments: {
    web: { replicas: 2, template: { otherSizes: ["medium"], spot: true, tags } },
  },
});

describe("capacity that is not there, and capacity that goes", () => {
  let sandbox: Sandbox;

  beforeEach(async () => {
    sandbox = await Sandbox.make(shape());
  });
  afterEach(async () => {
    await sandbox.close();
  });

  const plan = (code: number) => sandbox.capstan(code, "plan", "-f", sandbox.manifests);
  const workers = () =>
    sandbox
      .rows()
      .filter(
        ({ kind, state, name }) =>
          kind === "LocalHost" && state !== "terminated" && name.startsWith("web"),
      );
  const sizes = () => workers().map(({ spec }) => (spec as { size?: string }).size);

  it("takes another size for want of room, keeps it, and changes it in place", async () => {
    assert.match((await plan(2)).stdout, /web-\S+ .*for want of room size medium/);
    await sandbox.capstan(0, "local", "fault", "create", "noRoom", "--name", "web");
    await sandbox.up();
    assert.deepEqual(sizes().sort(), ["medium", "small"]);
    assert.match((await plan(0)).stdout, /No changes/);
    const before = workers().map(({ id }) => id);
    sandbox.write(shape({ team: "a" }));
    await sandbox.up();
    assert.deepEqual(
      workers().map(({ id }) => id),
      before,
    );
    assert.deepEqual(sizes().sort(), ["medium", "small"]);
    await sandbox.capstan(0, "drift", demoStack);
    await sandbox.capstan(0, "rollback", demoStack, "--yes");
    assert.match((await plan(2)).stdout, /2 to update in place/);
    await sandbox.assertSound(demoStack);
  });

  it("takes another size where the cloud has accepted a host and says later that there is no room", async () => {
    await sandbox.capstan(0, "local", "fault", "create", "noRoomLater", "--name", "web");
    const { stdout, stderr } = await sandbox.up();
    assert.match(`${stdout}${stderr}`, /planned anew, .*there was no room for a host of this size/);
    assert.deepEqual(sizes().sort(), ["medium", "small"]);
    assert.match((await plan(0)).stdout, /No changes/);
    await sandbox.assertSound(demoStack);
  });

  it("undoes all of it where there is room for none", async () => {
    await sandbox.capstan(0, "local", "fault", "create", "noRoom", "--name", "web", "--times", "9");
    const { stderr, stdout } = await sandbox.capstan(1, "up", "-f", sandbox.manifests, "--yes");
    assert.match(`${stdout}${stderr}`, /no room for a host of this size/);
    assert.deepEqual(workers(), []);
  });

  it("tells of a host that is to be taken away, and puts another beside it before it goes", async () => {
    await sandbox.up();
    const [leaving] = workers();
    await sandbox.capstan(0, "local", "kill", String(leaving?.id), "--ms", "600000");
    const told = await sandbox.capstan(2, "drift", demoStack);
    assert.match(told.stdout, /leaving .*the cloud takes it away at 20\d\d-/);
    assert.match(
      (await plan(2)).stdout,
      /Machine web-\S+ +± replace +the cloud takes its host away at 20/,
    );
    await sandbox.up();
    const after = workers().map(({ id }) => id);
    assert.equal(after.length, 2);
    assert.ok(!after.includes(leaving?.id ?? ""));
    const calls = sandbox.ledger().map(({ call, name }) => `${call} ${name}`);
    const of = (call: string) => calls.findLastIndex((one) => one.startsWith(`${call} web`));
    assert.ok(of("create") < of("terminate"));
    assert.match((await plan(0)).stdout, /No changes/);
    await sandbox.assertSound(demoStack);
  });

  it("starts a host that somebody has stopped, where it is", async () => {
    await sandbox.up();
    const before = workers().map(({ id }) => id);
    await sandbox.capstan(0, "local", "stop", before[0] ?? "");
    assert.match((await sandbox.capstan(2, "drift", demoStack)).stdout, /stopped .*it was told to stop/);
    assert.match((await plan(2)).stdout, /~ in place +its host is stopped/);
    await sandbox.up();
    assert.deepEqual(
      workers().map(({ id }) => id),
      before,
    );
    assert.match((await plan(0)).stdout, /No changes/);
    await sandbox.assertSound(demoStack);
  });
});
