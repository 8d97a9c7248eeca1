import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FatalPulumi } from "../scenario/fatal-pulumi.js";
import { demoStack, type ScenarioCluster, type ScenarioDeployment } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";

type Pools = Readonly<Record<string, ScenarioDeployment>>;

const withPools = (deployments: Pools): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true } },
  deployments,
});

const renaming = ["MachineDeployment/workers", "MachineDeployment/general"];

describe("capstan state move", () => {
  let folder: string;
  let pulumi: FatalPulumi;
  let sandbox: Sandbox;
  let made: number;
  let hosts: readonly string[];

  /** A cluster that runs with these pools. */
  const running = async (pools: Pools): Promise<void> => {
    folder = mkdtempSync(join(tmpdir(), "capstan-state-"));
    pulumi = await FatalPulumi.in(folder);
    sandbox = await Sandbox.make(withPools(pools), { env: { CAPSTAN_PULUMI: pulumi.program } });
    await sandbox.up();
    made = sandbox.ledgerEnd();
    hosts = hostsAlive();
  };
  afterEach(async () => {
    await sandbox.close();
    removeFolder(folder);
  });

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

  it("renames a pool of three without asking the cloud for anything", async () => {
    await running({ workers: { replicas: 3 } });
    const machines = await machinesOf("workers");
    sandbox.write(withPools({ general: { replicas: 3 } }));
    const { stdout } = await move(0, ...renaming);
    assert.match(stdout, /> move +from MachineDeployment workers/);
    assert.match(stdout, /Plan: 3 to move; no resource changes/);
    assert.deepEqual(sandbox.mutations(made), []);
    assert.deepEqual(await machinesOf("general"), machines);
    assert.match((await sandbox.up()).stdout, /No changes/);
    assert.match((await move(0, ...renaming)).stdout, /No changes/);
    const { stdout: history } = await sandbox.capstan(0, "history", demoStack);
    assert.match(history, /^2 .*3 moved/m);
    const { stdout: shown } = await sandbox.capstan(0, "history", "show", "2", demoStack);
    assert.match(shown, /> move Machine workers-\S+-0: from MachineDeployment workers/);
    await sandbox.capstan(0, "rollback", "--yes", demoStack);
    assert.deepEqual(await machinesOf("workers"), machines);
    assert.deepEqual(sandbox.mutations(made), []);
    await sandbox.assertSound(demoStack);
  });

  it("moves one machine, and both pools are as the manifests say", async () => {
    await running({ workers: { replicas: 2 }, general: { replicas: 1 } });
    const [, second = ""] = await machinesOf("workers");
    sandbox.write(withPools({ workers: { replicas: 1 }, general: { replicas: 2 } }));
    await move(0, `machine/${second}`, "md/general");
    assert.deepEqual(sandbox.mutations(made), []);
    assert.deepEqual((await machinesOf("general")).includes(second), true);
    assert.match((await sandbox.up()).stdout, /No changes/);
    sandbox.write(withPools({ workers: { replicas: 3 }, general: { replicas: 2 } }));
    await sandbox.up();
    assert.deepEqual(callsSince(), new Set(["create"]));
    await sandbox.assertSound(demoStack);
  });

  const tagged = { general: { replicas: 2, template: { tags: { pool: "general" } } } };
  const moments = [
    ["before", 1],
    ["after", 1],
    ["after", 2],
    ["before", 4],
    ["after", 4],
  ] as const;
  for (const [when, pass] of moments) {
    it(`killed ${when} pass ${pass}: up finishes it, rollback takes it back`, async () => {
      await running({ workers: { replicas: 2 } });
      sandbox.write(withPools(tagged));
      pulumi.killAt(when, pass);
      const words = ["move", "--yes", "-f", sandbox.manifests, ...renaming];
      const ended = await sandbox.start("state", ...words).finished;
      assert.equal(ended.code, null, "it was to be killed");
      pulumi.spare();
      const other = sandbox.copy();
      try {
        // Before its begin nothing knows of it, and the same command is the way on.
        if (when === "before" && pass === 1) await move(0, ...renaming);
        else await sandbox.up();
        assert.deepEqual(hostsAlive(), hosts);
        assert.equal((await machinesOf("general")).length, 2);
        assert.match((await sandbox.up()).stdout, /No changes/);
        assert.deepEqual(callsSince(), new Set(["update"]));
        await sandbox.assertSound(demoStack);

        if (when === "before" && pass === 1) return;
        other.write(withPools({ workers: { replicas: 2 } }));
        await other.capstan(0, "rollback", "--yes", demoStack);
        assert.deepEqual(
          other.alive().map(({ id }) => id),
          hosts,
        );
        assert.match((await other.up()).stdout, /No changes/);
        await other.assertSound(demoStack);
      } finally {
        await other.close();
      }
    });
  }

  it("is refused with all reasons", async () => {
    await running({ workers: { replicas: 1 } });
    sandbox.write(withPools({ general: { replicas: 1 } }));
    const { stderr } = await move(65, "md/none", "md/general", "md/workers", "ms/none");
    assert.match(stderr, /no machine of MachineDeployment\/none is recorded\n/);
    assert.match(stderr, /the manifests hold no MachineSet none\n/);
    assert.match((await move(64, "md/workers")).stderr, /missing required argument 'owner'/);
    assert.match((await move(64, "pool/a", "md/b")).stderr, /pool\/a names no machines/);
    assert.deepEqual(sandbox.mutations(made), []);
  });
});
