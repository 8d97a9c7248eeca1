import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "../scenario/command.js";
import type { ScenarioCluster } from "../scenario/manifests.js";
import { S3Server } from "../scenario/s3-server.js";
import { type Sandbox, sharedBackend } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { type ShownObject, watchArguments, WatchRig } from "../scenario/watch-rig.js";
import { ApiServer, type AuditEvent, isWrite } from "../support/api-server.js";

const quickstart = { example: "quickstart" };

describe("capstan watch on an API server", function () {
  this.timeout(10 * 60_000);
  let server: ApiServer;
  let rig: WatchRig;
  before(async () => {
    server = await ApiServer.start({ auditLog: true, controllers: true });
  });
  after(() => server.stop());
  afterEach(() => rig.stop());

  const providerIds = async (): Promise<string[]> =>
    (await rig.all("machines")).map(hostIdOf).sort();

  /** Some hosts are there, and many are not. */
  const untilHalfWay = async (): Promise<void> => {
    await until("a wave is shown", async () => {
      const { status } = await rig.get("cluster", "demo");
      return Number((status?.["transaction"] as { wave?: number } | undefined)?.wave) > 0;
    });
    await until("hosts are being made", () => rig.hostsAlive().length >= 3);
  };

  it("makes, scales and frees what kubectl asks for, and shows it truly", async () => {
    rig = await WatchRig.start(quickstart, { server });
    await rig.watchLeading();
    await rig.applyManifests();
    await rig.untilRunning("quickstart", 3);
    assert.deepEqual(await providerIds(), rig.hostsAlive());
    for (const machine of await rig.all("machines")) {
      assert.equal(machine.status?.["phase"], "Running");
      assert.deepEqual(machine.metadata.finalizers, ["machine.cluster.k8s.io"]);
      assert.match(
        String((machine.status?.["nodeRef"] as { name?: string }).name),
        /^(cp|workers)/,
      );
    }
    assert.match(await rig.kubectl("get", "ma"), /cp-0 +quickstart +Running/);

    await rig.kubectl("scale", "md", "workers", "--replicas=4");
    await rig.untilRunning("quickstart", 5);
    assert.deepEqual(await providerIds(), rig.hostsAlive());
    const { status } = await until("the deployment's new wish is shown", async () => {
      const deployment = await rig.get("md", "workers");
      return deployment.status?.["observedGeneration"] === 2 && deployment;
    });
    assert.equal(status?.["availableReplicas"], 4);

    const deleted = rig.kubectl("delete", "cluster", "quickstart");
    await until("the Cluster is being deleted", async () => {
      const [cluster] = await rig.all("clusters");
      if (cluster === undefined) return true;
      const isFree = rig.sandbox.alive().length === 0;
      assert.ok(isFree || cluster.metadata.finalizers?.length === 1, "it went before its hosts");
      return isFree;
    });
    await deleted;
    assert.deepEqual(rig.sandbox.alive(), []);
    await until("no object is left", async () => {
      return (await rig.all("clusters,machines,machinesets,machinedeployments")).length === 0;
    });
  });

  it("finds a dead host within a period, replaces it, and says so", async () => {
    rig = await WatchRig.start(quickstart, { server });
    const watcher = await rig.watchLeading("--metrics-address", "127.0.0.1:0");
    await rig.applyManifests();
    await rig.untilRunning("quickstart", 3);
    const [machine] = (await rig.all("machines")).filter(({ metadata }) =>
      metadata.name.startsWith("workers"),
    );
    const dead = hostIdOf(machine!);
    await rig.sandbox.cloud.kill(dead);
    await until("another host runs", async () => {
      const now = await rig.get("machine", machine?.metadata.name ?? "");
      return now.status?.["phase"] === "Running" && hostIdOf(now) !== dead;
    });
    await rig.untilRunning("quickstart", 3);
    assert.deepEqual(await providerIds(), rig.hostsAlive());
    // Events are sent beside the work, and again later where the API server was too slow to take them.
    const told = await until("an Event tells of it", async () => {
      const text = await rig.kubectl("get", "events", "--field-selector=reason=DriftFound");
      return text.includes("DriftFound") && text;
    });
    assert.match(told, /Warning +DriftFound +cluster\/quickstart +1 missing/);
    const address = /metrics and probes on ([\d.:]+)/.exec(watcher.said)?.[1];
    const metrics = await (await fetch(`http://${address}/metrics`)).text();
    assert.match(metrics, /^capstan_drift_found_total\{class="missing"\} 1$/m);
    assert.match(metrics, /^capstan_transactions_total\{[^}]*result="succeeded"\} 2$/m);
  });

  it("only reports a dead host where policy says so", async () => {
    rig = await WatchRig.start(quickstart, { server });
    await rig.watchLeading();
    const file = join(rig.sandbox.manifests, "cluster.yaml");
    const annotated = readFileSync(file, "utf8").replace(
      /^kind: Cluster\nmetadata:\n/m,
      "$&  annotations: { capstan.dev/drift-policy: report }\n",
    );
    writeFileSync(file, annotated);
    await rig.applyManifests();
    await rig.untilRunning("quickstart", 3);
    const { id } = rig.sandbox.hostOf("workers-af5f5222-0");
    const runs = rig.pulumi.runs().length;
    await rig.sandbox.cloud.kill(id);
    const cluster = await until("the drift is shown", async () => {
      const shown = await rig.get("cluster", "quickstart");
      return shown.status?.["drift"] === undefined ? undefined : shown;
    });
    assert.deepEqual((cluster.status?.["drift"] as { missing?: number }).missing, 1);
    assert.equal(rig.hostsAlive().length, 2);
    assert.equal(rig.pulumi.runs().length, runs);
  });

  it("does nothing for what is as it shall be: no engine, no write, no call but the listing", async () => {
    rig = await WatchRig.start(quickstart, { server });
    const idle = () => ({
      engines: rig.pulumi.runs().length,
      writes: rig.server.auditEvents().filter((event) => isWrite(event) && isOurs(event)).length,
      calls: rig.sandbox.ledger().filter(({ call }) => call !== "list").length,
    });
    const lists = () => rig.sandbox.ledger().filter(({ call }) => call === "list").length;
    // What the API server and its own controllers write is nobody's but theirs.
    const isOurs = ({ objectRef, user, userAgent = "" }: AuditEvent) =>
      objectRef?.resource !== "leases" &&
      user.username === "admin" &&
      !userAgent.startsWith("kube-controller-manager/");
    const before = idle();
    await rig.watchLeading();
    await rig.applyManifests();
    await rig.untilRunning("quickstart", 3);
    // Each counter moves when something is to do: only then it proves something by standing still.
    const after = idle();
    assert.ok(after.engines > before.engines && after.calls > before.calls);
    assert.ok(after.writes > before.writes);
    // What follows the last change, such as showing it, comes to rest first, however long it takes.
    await untilOnly(lists, 10, idle);
    const still = idle();
    const listed = lists();
    await until("ten periods have passed", () => lists() >= listed + 10);
    assert.deepEqual(idle(), still);
  });

  it("goes on with the replica of another machine where the leader was killed", async () => {
    const bucket = await S3Server.start();
    let there: Sandbox | undefined;
    try {
      const { url, env } = bucket.makeBackend();
      const key = { PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests" };
      const backend = sharedBackend(url, { ...env, ...key });
      rig = await WatchRig.start(twelve, { server, backend });
      there = await rig.elsewhere();
      const first = await rig.watchLeading();
      const second = there.start("watch", ...watchArguments);
      await until("it follows", () => second.said.includes('"follows"'));
      await rig.applyManifests();
      await untilHalfWay();
      await first.killTree();
      assert.equal(second.hasEnded, false, second.said);
      await rig.untilRunning("demo", 12, 180_000);
      const leads = /"leader":"elsewhere_[^\n]*"leads"/;
      await until("the other one has led", () => leads.test(second.said));
      assert.deepEqual(await providerIds(), rig.hostsAlive());
      await there.assertSound("default.demo");
      await assertEnds(second);
    } finally {
      await there?.close();
      await bucket.close();
    }
  });

  it("loses nothing while the API server is dead for longer than it leads, in the middle of work", async () => {
    rig = await WatchRig.start(twelve);
    const watcher = await rig.watchLeading();
    await rig.applyManifests();
    await untilHalfWay();
    await rig.server.kill();
    await until("it leads no more", () => watcher.said.includes("leads no more"));
    await rig.server.restart();
    assert.equal(watcher.hasEnded, false, watcher.said);
    await rig.untilRunning("demo", 12, 180_000);
    assert.deepEqual(await providerIds(), rig.hostsAlive());
    await rig.sandbox.assertSound("default.demo");
  });
});

/** Boots slowly enough to be interrupted. */
const twelve: ScenarioCluster = {
  machines: { "cp-0": { controlPlane: true, bootMs: 500 } },
  deployments: { workers: { replicas: 11, template: { bootMs: 20_000 } } },
};

function hostIdOf({ status }: ShownObject): string {
  return String((status?.["providerStatus"] as { id?: string } | undefined)?.id);
}

/** Until so many looks have come one after the other while the counts stood still. */
async function untilOnly(looks: () => number, many: number, read: () => object): Promise<void> {
  let last = JSON.stringify(read());
  let since = looks();
  const haveCome = () => {
    const now = JSON.stringify(read());
    if (now !== last) [last, since] = [now, looks()];
    return looks() >= since + many;
  };
  // Each count reads the whole log of the API server.
  await until(`${many} looks come, and nothing else`, haveCome, 240_000, 1_000);
}

async function assertEnds(command: Command): Promise<void> {
  command.signal("SIGTERM");
  const { code } = await command.finished;
  assert.equal(code, 0, command.said);
}
