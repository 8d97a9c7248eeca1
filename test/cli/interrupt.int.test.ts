import assert from "node:assert/strict";
import type { Command } from "../scenario/command.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { isAlive } from "../scenario/process-tree.js";
import { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };
const interrupted = 130;

describe("Ctrl-C", () => {
  let sandbox: Sandbox;

  beforeEach(async () => {
    sandbox = await Sandbox.make(member);
  });
  afterEach(() => sandbox.close());

  const hang = (mode: string): Promise<Command> =>
    sandbox.startHanging({ call: "create", mode, name: "cp-0" });

  for (const mode of ["hangAfter", "hang"]) {
    it(`once leaves a transaction open that the next up closes (${mode})`, async () => {
      const command = await hang(mode);
      const tree = command.descendants;
      const begin = Date.now();
      command.signal("SIGINT");
      const { code, stderr } = await command.finished;
      assert.equal(code, interrupted, stderr);
      assert.ok(Date.now() - begin < 60_000, "handlers stop instead of waiting for the cloud");
      // What its engine has started ends with that, and is seen to have ended a moment later.
      await until("nothing of it is left", () => !tree.some(isAlive));
      assert.match(stderr, /interrupted: no new steps; once more stops at once/);
      assert.match(stderr, /Transaction 1 of default\/demo stays open; what exists is recorded/);
      assert.ok(
        stderr.includes(`go on with capstan --state ${sandbox.state} up -f ${sandbox.manifests}`),
        stderr,
      );
      await sandbox.assertSound(demoStack);

      const status = await sandbox.capstan(0, "status", demoStack);
      assert.match(status.stdout, /transaction 1 is not finished/);
      await sandbox.up();
      sandbox.hostOf("cp-0");
      await sandbox.plan(0);
      await sandbox.assertSound(demoStack);
    });
  }

  it("twice stops at once, the engine too, and the next up finishes", async () => {
    const command = await hang("hangAfter");
    const tree = command.descendants;
    assert.notEqual(tree.length, 0);
    const begin = Date.now();
    // At once: a moment later the first alone has ended it.
    command.whenSaid("no new steps", () => command.signal("SIGINT"));
    command.signal("SIGINT");
    assert.equal((await command.finished).code, interrupted);
    assert.ok(Date.now() - begin < 30_000);
    await until("the engine has ended", () => !tree.some(isAlive));
    await sandbox.up();
    sandbox.hostOf("cp-0");
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  });

  it("while hosts boot stops the waiting", async () => {
    await sandbox.up();
    sandbox.write({ machines: { ...member.machines, "worker-0": { bootMs: 120_000 } } });
    const command = sandbox.startUp();
    await until("it waits", () => {
      assert.equal(command.hasEnded, false, command.said);
      return command.said.includes("waiting for 1 host:");
    });
    command.signal("SIGINT");
    const { code, stderr } = await command.finished;
    assert.equal(code, interrupted, stderr);
    assert.match(stderr, /go on with capstan --state \S+ up/);
    await sandbox.assertSound(demoStack);
    sandbox.write({ machines: { ...member.machines, "worker-0": { bootMs: 0 } } });
    await sandbox.cloud.kill("worker-0");
    await sandbox.up();
    await sandbox.assertSound(demoStack);
  });

  it("in a destroy says so, and the next destroy finishes", async () => {
    await sandbox.up();
    const fault = { call: "terminate", mode: "hang", name: "cp-0" };
    const command = await sandbox.startHanging(fault, () =>
      sandbox.start("destroy", "--yes", demoStack),
    );
    command.signal("SIGINT");
    const { code, stderr } = await command.finished;
    assert.equal(code, interrupted, stderr);
    await sandbox.capstan(0, "destroy", "--yes", demoStack);
    assert.deepEqual(sandbox.alive(), []);
    await sandbox.assertSound(demoStack);
  });
});
