import assert from "node:assert/strict";
import { settleState } from "../../src/engine/pulumi/settled-state.js";
import { chance, seedOf } from "../chaos/random.js";
import { clearFaults } from "../scenario/cloud-faults.js";
import type { Command } from "../scenario/command.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { type Lasting, PowerSupply } from "../scenario/power-supply.js";
import { Sandbox } from "../scenario/sandbox.js";
import { copyReplaced, programOf } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";
import { removeFolder } from "../support/folders.js";

// CHAOS_SEED=7 repeats a run; `npm run chaos -- --kills power` kills between calls: docs/chaos.md.
const seed = seedOf(process.env, Date.now());

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };
const pair: ScenarioCluster = { machines: { ...member.machines, "worker-0": {} } };

/** How many instants before the first change of the cloud are drawn. */
const instants = 3;

describe(`a machine that loses power, seed ${seed}`, () => {
  let fresh: Sandbox;
  let running: Sandbox;
  let sandbox: Sandbox;

  before(async () => {
    fresh = await Sandbox.make(member);
    running = fresh.copy();
    await running.up();
  });
  after(() => Promise.all([fresh.close(), running.close()]));
  afterEach(() => sandbox.close());

  const plugIn = (): PowerSupply => {
    const power = new PowerSupply(sandbox, (path) => chance(seed, path));
    sandbox.runner = power.runner;
    return power;
  };

  const runAndLose = async (command: () => Command, lasting: Lasting): Promise<void> => {
    const power = plugIn();
    const { code, stderr } = await command().finished;
    assert.equal(code, 0, stderr);
    power.lose(lasting);
    sandbox.runner = undefined;
  };

  const assertThere = async (): Promise<void> => {
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  };

  for (const lasting of ["synced", "names", "some"] as const) {
    it(`once a first up has said that it is done keeps all of it (${lasting})`, async () => {
      sandbox = fresh.copy();
      await runAndLose(() => sandbox.startUp(), lasting);
      await assertThere();
    });
  }

  it("once a change is done keeps all of it", async () => {
    sandbox = running.copy();
    sandbox.write(pair);
    await runAndLose(() => sandbox.startUp(), "synced");
    await assertThere();
    sandbox.hostOf("worker-0");
  });

  it("once a destroy is done has nothing to bring back", async () => {
    sandbox = running.copy();
    await runAndLose(() => sandbox.start("destroy", "--yes", demoStack), "synced");
    assert.deepEqual(sandbox.alive(), []);
    const before = sandbox.ledgerEnd();
    const { stdout } = await sandbox.start("status", demoStack).finished;
    assert.doesNotMatch(stdout, /cp-0/);
    assert.deepEqual(sandbox.mutations(before), []);
    await sandbox.up();
    await assertThere();
  });

  for (let index = 0; index < instants; index++) {
    const share = chance(seed, "share", String(index));
    const lasting = (["synced", "names", "some"] as const)[index % 3]!;
    it(`in the preparations of a first up, after ${share.toFixed(3)} of them, begins again (${lasting})`, async () => {
      sandbox = fresh.copy();
      let power: PowerSupply | undefined;
      const fault = { call: "create", mode: "hang", name: "network" };
      const command = await sandbox.startHanging(fault, () => {
        power = plugIn();
        return sandbox.startUp();
      });
      await power?.fail(command, lasting, share);
      sandbox.runner = undefined;
      clearFaults(sandbox.cloudFile);
      await sandbox.up();
      await assertThere();
    });
  }

  it("takes back what a command has said that syncs no states", async () => {
    const syncsNoStates = replaced(settleState, () => () => Promise.resolve());
    const mutant = copyReplaced(["dist/src", "dist/providers"], [syncsNoStates]);
    try {
      sandbox = fresh.copy({ program: programOf(mutant) });
      await runAndLose(() => sandbox.startUp(), "synced");
      const { code, stderr } = await sandbox.start("plan", "-f", sandbox.manifests).finished;
      assert.notEqual(code, 0, stderr);
    } finally {
      removeFolder(mutant);
    }
  });
});
