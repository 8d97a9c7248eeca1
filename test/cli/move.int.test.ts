import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Command } from "../scenario/command.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { FatalPulumi } from "../scenario/fatal-pulumi.js";
import { demoStack, type ScenarioCluster } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { watchArguments } from "../scenario/watch-rig.js";
import { ApiServer } from "../support/api-server.js";
import { removeFolder } from "../support/folders.js";

const shape = (replicas = 2): ScenarioCluster => ({
  machines: { "cp-0": { controlPlane: true } },
  deployments: { web: { replicas } },
});

const apiPath = "/apis/cluster.k8s.io/v1alpha1";

interface Shown {
  readonly metadata: { readonly annotations?: Readonly<Record<string, string>> };
  readonly status?: Readonly<Record<string, unknown>>;
}

describe("capstan move", function () {
  this.timeout(15 * 60_000);
  let server: ApiServer;
  let folder: string;
  let pulumi: FatalPulumi;
  let sandbox: Sandbox;
  let watcher: Command | undefined;
  let begin: number;

  // The controller of the next test does not have to wait for the end of this one's lease.
  afterEach(async () => {
    watcher?.signal("SIGINT");
    await watcher?.finished;
    watcher = undefined;
  });
  copyForEachTest(
    shape(),
    (copy) => {
      sandbox = copy;
      begin = copy.ledgerEnd();
    },
    (first) => first.up(),
    async () => {
      folder = mkdtempSync(join(tmpdir(), "capstan-move-"));
      server = await ApiServer.start({ controllers: true, users: { clumsy: ["clumsy"] } });
      pulumi = await FatalPulumi.in(folder);
      return { env: { KUBECONFIG: server.kubeconfig, CAPSTAN_PULUMI: pulumi.program } };
    },
  );
  after(async () => {
    await server.stop();
    removeFolder(folder);
  });

  const move = (code: number, ...args: string[]) =>
    sandbox.capstan(code, "move", demoStack, "--timeout", "60", ...args);
  const toFiles = (code: number) =>
    move(code, "--to", "files", "--out", join(sandbox.folder, "out"));
  const toServer = (code: number) => move(code, "--to", "kubernetes");
  const killed = async (...args: string[]): Promise<void> => {
    const { code } = await sandbox.start("move", ...args).finished;
    assert.equal(code, null, "it was to be killed");
    pulumi.spare();
  };
  const kubectl = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await server.kubectl(...args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const cluster = async (): Promise<Shown> =>
    (await server.admin.read(`${apiPath}/namespaces/default/clusters/demo`)) as Shown;
  const pause = async () => (await cluster()).metadata.annotations?.["capstan.dev/paused"];
  const objectsLeft = () =>
    kubectl("get", "clusters,machines,machinesets,machinedeployments", "-A", "-o", "name");
  const untilRuns = (machines: number) =>
    until(`${machines} Machines run`, async () => {
      const { phase, machines: counts, transaction } = (await cluster()).status ?? {};
      const { summary } = (counts ?? {}) as { summary?: string };
      return phase === "Running" && !transaction && summary === `${machines}/${machines}`;
    });
  const watch = () => (watcher = sandbox.start("watch", ...watchArguments));

  it("gives a cluster to an API server and takes it back, and the cloud notices nothing", async () => {
    const { stdout } = await toServer(0);
    assert.match(stdout, /belongs to https:.* from transaction 2 on/);
    for (const verb of [
      ["plan"],
      ["up", "--yes"],
      ["state", "move", "--yes", "md/web", "md/other"],
      ["destroy", "--yes"],
      ["rollback", "--yes"],
    ]) {
      const { stderr } = await sandbox.capstan(5, ...verb, "-f", sandbox.manifests);
      assert.match(stderr, /it belongs to the API server/);
      assert.match(stderr, /kubectl changes its objects there, .* move default\.demo --to files/);
      assert.equal(stderr.includes("cannot plan"), verb[0] === "plan");
    }
    const { stdout: history } = await sandbox.capstan(0, "history", demoStack);
    assert.match(history, /moved to the API server/);

    const controller = watch();
    await untilRuns(3);
    assert.deepEqual(sandbox.mutations(begin), []);
    await kubectl("scale", "md", "web", "--replicas=3");
    await untilRuns(4);

    const scaled = sandbox.ledgerEnd();
    await toFiles(0);
    assert.equal(await objectsLeft(), "");
    const out = join(sandbox.folder, "out");
    assert.match(readFileSync(join(out, "default.demo.yaml"), "utf8"), /replicas: 3/);
    await sandbox.capstan(0, "plan", "-f", out);
    assert.equal(controller.hasEnded, false, controller.said);
    assert.deepEqual(sandbox.mutations(scaled), []);
    await sandbox.assertSound(demoStack);
    const { stdout: again } = await toFiles(0);
    assert.match(again, /belongs to manifests in files already/);
  });

  // Killed at every write, in both directions, and every verb behind it: test/cli/move.prop.test.ts.
  it("goes on after a kill on the way there and one on the way back, with one owner at each", async () => {
    const out = join(sandbox.folder, "out");
    const controller = watch();
    await until("the controller leads", () => /\bleads\b/.test(controller.said));
    // The objects have come, and the move is not committed.
    pulumi.killAt("before", 2);
    await killed(demoStack, "--to", "kubernetes");
    assert.match(String(await pause()), /^capstan move /);
    await sandbox.plan(5, "--json");
    await toServer(0);
    assert.equal(await pause(), undefined);
    await untilRuns(3);

    // The move is begun, and the objects have not gone.
    pulumi.killAt("after", 1);
    await killed(demoStack, "--to", "files", "--out", out);
    assert.match(String(await pause()), /^capstan move /);
    assert.ok(existsSync(join(out, "default.demo.yaml")));
    const { stderr } = await sandbox.capstan(5, "destroy", "--yes", demoStack);
    assert.match(stderr, /on its way/);
    assert.match(stderr, / move default\.demo --to files/);
    await toFiles(0);
    assert.equal(await objectsLeft(), "");
    await sandbox.capstan(0, "plan", "-f", out);
    assert.equal(controller.hasEnded, false, controller.said);
    assert.deepEqual(sandbox.mutations(begin), []);
    await sandbox.assertSound(demoStack);
  });

  it("goes on with objects that somebody may not delete", async () => {
    await toServer(0);
    const controller = watch();
    await untilRuns(3);
    await server.apply(clumsyRights);
    const { kubeconfig } = server.as("clumsy");
    const out = join(sandbox.folder, "out");
    const where = ["--to", "files", "--out", out];
    const { stderr } = await move(1, ...where, "--kubeconfig", kubeconfig);
    assert.match(stderr, /cannot delete .*machines/);
    const left = (await objectsLeft()).split("\n").filter((line) => line !== "");
    assert.deepEqual(left.map((line) => line.split(".")[0]).sort(), [
      "cluster",
      "machine",
      "machine",
      "machine",
    ]);
    for (const verb of [
      ["plan", "-f", out],
      ["destroy", "--yes", demoStack],
      ["rollback", "--yes", demoStack],
    ]) {
      const { stderr: refusal } = await sandbox.capstan(5, ...verb);
      assert.match(refusal, /on its way to manifests in files, and nobody's until it is there/);
      assert.match(refusal, / move default\.demo --to files --out FOLDER goes on/);
    }
    await toFiles(0);
    assert.equal(await objectsLeft(), "");
    const owned = await sandbox.capstan(0, "plan", "-f", out);
    assert.match(owned.stdout, /No changes/);
    assert.equal(controller.hasEnded, false, controller.said);
    assert.deepEqual(sandbox.mutations(begin), []);
  });

  it("refuses what is open, what is taken, and what would be overwritten, and touches nothing", async () => {
    await move(64, "--to", "files");
    await server.apply(readFileSync(join(sandbox.manifests, "cluster.yaml"), "utf8"));
    const taken = await toServer(5);
    assert.match(taken.stderr, /holds a Cluster of that name, which no move has brought there/);
    await kubectl("delete", "cluster,machine,machinedeployment", "--all");

    await sandbox.cloud.fault("create", "fail", { name: "web" });
    sandbox.write(shape(3));
    await sandbox.up(4, "--no-rollback");
    const open = await toServer(1);
    assert.match(open.stderr, /transaction 2 is not finished/);
    assert.equal(await objectsLeft(), "");
    await sandbox.capstan(0, "rollback", "--yes", demoStack);

    await toServer(0);
    const inTheWay = join(sandbox.folder, "in-the-way");
    writeFileSync(inTheWay, "no folder\n");
    const unwritten = await move(1, "--to", "files", "--out", inTheWay);
    assert.match(unwritten.stderr, /cannot write .*in-the-way.*EEXIST/);
    assert.equal(await pause(), undefined);
    const file = join(sandbox.folder, "out", "default.demo.yaml");
    mkdirSync(join(sandbox.folder, "out"));
    writeFileSync(file, "# mine\n");
    const kept = await toFiles(64);
    assert.match(kept.stderr, /it exists, and says something else/);
    assert.equal(await pause(), undefined);
    assert.equal(readFileSync(file, "utf8"), "# mine\n");
    await move(0, "--to", "files", "--out", join(sandbox.folder, "out"), "--force");
    assert.equal(await objectsLeft(), "");
  });
});

const clumsyRights = `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: { name: clumsy }
rules:
  - { apiGroups: [cluster.k8s.io], resources: ["*"], verbs: [get, list, create, patch] }
  - { apiGroups: [cluster.k8s.io], resources: [machinedeployments, machinesets], verbs: [delete] }
  - { apiGroups: [""], resources: [namespaces], verbs: [get] }
  - { apiGroups: [coordination.k8s.io], resources: [leases], verbs: [get] }
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: { name: clumsy }
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: clumsy }
subjects: [{ apiGroup: rbac.authorization.k8s.io, kind: Group, name: clumsy }]
`;
