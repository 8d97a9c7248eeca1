import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type MachineReport, type ResourceReport } from "../../src/cli/describe-report.js";
import type { StackWorker } from "../../src/engine/locks/stack-worker.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { demoStack } from "../scenario/manifests.js";
import { commandLine, Sandbox } from "../scenario/sandbox.js";

interface Described {
  readonly type: string;
  readonly stack: string;
  readonly revision: number;
  readonly openTransaction: { readonly number: number } | null;
  readonly worker: StackWorker;
  readonly interruptedOperations: readonly string[];
  readonly runningOperations: readonly string[];
  readonly infrastructure: readonly ResourceReport[];
  readonly machines: readonly MachineReport[];
  readonly strangers: readonly string[];
}

describe("verbs with a real engine", () => {
  let sandbox: Sandbox;

  copyForEachTest({ example: "quickstart" }, (copy) => {
    sandbox = copy;
  });

  const describeAll = async (...args: string[]): Promise<Described> => {
    const { stdout } = await sandbox.capstan(0, "describe", ...args, "--json");
    return JSON.parse(stdout) as Described;
  };
  const machineOf = ({ machines }: Described, name: string): MachineReport => {
    const found = machines.find((machine) => machine.name === name);
    assert.ok(found, name);
    return found;
  };

  it("capstan init --provider local demo && capstan up --yes -f demo", async () => {
    const fresh = await Sandbox.make({ machines: {} });
    try {
      const folder = join(fresh.folder, "demo");
      await fresh.capstan(0, "init", "--provider", "local", folder);
      const { stdout } = await fresh.capstan(0, "up", "--yes", "-f", folder);
      assert.match(stdout, /revision 1 of default\/demo, 3 machines run/);
      await fresh.capstan(0, "plan", "-f", folder);
      await fresh.assertSound(demoStack);
    } finally {
      await fresh.close();
    }
  });

  it("describe tells of machines, hosts and when they were made", async () => {
    const described = await describeAll();
    assert.equal(described.stack, "default.quickstart");
    assert.equal(described.revision, 1);
    assert.equal(described.openTransaction, null);
    assert.deepEqual(
      described.infrastructure.map(({ name, phase }) => `${name} ${phase}`),
      ["network ready", "api ready"],
    );
    for (const machine of described.machines) {
      const row = sandbox.hostOf(machine.name);
      const [host, ...others] = machine.hosts;
      assert.deepEqual(others, []);
      assert.deepEqual([host?.id, host?.name, host?.phase], [row.id, row.name, "ready"]);
      assert.match(host?.address ?? "", /^10\.0\./);
      assert.ok(Math.abs(Date.now() - (host?.sinceMs ?? 0)) < 600_000);
      assert.deepEqual(host?.drift, []);
    }
    const { stdout } = await sandbox.capstan(0, "describe");
    assert.match(stdout, /\nCluster quickstart +3 of 3 machines ready\n/);
    assert.match(stdout, /└─ MachineDeployment workers +2 of 2 machines ready\n +└─ MachineSet/);
  });

  it("describe tells what drifted and what is gone, and changes nothing", async () => {
    await sandbox.cloud.set("cp-0", { size: "large", diskGib: 99 });
    const [worker = ""] = sandbox
      .alive()
      .map(({ name }) => name)
      .filter((name) => name.startsWith("workers-"));
    await sandbox.cloud.kill(worker);
    const before = sandbox.ledgerEnd();
    const described = await describeAll("default/quickstart");
    assert.deepEqual(
      machineOf(described, "cp-0").hosts[0]?.drift,
      [
        { path: "size", recorded: "medium", seen: "large" },
        { path: "diskGib", recorded: 20, seen: 99 },
      ].sort((left, right) => left.path.localeCompare(right.path)),
    );
    const lost = described.machines.find(({ phase }) => phase === "gone");
    assert.equal(lost?.hosts[0]?.name, worker);
    assert.deepEqual(sandbox.mutations(before), []);
    const { stdout } = await sandbox.capstan(0, "describe", "-f", sandbox.manifests);
    assert.match(stdout, /2 of 3 machines ready, 1 gone, 1 drifted/);
    assert.match(stdout, /is gone from the cloud; capstan up makes another/);
  });

  it("describe machine/NAME shows one in full, and knows near names", async () => {
    const { stdout } = await sandbox.capstan(0, "describe", "machine/cp-0");
    const { id } = sandbox.hostOf("cp-0");
    assert.match(stdout, /^Name: +cp-0\nCluster: +default\/quickstart\nRole: +control plane\n/);
    assert.match(stdout, /\n {2}Control plane: +1\.34\.2\n/);
    assert.match(stdout, new RegExp(`\\n {4}Id: +${id}\\n`));
    const missing = await sandbox.capstan(1, "describe", "ma/cp-1");
    assert.match(missing.stderr, /did you mean machine\/cp-0\?/);
    const unknown = await sandbox.capstan(1, "describe", "default/quickstat");
    assert.match(unknown.stderr, /did you mean default\.quickstart\?/);
  });

  it("describe tells of an open transaction and of what is not made yet", async () => {
    const file = join(sandbox.manifests, "workers.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("replicas: 2", "replicas: 3"));
    await sandbox.cloud.fault("create", "fail", { times: 9 });
    await sandbox.up(4, "--no-rollback");
    const described = await describeAll();
    assert.deepEqual([described.revision, described.openTransaction?.number], [1, 2]);
    assert.deepEqual(
      described.machines.map(({ phase }) => phase),
      ["ready", "ready", "ready", "planned"],
    );
    const { stdout } = await sandbox.capstan(0, "describe");
    assert.match(stdout, /\nTransaction 2 is not finished, begun (\d+[dhms])+ ago: /);
    assert.match(stdout, /planned .*is not made yet/);
  });

  it("describe tells of operations that a dead engine left behind", async () => {
    const file = join(sandbox.manifests, "workers.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("replicas: 2", "replicas: 3"));
    const hang = { call: "create", mode: "hangAfter", name: "workers-" };
    const up = await sandbox.startHanging(hang);
    await up.killTree();
    const described = await describeAll();
    assert.match(described.interruptedOperations.join(), /^creating LocalHost\/workers-/);
    const reasons = described.machines.map(({ reason }) => reason).join();
    assert.match(reasons, /its creation was interrupted; capstan up finds out how it ended/);
  });

  it("describe, status and history tell what a living up does from what one left behind", async () => {
    const file = join(sandbox.manifests, "workers.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("replicas: 2", "replicas: 3"));
    const hang = { call: "create", mode: "hangAfter", name: "workers-" };
    const up = await sandbox.startHanging(hang);
    const described = await describeAll();
    assert.equal(described.worker.kind, "alive");
    assert.deepEqual(described.interruptedOperations, []);
    assert.match(described.runningOperations.join(), /^creating LocalHost\/workers-/);
    const verbs: [verb: string, says: RegExp][] = [
      ["describe", /its creation is under way\n[^]*\nUnder way: creating LocalHost\/workers-/],
      ["status", /transaction 2 is under way\n[^]*\nUnder way: creating LocalHost\/workers-/],
      ["history", /\n2 +\S+ +under way, forward /],
    ];
    for (const [verb, says] of verbs) {
      const { stdout } = await sandbox.capstan(0, verb, "default/quickstart");
      assert.match(stdout, says);
      assert.match(stdout.replaceAll("\n", " "), /Transaction 2 is under way.* works on it\./);
      assert.doesNotMatch(stdout, /nterrupted|not finished|goes on/);
    }
    await up.killTree();
    const left = await describeAll();
    assert.deepEqual([left.worker, left.runningOperations], [{ kind: "none" }, []]);
    const { stdout } = await sandbox.capstan(0, "status");
    assert.match(stdout, /transaction 2 is not finished\n[^]*\nInterrupted: creating LocalHost\//);
  });

  it("describe shows what is recorded while the cloud does not answer", async () => {
    await sandbox.cloud.fault("list", "fail", { times: 99 });
    const { stdout } = await sandbox.capstan(1, "describe");
    assert.match(stdout, /0 of 3 machines ready, 3 unknown/);
    assert.match(stdout, /The cloud could not be looked at: /);
    assert.match(stdout, new RegExp(sandbox.hostOf("cp-0").id));
  });

  it("plan and up read patterns and standard input", async () => {
    const pattern = join(sandbox.folder, "mani*");
    await sandbox.capstan(0, "plan", "-f", pattern);
    const text = ["cluster.yaml", "workers.yaml"]
      .map((name) => readFileSync(join(sandbox.manifests, name), "utf8"))
      .join("---\n");
    const args = [commandLine, "--state", sandbox.state, "plan", "-f", "-"];
    const ran = spawnSync(process.execPath, args, { input: text, encoding: "utf8" });
    assert.equal(ran.status, 0, ran.stderr);
    assert.match(ran.stdout, /No changes/);
    assert.ok(existsSync(sandbox.state));
  });
});
