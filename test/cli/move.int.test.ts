import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ScenarioCluster } from "../scenario/manifests.js";
import { clearServer } from "../scenario/clear-server.js";
import { FatalPulumi } from "../scenario/fatal-pulumi.js";
import { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { watchArguments } from "../scenario/watch-rig.js";
import { ApiServer } from "../support/api-server.js";
import { removeFolder } from "../support/folders.js";

const shape = (name: string): ScenarioCluster => ({
  name,
  machines: { "cp-0": { controlPlane: true } },
  deployments: { web: { replicas: 2 } },
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

  before(async () => {
    server = await ApiServer.start({ controllers: true, users: { clumsy: ["clumsy"] } });
  });
  after(() => server.stop());
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "capstan-move-"));
    pulumi = await FatalPulumi.in(folder);
  });
  afterEach(async () => {
    await sandbox.close();
    await clearServer(server);
    removeFolder(folder);
  });

  /** A cluster that runs, owned by files. */
  const running = async (name: string): Promise<number> => {
    const env = { KUBECONFIG: server.kubeconfig, CAPSTAN_PULUMI: pulumi.program };
    sandbox = await Sandbox.make(shape(name), { env });
    await sandbox.up();
    return sandbox.ledgerEnd();
  };
  const move = (code: number, name: string, ...args: string[]) =>
    sandbox.capstan(code, "move", `default.${name}`, "--timeout", "60", ...args);
  const toFiles = (code: number, name: string) =>
    move(code, name, "--to", "files", "--out", join(sandbox.folder, "out"));
  const toServer = (code: number, name: string) => move(code, name, "--to", "kubernetes");
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
  const cluster = async (name: string): Promise<Shown> =>
    (await server.admin.read(`${apiPath}/namespaces/default/clusters/${name}`)) as Shown;
  const pauseOf = async (name: string) =>
    (await cluster(name)).metadata.annotations?.["capstan.dev/paused"];
  const objectsLeft = () =>
    kubectl("get", "clusters,machines,machinesets,machinedeployments", "-A", "-o", "name");
  const untilRuns = (name: string, machines: number) =>
    until(`${machines} Machines of ${name} run`, async () => {
      const { phase, machines: counts, transaction } = (await cluster(name)).status ?? {};
      const { summary } = (counts ?? {}) as { summary?: string };
      return phase === "Running" && !transaction && summary === `${machines}/${machines}`;
    });
  const watch = () => sandbox.start("watch", ...watchArguments);

  it("gives a cluster to an API server and takes it back, and the cloud notices nothing", async () => {
    const begin = await running("round");
    const { stdout } = await toServer(0, "round");
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
      assert.match(stderr, /kubectl changes its objects there, .* move default\.round --to files/);
      assert.equal(stderr.includes("cannot plan"), verb[0] === "plan");
    }
    const { stdout: history } = await sandbox.capstan(0, "history", "default.round");
    assert.match(history, /moved to the API server/);

    const watcher = watch();
    await untilRuns("round", 3);
    assert.deepEqual(sandbox.mutations(begin), []);
    await kubectl("scale", "md", "web", "--replicas=3");
    await untilRuns("round", 4);

    const scaled = sandbox.ledgerEnd();
    await toFiles(0, "round");
    assert.equal(await objectsLeft(), "");
    const out = join(sandbox.folder, "out");
    assert.match(readFileSync(join(out, "default.round.yaml"), "utf8"), /replicas: 3/);
    await sandbox.capstan(0, "plan", "-f", out);
    assert.equal(watcher.hasEnded, false, watcher.said);
    assert.deepEqual(sandbox.mutations(scaled), []);
    await sandbox.assertSound("default.round");
    const { stdout: again } = await toFiles(0, "round");
    assert.match(again, /belongs to manifests in files already/);
  });

  it("goes on after a kill at every step, with one owner at each", async () => {
    const begin = await running("killed");
    const out = join(sandbox.folder, "out");
    const [away, back] = [
      ["default.killed", "--to", "kubernetes"],
      ["default.killed", "--to", "files", "--out", out],
    ];
    const watcher = watch();
    await until("the controller leads", () => /\bleads\b/.test(watcher.said));
    for (const { when, pass, code, hasArrived, hasGone, refusal } of kills) {
      pulumi.killAt(when, pass);
      await killed(...away);
      if (hasArrived) assert.match(String(await pauseOf("killed")), /^capstan move /);
      else assert.equal(await objectsLeft(), "");
      await sandbox.plan(code, "--json");
      await toServer(0, "killed");
      assert.equal(await pauseOf("killed"), undefined);
      await untilRuns("killed", 3);

      removeFolder(out);
      pulumi.killAt(when, pass);
      await killed(...back);
      if (hasGone) assert.equal(await objectsLeft(), "");
      else assert.match(String(await pauseOf("killed")), /^capstan move /);
      assert.ok(existsSync(join(out, "default.killed.yaml")));
      if (refusal !== undefined) {
        const { stderr } = await sandbox.capstan(5, "destroy", "--yes", "default.killed");
        assert.match(stderr, refusal);
        assert.match(stderr, / move default\.killed --to files/);
      }
      await toFiles(0, "killed");
      assert.equal(await objectsLeft(), "");
      await sandbox.capstan(0, "plan", "-f", out);
    }
    assert.equal(watcher.hasEnded, false, watcher.said);
    assert.deepEqual(sandbox.mutations(begin), []);
    await sandbox.assertSound("default.killed");
  });

  it("goes on with objects that somebody may not delete", async () => {
    const begin = await running("stuck");
    await toServer(0, "stuck");
    const watcher = watch();
    await untilRuns("stuck", 3);
    await server.apply(clumsyRights);
    const { kubeconfig } = server.as("clumsy");
    const out = join(sandbox.folder, "out");
    const where = ["--to", "files", "--out", out];
    const { stderr } = await move(1, "stuck", ...where, "--kubeconfig", kubeconfig);
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
      ["destroy", "--yes", "default.stuck"],
      ["rollback", "--yes", "default.stuck"],
    ]) {
      const { stderr: refusal } = await sandbox.capstan(5, ...verb);
      assert.match(refusal, /on its way to manifests in files, and nobody's until it is there/);
      assert.match(refusal, / move default\.stuck --to files --out FOLDER goes on/);
    }
    await toFiles(0, "stuck");
    assert.equal(await objectsLeft(), "");
    const owned = await sandbox.capstan(0, "plan", "-f", out);
    assert.match(owned.stdout, /No changes/);
    assert.equal(watcher.hasEnded, false, watcher.said);
    assert.deepEqual(sandbox.mutations(begin), []);
  });

  it("refuses what is open, what is taken, and what would be overwritten, and touches nothing", async () => {
    await running("refused");
    await move(64, "refused", "--to", "files");
    await server.apply(readFileSync(join(sandbox.manifests, "cluster.yaml"), "utf8"));
    const taken = await toServer(5, "refused");
    assert.match(taken.stderr, /holds a Cluster of that name, which no move has brought there/);
    await kubectl("delete", "cluster,machine,machinedeployment", "--all");

    await sandbox.cloud.fault("create", "fail", { name: "web" });
    sandbox.write({ ...shape("refused"), deployments: { web: { replicas: 3 } } });
    await sandbox.up(4, "--no-rollback");
    const open = await toServer(1, "refused");
    assert.match(open.stderr, /transaction 2 is not finished/);
    assert.equal(await objectsLeft(), "");
    await sandbox.capstan(0, "rollback", "--yes", "default.refused");

    await toServer(0, "refused");
    const inTheWay = join(sandbox.folder, "in-the-way");
    writeFileSync(inTheWay, "no folder\n");
    const unwritten = await move(1, "refused", "--to", "files", "--out", inTheWay);
    assert.match(unwritten.stderr, /cannot write .*in-the-way.*EEXIST/);
    assert.equal(await pauseOf("refused"), undefined);
    const file = join(sandbox.folder, "out", "default.refused.yaml");
    mkdirSync(join(sandbox.folder, "out"));
    writeFileSync(file, "# mine\n");
    const kept = await toFiles(64, "refused");
    assert.match(kept.stderr, /it exists, and says something else/);
    assert.equal(await pauseOf("refused"), undefined);
    assert.equal(readFileSync(file, "utf8"), "# mine\n");
    await move(0, "refused", "--to", "files", "--out", join(sandbox.folder, "out"), "--force");
    assert.equal(await objectsLeft(), "");
  });
});

/**
 * Where it dies: `code` is what `capstan plan` says of the manifests after a move away, theirs or not; `refusal` what a
 * destroy is refused with after a move back.
 */
const kills = [
  {
    when: "before",
    pass: 1,
    code: 0,
    hasArrived: false,
    hasGone: false,
    refusal: /it belongs to the API server/,
  },
  { when: "after", pass: 1, code: 5, hasArrived: false, hasGone: false, refusal: /on its way/ },
  { when: "before", pass: 2, code: 5, hasArrived: true, hasGone: true, refusal: /on its way/ },
  { when: "after", pass: 2, code: 5, hasArrived: true, hasGone: true, refusal: undefined },
] as const;

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
