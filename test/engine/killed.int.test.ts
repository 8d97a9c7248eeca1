import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "../scenario/command.js";
import { type ScenarioCluster, demoStack, mayLoseWorkers } from "../scenario/manifests.js";
import { isAlive } from "../scenario/process-tree.js";
import { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";

const member: ScenarioCluster = {
  annotations: mayLoseWorkers,
  machines: { "cp-0": { controlPlane: true } },
};
const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };

type Kill = (command: Command) => Promise<void>;

const killEverything: Kill = (command) => command.killTree();

/** The command line alone: its engine lives on, for a while. */
const killFront: Kill = (command) => command.killAlone();

/** The command line alone, and its engine has noticed. */
const killFrontAndWait: Kill = async (command) => {
  const engines = command.descendants;
  await command.killAlone();
  await until("the engine ends", () => !engines.some(isAlive));
};

describe("an apply that was killed", () => {
  let sandbox: Sandbox;

  afterEach(() => sandbox.close());

  /** Starts `up`, lets it hang in a call of the cloud, and kills it there. */
  const killIn = async (call: string, mode: string, name: string, kill = killEverything) => {
    await kill(await sandbox.startHanging({ call, mode, name }));
  };

  const assertFinished = async () => {
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  };

  const finished: { name: string; mode: string; kill: Kill }[] = [
    { name: "in a create that had its effect", mode: "hangAfter", kill: killEverything },
    { name: "in a create that had none", mode: "hang", kill: killEverything },
    { name: "in a create, without its engine", mode: "hangAfter", kill: killFront },
  ];
  for (const { name, mode, kill } of finished) {
    it(`${name} is finished by the next up`, async () => {
      sandbox = await Sandbox.make(member);
      await killIn("create", mode, "cp-0", kill);
      await sandbox.up();
      sandbox.hostOf("cp-0");
      await assertFinished();
    });
  }

  /** What an engine may do that survives its provider: it forgets the create it could not end. */
  const killAndForget: Kill = async (command) => {
    await killEverything(command);
    await sandbox.pulumi(0, ["cancel", "--yes", "--stack", demoStack]);
    await sandbox.editState(demoStack, (deployment) => {
      // It may have forgotten by itself, in the instant between the deaths of its provider and its own.
      assert.ok((deployment.pending_operations ?? []).length <= 1);
      deployment.pending_operations = [];
    });
  };

  const unwanted: { name: string; kill: Kill }[] = [
    { name: "with its engine", kill: killEverything },
    { name: "and whose engine ended by itself", kill: killFrontAndWait },
    { name: "and whose engine forgot it", kill: killAndForget },
  ];
  for (const { name, kill } of unwanted) {
    it(`in a create, ${name}, leaves no orphan when the machine is no longer wanted`, async () => {
      sandbox = await Sandbox.make({ machines: { "cp-1": { controlPlane: true } } });
      await sandbox.up();
      sandbox.write({ machines: { "cp-1": { controlPlane: true }, "worker-0": {} } });
      await killIn("create", "hangAfter", "worker-0", kill);
      assert.equal(sandbox.alive().length, 4);
      sandbox.write({ machines: { "cp-1": { controlPlane: true } } });
      await sandbox.up();
      assert.equal(sandbox.alive().length, 3);
      await assertFinished();
    });
  }

  it("in the very first create, and whose engine forgot it, is cleaned up by destroy", async () => {
    sandbox = await Sandbox.make(member);
    await killIn("create", "hangAfter", "cp-0", killAndForget);
    await sandbox.capstan(0, "destroy", "--yes", demoStack);
    assert.deepEqual(sandbox.alive(), []);
    await sandbox.assertSound(demoStack);
  });

  describe("after a first revision", () => {
    let running: Sandbox;

    before(async () => {
      running = await Sandbox.make(pair);
      await running.up();
    });
    after(() => running.close());
    beforeEach(() => {
      sandbox = running.copy();
    });

    const bigger: ScenarioCluster = {
      machines: { "cp-0": { controlPlane: true }, "worker-0": { diskGib: 50 } },
    };

    for (const mode of ["hangAfter", "hang"]) {
      it(`in an update (${mode}) goes back with the previous manifests`, async () => {
        sandbox.write(bigger);
        await killIn("update", mode, "worker-0");
        sandbox.write(pair);
        await sandbox.up();
        // A disk only grows: going back takes another host where the update had its effect.
        assert.equal(sandbox.hostOf("worker-0").spec["diskGib"], 20);
        await assertFinished();
      });
    }

    it("in an update goes on with the same manifests", async () => {
      const { id } = sandbox.hostOf("worker-0");
      sandbox.write(bigger);
      await killIn("update", "hangAfter", "worker-0");
      await sandbox.up();
      assert.equal(sandbox.hostOf("worker-0").spec["diskGib"], 50);
      assert.equal(sandbox.hostOf("worker-0").id, id);
      await assertFinished();
    });

    it("in a deletion goes on with the same manifests", async () => {
      sandbox.write(member);
      await killIn("terminate", "hangAfter", "worker-0");
      await sandbox.up();
      assert.equal(sandbox.alive().length, 3);
      await assertFinished();
    });

    it("in a deletion gets the machine back with the previous manifests", async () => {
      sandbox.write(member);
      await killIn("terminate", "hangAfter", "worker-0");
      sandbox.write(pair);
      await sandbox.up();
      sandbox.hostOf("worker-0");
      await assertFinished();
    });

    it("again, while it cleaned up after the first kill, is finished by the third up", async () => {
      sandbox.write({ machines: { ...pair.machines, "worker-1": {} } });
      await killIn("create", "hangAfter", "worker-1");
      sandbox.write(pair);
      await killIn("terminate", "hang", "worker-1");
      await sandbox.up();
      assert.equal(sandbox.alive().length, 4);
      await assertFinished();
    });

    it("in a replacement keeps one host per machine", async () => {
      sandbox.write({
        machines: { "cp-0": { controlPlane: true }, "worker-0": { size: "large" } },
      });
      await killIn("create", "hangAfter", "worker-0");
      await sandbox.up();
      assert.equal(sandbox.hostOf("worker-0").spec["size"], "large");
      await assertFinished();
    });

    for (const type of ["importing", "reading"]) {
      it(`while it was ${type} something is cleared up after by the next up`, async () => {
        const urn = `urn:pulumi:${demoStack}::capstan::aws:s3/bucket:Bucket::logs`;
        const resource = { urn, type: "aws:s3/bucket:Bucket", custom: true, inputs: {} };
        // By hand: an import of a whole state leaves pending operations out.
        const file = join(sandbox.state, "pulumi", ".pulumi", "stacks", "capstan");
        const path = join(file, `${demoStack}.json`);
        const state = JSON.parse(readFileSync(path, "utf8")) as {
          checkpoint: { latest: { pending_operations?: unknown[] } };
        };
        state.checkpoint.latest.pending_operations = [{ type, resource }];
        writeFileSync(path, JSON.stringify(state));
        await sandbox.plan(2);
        const { stderr, stdout } = await sandbox.up();
        assert.match(stdout + stderr, /an engine was killed at them, and they are in no record/);
        assert.deepEqual((await sandbox.deployment(demoStack)).pending_operations ?? [], []);
        await assertFinished();
      });
    }

    it("while Pulumi wrote what it keeps beside its state does not lose the state", async () => {
      const stacks = join(sandbox.state, "pulumi", ".pulumi", "stacks", "capstan");
      writeFileSync(join(stacks, `${demoStack}.json.attrs`), "");
      await sandbox.plan(0);
      await sandbox.assertSound(demoStack);
    });

    it("in a destroy is finished by the next destroy", async () => {
      const fault = { call: "terminate", mode: "hangAfter", name: "worker-0" };
      const command = await sandbox.startHanging(fault, () =>
        sandbox.start("destroy", "--yes", demoStack),
      );
      await command.killTree();
      await sandbox.capstan(0, "destroy", "--yes", demoStack);
      assert.deepEqual(sandbox.alive(), []);
      await sandbox.assertSound(demoStack);
    });
  });
});
