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

// One kill at every call and every write of a change, and every verb behind it: test/transaction/atomic.model.test.ts. Here is what a
// killed process of Pulumi leaves behind.

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
  let fresh: Sandbox;
  let running: Sandbox;
  let sandbox: Sandbox;

  before(async () => {
    fresh = await Sandbox.make(member);
    running = await Sandbox.make(pair);
    await running.up();
  });
  after(() => Promise.all([fresh.close(), running.close()]));
  afterEach(() => sandbox.close());

  /** Starts `up`, lets it hang in a call of the cloud, and kills it there. */
  const killIn = async (call: string, name: string, kill = killEverything) => {
    await kill(await sandbox.startHanging({ call, mode: "hangAfter", name }));
  };

  const assertFinished = async () => {
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  };

  const finished: { name: string; kill: Kill }[] = [
    { name: "with its engine", kill: killEverything },
    { name: "without its engine", kill: killFront },
  ];
  for (const { name, kill } of finished) {
    it(`in a create, ${name}, is finished by the next up`, async () => {
      sandbox = fresh.copy();
      await killIn("create", "cp-0", kill);
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
    { name: "and whose engine ended by itself", kill: killFrontAndWait },
    { name: "and whose engine forgot it", kill: killAndForget },
  ];
  for (const { name, kill } of unwanted) {
    it(`in a create, ${name}, leaves no orphan when the machine is no longer wanted`, async () => {
      sandbox = running.copy();
      sandbox.write({ machines: { ...pair.machines, "worker-1": {} } });
      await killIn("create", "worker-1", kill);
      assert.equal(sandbox.alive().length, 5);
      sandbox.write(pair);
      await sandbox.up();
      assert.equal(sandbox.alive().length, 4);
      await assertFinished();
    });
  }

  it("in the very first create, and whose engine forgot it, is cleaned up by destroy", async () => {
    sandbox = fresh.copy();
    await killIn("create", "cp-0", killAndForget);
    await sandbox.capstan(0, "destroy", "--yes", demoStack);
    assert.deepEqual(sandbox.alive(), []);
    await sandbox.assertSound(demoStack);
  });

  it("while it was importing or reading something is cleared up after by the next up", async () => {
    sandbox = running.copy();
    const pending = ["importing", "reading"].map((type) => {
      const urn = `urn:pulumi:${demoStack}::capstan::aws:s3/bucket:Bucket::${type}`;
      return { type, resource: { urn, type: "aws:s3/bucket:Bucket", custom: true, inputs: {} } };
    });
    // By hand: an import of a whole state leaves pending operations out.
    const file = join(sandbox.state, "pulumi", ".pulumi", "stacks", "capstan");
    const path = join(file, `${demoStack}.json`);
    const state = JSON.parse(readFileSync(path, "utf8")) as {
      checkpoint: { latest: { pending_operations?: unknown[] } };
    };
    state.checkpoint.latest.pending_operations = pending;
    writeFileSync(path, JSON.stringify(state));
    await sandbox.plan(2);
    const { stderr, stdout } = await sandbox.up();
    assert.match(stdout + stderr, /an engine was killed at them, and they are in no record/);
    assert.deepEqual((await sandbox.deployment(demoStack)).pending_operations ?? [], []);
    await assertFinished();
  });

  it("while Pulumi wrote what it keeps beside its state does not lose the state", async () => {
    sandbox = running.copy();
    const stacks = join(sandbox.state, "pulumi", ".pulumi", "stacks", "capstan");
    writeFileSync(join(stacks, `${demoStack}.json.attrs`), "");
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  });
});
