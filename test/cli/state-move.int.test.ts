import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { FatalPulumi } from "../scenario/fatal-pulumi.js";
import { demoStack, type ScenarioCluster, type ScenarioDeployment } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";

type Pools = Readonly<Record<string, ScenarioDeployment>>;

const withPools = (deployments: Pools): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true } },
  deployments,
});

const spare = { replicas: 1 };
const renaming = ["MachineDeployment/workers", "MachineDeployment/general"];

describe("capstan state move", () => {
  let folder: string;
  let pulumi: FatalPulumi;
  let sandbox: Sandbox;
  let made: number;
  let hosts: readonly string[];

  copyForEachTest(
    withPools({ workers: { replicas: 2 }, spare }),
    (copy) => {
      sandbox = copy;
      made = sandbox.ledgerEnd();
      hosts = hostsAlive();
    },
    (first) => first.up(),
    async () => {
      folder = mkdtempSync(join(tmpdir(), "capstan-state-"));
      pulumi = await FatalPulumi.in(folder);
      return { env: { CAPSTAN_PULUMI: pulumi.program } };
    },
  );
  after(() => removeFolder(folder));

  const hostsAlive = () => sandbox.alive().map(({ id }) => id);
  const move = (code: number, ...words: string[]) =>
    sandbox.capstan(code, "state", "move", "--yes", "-f", sandbox.manifests, ...words);
  const callsSince = () => new Set(sandbox.mutations(made).map(({ call }) => call));
  const machinesOf = async (pool: string): Promise<string[]> => {
    const { stdout } = await sandbox.capstan(0, "state", "list", demoStack, "--json");
    const { items } = JSON.parse(stdout) as {
      items: { key: string; machine?: string; machineDeployment?: string }[];
    };
    return items
      .filter((item) => item.machine === undefined && item.machineDeployment === pool)
      .map(({ key }) => key.replace("Machine/", ""));
  };

  it("renames a pool without asking the cloud for anything", async () => {
    const machines = await machinesOf("workers");
    sandbox.write(withPools({ general: { replicas: 2 }, spare }));
    const { stdout } = await move(0, ...renaming);
    assert.match(stdout, /> move +from MachineDeployment workers/);
    assert.match(stdout, /Plan: 2 to move; no resource changes/);
    assert.deepEqual(sandbox.mutations(made), []);
    assert.deepEqual(await machinesOf("general"), machines);
    assert.match((await sandbox.up()).stdout, /No changes/);
    assert.match((await move(0, ...renaming)).stdout, /No changes/);
    const { stdout: history } = await sandbox.capstan(0, "history", demoStack);
    assert.match(history, /^2 .*2 moved/m);
    const { stdout: shown } = await sandbox.capstan(0, "history", "show", "2", demoStack);
    assert.match(shown, /> move Machine workers-\S+-0: from MachineDeployment workers/);
    await sandbox.capstan(0, "rollback", "--yes", demoStack);
    assert.deepEqual(await machinesOf("workers"), machines);
    assert.deepEqual(sandbox.mutations(made), []);
    await sandbox.assertSound(demoStack);
  });

  const tagged = withPools({
    general: { replicas: 2, template: { tags: { pool: "general" } } },
    spare,
  });
  const killed = async (when: "before" | "after", pass: number): Promise<void> => {
    sandbox.write(tagged);
    pulumi.killAt(when, pass);
    const words = ["move", "--yes", "-f", sandbox.manifests, ...renaming];
    const ended = await sandbox.start("state", ...words).finished;
    assert.equal(ended.code, null, "it was to be killed");
    pulumi.spare();
  };

  // Killed at any other write of its state: test/plan/planner/moves.test.ts.
  it("killed after an engine run is finished by up", async () => {
    await killed("after", 2);
    await sandbox.up();
    assert.deepEqual(hostsAlive(), hosts);
    assert.equal((await machinesOf("general")).length, 2);
    assert.match((await sandbox.up()).stdout, /No changes/);
    assert.deepEqual(callsSince(), new Set(["update"]));
    await sandbox.assertSound(demoStack);
  });

  it("is refused with all reasons", async () => {
    sandbox.write(withPools({ general: { replicas: 1 } }));
    const { stderr } = await move(65, "md/none", "md/general", "md/workers", "ms/none");
    assert.match(stderr, /no machine of MachineDeployment\/none is recorded\n/);
    assert.match(stderr, /the manifests hold no MachineSet none\n/);
    assert.match((await move(64, "md/workers")).stderr, /missing required argument 'owner'/);
    assert.match((await move(64, "pool/a", "md/b")).stderr, /pool\/a names no machines/);
    assert.deepEqual(sandbox.mutations(made), []);
  });
});
