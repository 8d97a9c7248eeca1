import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };

describe("capstan and a plain pulumi in turns on one stack", () => {
  let sandbox: Sandbox;

  copyForEachTest(pair, (copy) => {
    sandbox = copy;
  });

  it("see no change in what the other one made", async () => {
    await sandbox.plain(0, "preview", demoStack, "--expect-no-changes");
    sandbox.write({
      machines: { "cp-0": { controlPlane: true }, "worker-0": { diskGib: 40 }, "worker-1": {} },
    });
    const { id } = sandbox.hostOf("worker-0");
    await sandbox.plan(2);
    await sandbox.plain(0, "up", demoStack, "--yes", "--skip-preview");
    assert.equal(sandbox.hostOf("worker-0").id, id);
    assert.equal(sandbox.hostOf("worker-0").spec["diskGib"], 40);
    assert.equal(sandbox.hostOf("worker-1").state, "running", "a plain pulumi up waits");
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);

    sandbox.write(pair);
    await sandbox.up();
    await sandbox.plain(0, "preview", demoStack, "--expect-no-changes");
    const args = ["stack", "output", "--json", "--stack", demoStack];
    const { stdout } = await sandbox.pulumi(0, args);
    assert.deepEqual(JSON.parse(stdout), { cluster: "default/demo", machines: 2, revision: 3 });
  });

  it("make the first revision with either", async () => {
    const fresh = await Sandbox.make(pair);
    try {
      writeFileSync(join(fresh.folder, "Pulumi.yaml"), "name: capstan\nruntime: nodejs\n");
      const args = ["env", demoStack, "-f", fresh.manifests];
      const { stdout } = await fresh.capstan(0, ...args);
      assertExports(stdout, fresh);
      const settings = join(fresh.folder, `Pulumi.${demoStack}.yaml`);
      const { config } = parse(readFileSync(settings, "utf8")) as { config: object };
      assert.deepEqual(config, { "capstan:manifests": "manifests" });
      await fresh.plain(0, "up", demoStack, "--yes", "--skip-preview");
      fresh.hostOf("cp-0");
      fresh.hostOf("worker-0");
      await fresh.plan(0);
      await fresh.assertSound(demoStack);
    } finally {
      await fresh.close();
    }
  });

  it("refresh and destroy what the other one made", async () => {
    await sandbox.cloud.set("worker-0", { diskGib: 99 });
    await sandbox.plain(0, "refresh", demoStack, "--yes", "--skip-preview");
    await sandbox.assertSound(demoStack);
    await sandbox.plain(0, "destroy", demoStack, "--yes", "--skip-preview");
    assert.deepEqual(sandbox.alive(), []);
    await sandbox.assertSound(demoStack);
    await sandbox.up();
    await sandbox.assertSound(demoStack);
  });

  it("let the data of a host go that is to outlive it, and delete what is not", async () => {
    const volumes = () =>
      sandbox
        .rows()
        .filter(({ kind, state }) => kind === "LocalVolume" && state === "running")
        .map(({ name }) => name);
    const keeps = { dataVolume: { gib: 1, whenHostGoes: "keep" } } as const;
    sandbox.write({
      machines: { ...pair.machines, "db-0": keeps, "db-1": keeps, web: { dataVolume: { gib: 1 } } },
    });
    await sandbox.up();
    sandbox.write({ machines: { ...pair.machines, "db-0": keeps } });
    await sandbox.plain(0, "up", demoStack, "--yes", "--skip-preview");
    assert.deepEqual(volumes().length, 2);
    assert.deepEqual(
      volumes().filter((name) => name === ""),
      [""],
      "one has no marks any more",
    );
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
    await sandbox.plain(0, "destroy", demoStack, "--yes", "--skip-preview");
    assert.deepEqual(volumes(), ["", ""]);
    await sandbox.up();
  });

  it("replace a worker by one that runs before the old one is terminated", async () => {
    const old = sandbox.hostOf("worker-0");
    const begin = sandbox.ledgerEnd();
    sandbox.write({ machines: { "cp-0": { controlPlane: true }, "worker-0": { size: "large" } } });
    await sandbox.plain(0, "up", demoStack, "--yes", "--skip-preview");
    const fresh = sandbox.hostOf("worker-0");
    const order = sandbox
      .ledger(begin)
      .filter(({ effect }) => effect === "running" || effect === "terminated")
      .map(({ effect, id }) => `${effect} ${id}`);
    assert.deepEqual(order, [`running ${fresh.id}`, `terminated ${old.id}`]);
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  });

  describe("refused by the plain one before anything is registered", () => {
    const refused = async (want: RegExp, command = "up"): Promise<void> => {
      const before = await sandbox.deployment(demoStack);
      const begin = sandbox.ledgerEnd();
      const args = command === "up" ? ["--yes", "--skip-preview"] : [];
      const { stdout, stderr } = await sandbox.plain(1, command, demoStack, ...args);
      assert.match(stdout + stderr, want);
      assert.deepEqual(sandbox.mutations(begin), []);
      const { resources } = await sandbox.deployment(demoStack);
      assert.deepEqual(resources?.map(essence), before.resources?.map(essence));
    };

    it("an open transaction", async () => {
      sandbox.write({ machines: { ...pair.machines, "worker-1": {} } });
      await sandbox.cloud.fault("create", "fail", { name: "worker-1" });
      await sandbox.up(4, "--no-rollback");
      await refused(
        /transaction 2 is not finished\s+hint: run capstan --project \S+ --stack default\.demo up -f \S+ to go on/,
      );
      await refused(/transaction 2 is not finished/, "preview");
    });

    it("the replacement of a control-plane machine", async () => {
      sandbox.write({
        machines: { "cp-0": { controlPlane: true, size: "large" }, "worker-0": {} },
      });
      const want =
        /control-plane machine cp-0 has to be replaced step by step\s+hint: run capstan --project \S+ --stack default\.demo up -f/;
      await refused(want);
      await refused(want, "preview");
    });

    it("infrastructure that is gone", async () => {
      await sandbox.cloud.kill("api");
      await refused(
        /the record of LocalLoadBalancer\/api is out of date\s+hint: run pulumi refresh first/,
      );
      await sandbox.plain(0, "refresh", demoStack, "--yes", "--skip-preview");
      await sandbox.plain(0, "up", demoStack, "--yes", "--skip-preview");
      await sandbox.plan(0);
      await sandbox.assertSound(demoStack);
    });

    it("manifests with an error", async () => {
      sandbox.write({ machines: { "cp-0": { controlPlane: true, diskGib: 0 } } });
      await refused(/cluster\.yaml:\d+:\d+: error: Machine default\/cp-0: .*diskGib/);
    });

    it("the manifests of another cluster", async () => {
      sandbox.write({ ...pair, name: "other" });
      await refused(/cannot change default\/other .*: this stack holds default\/demo/);
    });

    it("what an engine was killed in", async () => {
      sandbox.write({ machines: { ...pair.machines, "worker-1": {} } });
      const fault = { call: "create", mode: "hangAfter", name: "worker-1" };
      await (await sandbox.startHanging(fault)).killTree();
      await sandbox.pulumi(0, ["cancel", "--yes", "--stack", demoStack]);
      await refused(/transaction 2 is not finished/);
    });
  });

  it("finish what the other one was killed in, although its dynamic host lives on", async () => {
    sandbox.write({ machines: { ...pair.machines, "worker-1": {} } });
    const fault = { call: "create", mode: "hangAfter", name: "worker-1" };
    const command = await sandbox.startHanging(fault, () =>
      sandbox.startPlain("up", demoStack, "--yes", "--skip-preview"),
    );
    await command.killAlone();
    await sandbox.up();
    sandbox.hostOf("worker-1");
    await sandbox.plan(0);
    await sandbox.assertSound(demoStack);
  });
});

function assertExports(stdout: string, sandbox: Sandbox): void {
  const exported: Record<string, string | undefined> = Object.fromEntries(
    [...stdout.matchAll(/^export (\w+)='(.*)'$/gm)].map(([, key = "", value]) => [key, value]),
  );
  const wanted = sandbox.pulumiEnv();
  for (const key of [
    "PATH",
    "PULUMI_BACKEND_URL",
    "PULUMI_HOME",
    "PULUMI_CONFIG_PASSPHRASE_FILE",
    "CAPSTAN_STATE",
  ]) {
    assert.equal(exported[key], wanted[key], key);
  }
}

/** A recorded resource without what any run may touch. */
function essence(resource: { urn: string; type: string; id?: string; outputs?: object }) {
  const { urn, id, outputs } = resource;
  return resource.type.startsWith("pulumi:") ? { urn, id } : { urn, id, outputs };
}
