import assert from "node:assert/strict";
import { type ScenarioCluster } from "../scenario/manifests.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { judge, nothingWrong } from "../scenario/ledger-judge.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { UserProjectFolder, userProject, userStack } from "../scenario/user-project.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };
const three: ScenarioCluster = { machines: { ...pair.machines, "worker-1": {} } };
const large: ScenarioCluster = { machines: { ...pair.machines, "worker-1": { size: "large" } } };
const upCommand = /capstan --project \S+ --stack dev up -f \S+[^\s,;]/;

describe("a Pulumi project of a user's", () => {
  let sandbox: Sandbox;
  let project: UserProjectFolder;

  let original: UserProjectFolder;
  const prepare = async (made: Sandbox) => {
    original = await UserProjectFolder.make(made);
    await original.up();
  };
  copyForEachTest(
    pair,
    (copy) => {
      sandbox = copy;
      project = original.copyTo(copy);
    },
    prepare,
  );

  const assertSound = async (): Promise<void> => {
    assert.deepEqual(judge(sandbox.rows(), await project.deployment()), nothingWrong);
  };

  it("is reached by every verb that --project and --stack are given to", async () => {
    await project.capstan(0, "plan", "-f", sandbox.manifests);
    const { stdout: status } = await project.capstan(0, "status");
    assert.match(status, /Cluster default\/demo {3}revision 1/);
    sandbox.write(three);
    await project.capstan(2, "plan", "-f", sandbox.manifests);
    await project.capstan(0, "up", "--yes", "-f", sandbox.manifests);
    await project.pulumi(0, "preview", "--stack", userStack, "--expect-no-changes");
    await assertSound();
    for (const verb of ["history", "describe", "drift"]) await project.capstan(0, verb);
    const { resources = [] } = await project.deployment();
    assert.ok(resources.every(({ urn }) => urn.startsWith(`urn:pulumi:dev::${userProject}::`)));
    await project.capstan(0, "rollback", "--yes");
    sandbox.write(pair);
    await project.pulumi(0, "preview", "--stack", userStack, "--expect-no-changes");
    await project.capstan(0, "destroy", "--yes", "default.demo");
    assert.deepEqual(sandbox.alive(), []);
    const { stdout } = await project.pulumi(0, "config", "get", "shop:colour", "--stack", "dev");
    assert.equal(stdout.trim(), "blue");
  });

  const hostCount = () => sandbox.alive().filter(({ kind }) => kind === "LocalHost").length;

  /** A plain `pulumi up` that ends with a worker missing. */
  const failOnce = async (): Promise<void> => {
    sandbox.write(three);
    await sandbox.cloud.fault("create", "fail", { name: "worker-1" });
    const { stdout, stderr } = await project.up(1);
    assert.match(stdout + stderr, /create failed \(fail, by fault\)/);
    assert.equal(hostCount(), 2);
  };

  /** A plain `pulumi up` of these manifests, after which so many hosts run and nothing is left to do. */
  const goOnWith = async (cluster: ScenarioCluster, hosts: number): Promise<void> => {
    sandbox.write(cluster);
    await project.up();
    await assertSound();
    assert.equal(hostCount(), hosts);
    await project.pulumi(0, "preview", "--stack", userStack, "--expect-no-changes");
  };

  // Each shape behind a failure, in each kind of stack: test/inline/interrupted-pass.test.ts.
  it("goes on with corrected manifests after a pulumi up that failed", async () => {
    await failOnce();
    await goOnWith(large, 3);
  });

  it("goes back to the old ones, in a stack with other resources", async () => {
    project.programWithMore();
    await failOnce();
    await goOnWith(pair, 2);
  });

  it("is taken back by capstan rollback after a pulumi up that failed", async () => {
    await failOnce();
    await project.capstan(0, "rollback", "--yes");
    await assertSound();
  });

  it("names the command that clears up after a killed engine, which does", async () => {
    sandbox.write(three);
    await killIn("worker-1");
    const { stdout, stderr } = await project.up(1);
    assert.match(stdout + stderr, /an engine was killed in the middle of creating LocalHost/);
    await project.named(0, stdout + stderr, upCommand, "--yes");
    await assertSound();
    await project.pulumi(0, "preview", "--stack", userStack, "--expect-no-changes");
  });

  it("names another where other resources are, which does, too", async () => {
    project.programWithMore();
    sandbox.write(three);
    await killIn("worker-1");
    const { stdout, stderr } = await project.up(1);
    const refresh = /pulumi -C \S+ refresh --clear-pending-creates --stack dev/;
    await project.named(0, stdout + stderr, refresh, "--yes");
    await project.up();
    await assertSound();
    for (const args of [["up", "-f", sandbox.manifests], ["rollback"], ["destroy"]]) {
      const refused = await project.capstan(1, ...args, "--yes");
      assert.match(refused.stderr, /it holds 1 resource that is not of a cluster/);
      assert.match(refused.stderr, /hint: .*pulumi up goes on with the same or with corrected/);
    }
  });

  /** A plain `pulumi up` whose engine is killed in a creation, with everything under it. */
  const killIn = async (name: string): Promise<void> => {
    const fault = { call: "create", mode: "hangAfter", name };
    const up = await sandbox.startHanging(fault, () =>
      project.start("pulumi", ["up", "--yes", "--skip-preview", "--stack", userStack]),
    );
    await up.killTree();
    await project.pulumi(0, "cancel", "--yes", "--stack", userStack);
  };

  it("does not bring to life again what was taken back, and names the command that does on purpose", async () => {
    sandbox.write(three);
    await sandbox.cloud.fault("create", "fail", { name: "worker-1" });
    await project.capstan(1, "up", "--yes", "-f", sandbox.manifests);
    const begin = sandbox.ledgerEnd();
    const { stdout, stderr } = await project.up(1);
    assert.match(
      (stdout + stderr).replaceAll(/\s+/g, " "),
      /transaction 2 wanted these objects and was taken back: .*worker-1/,
    );
    assert.deepEqual(sandbox.mutations(begin), []);
    await project.named(0, stdout + stderr, upCommand, "--yes");
    await project.up();
    await assertSound();
  });
});
