import assert from "node:assert/strict";
import { join } from "node:path";
import { leaseName } from "../../src/kube/lease-store.js";
import { manifestFolder } from "../deploy/manifests.js";
import type { Command } from "../scenario/command.js";
import { until } from "../scenario/until.js";
import { WatchRig } from "../scenario/watch-rig.js";

const namespace = "capstan-system";
const account = `system:serviceaccount:${namespace}:capstan`;

interface EventItem {
  readonly type: string;
  readonly reason: string;
  readonly regarding: { readonly kind: string; readonly name: string };
  readonly reportingController: string;
}

describe("capstan watch as deploy/kubernetes runs it", () => {
  let rig: WatchRig;
  let controller: Command;
  let address: string;

  before(async () => {
    rig = await WatchRig.start({ example: "quickstart" }, { auditLog: true });
    for (const file of ["namespace", "service-account", "cluster-role", "role"]) {
      await rig.kubectl("apply", "-f", join(manifestFolder, `${file}.yaml`));
    }
    const token = (await rig.kubectl("create", "token", "capstan", "-n", namespace)).trim();
    const { kubeconfig } = rig.server.userWith(token, "capstan");
    controller = rig.watch(
      "--kubeconfig",
      kubeconfig,
      "--lease-namespace",
      namespace,
      "--json",
      "--metrics-address",
      "127.0.0.1:0",
      "--log-level",
      "debug",
    );
    address = await until("the address of its metrics", () => {
      assert.equal(controller.hasEnded, false, controller.said);
      return /metrics and probes on ([\d.:]+)/.exec(controller.said)?.[1];
    });
  });
  after(() => rig.stop());

  async function get(path: string): Promise<{ readonly status: number; readonly body: string }> {
    const response = await fetch(`http://${address}${path}`);
    return { status: response.status, body: await response.text() };
  }

  /** The sum over all series of a metric whose labels match. */
  async function metric(name: string, labels = /./): Promise<number> {
    const { body } = await get("/metrics");
    return body
      .split("\n")
      .filter((line) => new RegExp(`^${name}[{ ]`).test(line) && labels.test(line))
      .reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  async function reasons(): Promise<string[]> {
    const text = await rig.kubectl("get", "events.events.k8s.io", "-A", "-o", "json");
    const { items } = JSON.parse(text) as { items: EventItem[] };
    const own = items.filter((item) => item.reportingController === "capstan.dev/controller");
    assert.ok(own.every(({ regarding }) => regarding.name === "quickstart"));
    return own.map(({ reason }) => reason);
  }

  it("does all its work with the rights that it is given, counts it, tells it, and ends well", async () => {
    await until("it is ready", async () => (await get("/readyz")).status === 200);
    assert.deepEqual(await get("/healthz"), { status: 200, body: "ok\n" });
    await until("it leads", async () => (await metric("capstan_leader")) === 1);

    await rig.applyManifests();
    await rig.untilRunning("quickstart", 3);
    await until("the phase is counted", async () => {
      return (await metric("capstan_clusters", /phase="Running"/)) === 1;
    });
    assert.equal(await metric("capstan_transactions_total", /forward.*succeeded/), 1);
    assert.ok((await metric("capstan_passes_total", /succeeded/)) >= 2);
    assert.ok((await metric("capstan_cloud_calls_total", /call="create",outcome="ok"/)) >= 3);
    await until("the survey behind it is counted", async () => {
      return (await metric("capstan_reconcile_total", /done/)) >= 1;
    });
    assert.ok(
      (await metric("capstan_api_calls_total", /machines.*verb="create",outcome="ok"/)) >= 2,
    );

    const [dead = ""] = rig.hostsAlive();
    await rig.sandbox.cloud.kill(dead);
    await until("another host runs", () => {
      const alive = rig.hostsAlive();
      return alive.length === 3 && !alive.includes(dead);
    });
    await rig.untilRunning("quickstart", 3);
    assert.equal(await metric("capstan_drift_found_total", /missing|failed/), 1);
    await until("Events tell of it", async () => (await reasons()).includes("DriftFound"));

    await rig.kubectl("delete", "cluster", "quickstart");
    assert.deepEqual(rig.sandbox.alive(), []);
    await until("the cluster is forgotten", async () => (await metric("capstan_clusters")) === 0);

    const refused = rig.server
      .auditEvents()
      .filter(
        ({ user, responseStatus }) => user.username === account && responseStatus?.code === 403,
      )
      .map(({ verb, requestURI }) => `${verb} ${requestURI}`);
    assert.deepEqual(refused, [], "what the manifests do not grant");
    assert.equal(await metric("capstan_api_calls_total", /outcome="denied"/), 0);
    assert.equal(await metric("capstan_events_dropped_total"), 0);

    const lease = ["get", "lease", leaseName, "-n", namespace, "-o", "jsonpath={.spec}"];
    const held = JSON.parse(await rig.kubectl(...lease)) as { holderIdentity?: string };
    assert.match(held.holderIdentity ?? "", /_\d+_/);
    controller.signal("SIGTERM");
    await until("it has ended", () => controller.hasEnded);
    const left = JSON.parse(await rig.kubectl(...lease)) as { holderIdentity?: string };
    assert.equal(left.holderIdentity ?? "", "");
    const lines = controller.said.split("\n").filter((line) => line.startsWith("{"));
    assert.ok(lines.length > 10);
    for (const line of lines) {
      const { level, message, time } = JSON.parse(line) as Record<string, unknown>;
      assert.ok(level !== undefined && message !== undefined && time !== undefined, line);
    }
    assert.ok(!controller.said.includes("PASSPHRASE"));
  });
});
