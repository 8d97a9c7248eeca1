import assert from "node:assert/strict";
import { programsOn } from "../../providers/local/kubeadm/host-programs.js";
import type { Observed } from "../../src/provider/port.js";
import { until } from "../scenario/until.js";
import { type NodesCluster, type NodesMachine, stack } from "./manifests.js";
import { NodesScenario } from "./scenario.js";
import { currentPrograms } from "./programs.js";
import { untilTrue } from "./until-true.js";

/** The part of a Node that manifests say something of. */
interface Node {
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: { readonly providerID?: string; readonly taints?: readonly { key: string }[] };
  readonly status: {
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly nodeInfo: { readonly kubeletVersion: string };
  };
}

const minuteMs = 60_000;
const controlPlaneTaint = { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" };
const spot = { key: "spot", value: "yes", effect: "PreferNoSchedule" };

const member: NodesMachine = {
  labels: { pool: "masters" },
  annotations: { "example.org/rack": "a" },
};
const worker: NodesMachine = {
  labels: { pool: "workers", "example.org/zone": "c" },
  taints: [spot],
};
const clusterOf = (replicas: number, template: NodesMachine = worker): NodesCluster => ({
  members: { "cp-0": member },
  workers: { template, replicas },
});

describe("a cluster that capstan up makes of real nodes", function () {
  this.timeout(30 * minuteMs);
  let scenario: NodesScenario;
  let replicas = 1;

  /** One worker more in the manifests. */
  const grow = () => {
    replicas += 1;
    scenario.write(clusterOf(replicas));
  };

  /** The Node of each host. */
  const nodes = async (): Promise<Map<Observed, Node>> => {
    const hosts = await scenario.hosts();
    const text = await scenario.kubectl("get", "nodes", "-o", "json");
    const { items } = JSON.parse(text) as { items: Node[] };
    const names = items.map(({ metadata }) => metadata.name);
    assert.deepEqual(names.sort(), hosts.map(({ who }) => who.name).sort());
    const nodeOf = (host: Observed) =>
      items.find(({ metadata }) => metadata.name === host.who.name)!;
    return new Map(hosts.map((host) => [host, nodeOf(host)]));
  };

  const assertReady = async (workers: number) => {
    const ready = [...(await nodes()).values()].filter(({ status }) =>
      status.conditions.some(({ type, status: is }) => type === "Ready" && is === "True"),
    );
    assert.equal(ready.length, 1 + workers);
  };

  const isMember = ({ spec }: Observed) => spec["role"] === "controlPlane";
  const isWorker = (host: Observed) => !isMember(host);

  /** The tokens that hosts join with, a line each: the name of its Secret, when it was made, and for whom. */
  const tokens = () => {
    const selector = "--field-selector=type=bootstrap.kubernetes.io/token";
    const told = "{.metadata.name} {.metadata.creationTimestamp} {.metadata.labels}";
    const path = `jsonpath={range .items[*]}${told}{"\\n"}{end}`;
    return scenario.kubectl("get", "secrets", "-n", "kube-system", "-o", path, selector);
  };

  before(async () => {
    scenario = await NodesScenario.start(currentPrograms(), clusterOf(replicas));
  });
  beforeEach(async () => {
    await scenario.sandbox.up();
  });
  afterEach(async function () {
    if (this.currentTest?.state === "failed") console.log(await scenario.story());
  });
  after(async () => scenario.end());

  it("has the labels, annotations, taints, versions and provider ids of its manifests", async () => {
    await assertReady(replicas);
    for (const [host, { metadata, spec, status }] of await nodes()) {
      const { labels, annotations } = isMember(host) ? member : worker;
      assert.deepEqual({ ...metadata.labels, ...labels }, metadata.labels);
      assert.deepEqual({ ...metadata.annotations, ...annotations }, metadata.annotations);
      // Those of Kubernetes' own controllers come and go.
      const lasting = spec.taints?.filter(({ key }) => !key.startsWith("node.kubernetes.io/"));
      assert.deepEqual(lasting, [isMember(host) ? controlPlaneTaint : spot]);
      assert.equal(status.nodeInfo.kubeletVersion, `v${scenario.version}`);
      assert.equal(spec.providerID, host.status["providerId"]);
    }
  });

  it("leaves nothing to do, and no token to join with", async () => {
    await scenario.sandbox.plan(0);
    await untilTrue("the first member's token has expired", async () => (await tokens()) === "");
  });

  /** The Node that the pod of a Deployment runs on; "" while it runs nowhere. Its image was made here. */
  const nodeOfPod = () => {
    const selected = ["-l", "app=web", "--field-selector=status.phase=Running"];
    return scenario.kubectl("get", "pods", ...selected, "-o", "jsonpath={.items[*].spec.nodeName}");
  };
  const runPod = async () => {
    const path = "jsonpath={.items[0].spec.template.spec.containers[0].image}";
    const image = await scenario.kubectl("get", "ds", "-n", "kube-system", "-o", path);
    await scenario.kubectl("create", "deployment", "web", `--image=${image}`);
    await untilTrue("the pod runs", async () => (await nodeOfPod()) !== "");
    const name = await scenario.kubectl("exec", "deployment/web", "--", "busybox", "hostname");
    assert.match(name, /^web-/);
  };

  it("is made anew with other keys, in three steps, lets those in who know the new ones, and moves its pods", async () => {
    const rotate = (to: string) =>
      scenario.sandbox.capstan(0, "certificates", "rotate", stack, "--to", to, "--yes");
    const trusted = async () => {
      const text = await scenario.kubectl(
        "get",
        "cm",
        "-n",
        "kube-system",
        "kube-root-ca.crt",
        "-o",
        "jsonpath={.data}",
      );
      return text.split("BEGIN CERTIFICATE").length - 1;
    };
    const first = await scenario.kubeconfig("first");
    await runPod();
    for (const [to, authorities] of [
      ["1+2", 2],
      ["2+1", 2],
      ["2", 1],
    ] as const) {
      const before = new Set((await scenario.hosts()).map(({ id }) => id));
      await rotate(to);
      const after = await scenario.hosts();
      assert.ok(after.every(({ id }) => !before.has(id)));
      await assertReady(replicas);
      await untilTrue("the pod runs on a new node", async () => {
        const node = await nodeOfPod();
        return after.some(({ who }) => who.name === node);
      });
      await untilTrue("pods are told whom to trust", async () => (await trusted()) === authorities);
      const asking = scenario.kubectlAs(first, "get", "nodes");
      if (to === "1+2") await asking;
      else await assert.rejects(asking, /unknown authority/);
    }
    await scenario.kubectl("delete", "deployment", "web");
  });

  it("gets another host in place of one whose kubelet has died", async () => {
    const ill = (await scenario.hosts()).find(isWorker)!;
    scenario.killProgram(ill, "kubelet");
    const unknown = "jsonpath={.status.conditions[?(@.type=='Ready')].status}";
    await untilTrue("its Node does not answer", async () => {
      return (await scenario.kubectl("get", "node", ill.who.name, "-o", unknown)) === "Unknown";
    });
    await untilTrue("it is found unhealthy", async () => {
      const { stdout } = await scenario.sandbox.start("drift", stack).finished;
      return stdout.includes("unhealthy");
    });
    await scenario.sandbox.up();
    assert.ok((await scenario.hosts()).every(({ id }) => id !== ill.id));
    await assertReady(replicas);
  });

  it("gets another host in place of one whose keeper was killed, which has ended with all it had", async () => {
    const gone = (await scenario.hosts()).find(isWorker)!;
    scenario.killKeeper(gone.id);
    // What its load balancer did goes on where it was.
    scenario.killKeeper((await scenario.loadBalancer()).id);
    const { stdout } = await scenario.sandbox.capstan(2, "drift", stack);
    assert.match(stdout, new RegExp(`missing .*${gone.id}`));
    await scenario.sandbox.up();
    await assertReady(replicas);
    const traces = await scenario.traces();
    assert.deepEqual(
      traces.filter((trace) => trace.includes(gone.id)),
      [],
    );
  });

  it("writes nothing while the etcd of its member finds its disk full, however often that is started, and goes on once it has room", async () => {
    const [cp] = (await scenario.hosts()).filter(isMember);
    const fault = (mode: string) =>
      scenario.sandbox.capstan(0, "local", "fault", "etcd", mode, "--name", "cp-0");
    const running = () => programsOn(cp!.id, "etcd").map(([pid]) => pid);
    const seen = new Set(running());
    assert.equal(seen.size, 1);
    await fault("fillDisk");
    try {
      await until(
        "its kubelet has started it again",
        () => {
          const now = running();
          for (const pid of now) seen.add(pid);
          return seen.size > 1 && now.length === 0;
        },
        2 * minuteMs,
      );
      // An API server may have what was true a moment ago; nobody writes anything while the disk is full.
      const write = ["create", "configmap", "unwritten", "--request-timeout=10s"] as const;
      await assert.rejects(scenario.kubectl(...write));
    } finally {
      await fault("freeDisk");
    }
    await untilTrue("its Nodes are Ready", async () => {
      await assertReady(replicas);
      return true;
    });
  });

  it("gets one host more when capstan up is killed while it joins, and is run again", async () => {
    const before = new Set((await scenario.hosts()).map(({ id }) => id));
    const added = async () => (await scenario.hosts()).filter(({ id }) => !before.has(id));
    grow();
    const command = scenario.sandbox.startUp();
    await until("it waits", () => command.said.includes("waiting for 1 host"), 4 * minuteMs);
    await command.killTree();
    // It has not come to its end, whatever became of the host since.
    assert.equal((await command.finished).code, null, command.said);
    assert.equal((await added()).length, 1);
    await scenario.sandbox.up();
    assert.equal((await added()).length, 1);
    await assertReady(replicas);
    assert.equal(await tokens(), "");
  });

  it("is as it was when a new host fails, which tells why", async () => {
    const before = await scenario.hosts();
    const broken = { ...worker, preKubeadmCommands: ["echo there is no disk >&2; exit 1"] };
    scenario.write(clusterOf(replicas, broken));
    const { stderr } = await scenario.sandbox.up(1);
    scenario.write(clusterOf(replicas));
    assert.match(stderr, /printed last:\n[^]*preKubeadmCommands\[0\]\n[^\n]*there is no disk\n/);
    assert.deepEqual(await scenario.hosts(), before);
    await assertReady(replicas);
    assert.equal(await tokens(), "");
  });

  it("leaves no trace when it is destroyed, also of a member whose keeper was killed, as drift has told", async () => {
    assert.notDeepEqual(await scenario.traces(), []);
    const hosts = await scenario.hosts();
    const [cp] = hosts.filter(isMember);
    for (const { id } of [cp!, await scenario.loadBalancer()]) scenario.killKeeper(id);
    const { stdout } = await scenario.sandbox.capstan(2, "drift", stack);
    const missing = stdout.split("\n").filter((line) => line.includes("missing"));
    assert.deepEqual(
      hosts.filter(({ id }) => missing.some((line) => line.includes(id))),
      [cp],
    );
    await scenario.sandbox.capstan(0, "destroy", stack, "--yes");
    assert.deepEqual(await scenario.hosts(), []);
    assert.deepEqual(await scenario.traces(), []);
  });
});
