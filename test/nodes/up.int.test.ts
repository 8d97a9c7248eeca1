import assert from "node:assert/strict";
import { programsOn } from "../../providers/local/kubeadm/host-programs.js";
import type { Observed } from "../../src/provider/port.js";
import { until } from "../scenario/until.js";
import { authorityIn, renewCertificates, servedCertificate } from "./certificates.js";
import { upgradeInPlace } from "./in-place.js";
import { type NodesCluster, type NodesMachine, stack } from "./manifests.js";
import { NodesScenario } from "./scenario.js";
import { currentPrograms, previousPrograms } from "./programs.js";
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
    readonly addresses: readonly { readonly type: string; readonly address: string }[];
    readonly conditions: readonly { readonly type: string; readonly status: string }[];
    readonly nodeInfo: { readonly kubeletVersion: string };
  };
}

const minuteMs = 60_000;
const controlPlaneTaint = { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" };
const dedicated = { key: "dedicated", value: "etcd", effect: "NoExecute" };
const spot = { key: "spot", value: "yes", effect: "PreferNoSchedule" };

const member: NodesMachine = {
  labels: { pool: "masters" },
  annotations: { "example.org/rack": "a" },
};
const worker: NodesMachine = {
  labels: { pool: "workers", "example.org/zone": "c" },
  taints: [spot],
};
const secondMember: NodesMachine = { taints: [dedicated] };

describe("a cluster that capstan up makes of real nodes", function () {
  this.timeout(30 * minuteMs);
  let scenario: NodesScenario;
  /** Of the kubelets and of the control plane. */
  let version = previousPrograms().version;
  let members: NodesCluster["members"] = { "cp-0": member };
  let replicas = 1;
  /** The cluster is what the manifests say. */
  let isSettled = false;

  const clusterOf = (template = worker): NodesCluster => ({
    members,
    workers: { template, replicas },
  });

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

  const assertReady = async () => {
    const ready = [...(await nodes()).values()].filter(({ status }) =>
      status.conditions.some(({ type, status: is }) => type === "Ready" && is === "True"),
    );
    assert.equal(ready.length, Object.keys(members).length + replicas);
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
    scenario = await NodesScenario.start(previousPrograms(), clusterOf());
  });
  beforeEach(async () => {
    // Capstan knows nothing of an upgrade in place.
    if (isSettled || version !== scenario.version) return;
    await scenario.sandbox.up();
    isSettled = true;
  });
  afterEach(async function () {
    if (this.currentTest?.state !== "failed") return;
    isSettled = false;
    console.log(await scenario.story());
  });
  after(async () => scenario.end());

  const assertAsWanted = async () => {
    await assertReady();
    for (const [host, { metadata, spec, status }] of await nodes()) {
      const { labels, annotations, taints = [] } = machineOf(host, members);
      assert.deepEqual({ ...metadata.labels, ...labels }, metadata.labels);
      assert.deepEqual({ ...metadata.annotations, ...annotations }, metadata.annotations);
      // Those of Kubernetes' own controllers come and go.
      const lasting = spec.taints?.filter(({ key }) => !key.startsWith("node.kubernetes.io/"));
      const wanted = isMember(host) ? [controlPlaneTaint, ...taints] : taints;
      assert.deepEqual(new Set(lasting), new Set(wanted));
      assert.equal(status.nodeInfo.kubeletVersion, `v${version}`);
      assert.equal(spec.providerID, host.status["providerId"]);
      const [first] = (await scenario.shell(host).run("hostname", "-I")).split(" ");
      assert.equal(status.addresses.find(({ type }) => type === "InternalIP")?.address, first);
    }
  };

  it(
    "has the labels, annotations, taints, versions, addresses and provider ids of its manifests",
    assertAsWanted,
  );

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
      await scenario.rotate(to);
      const after = await scenario.hosts();
      assert.ok(after.every(({ id }) => !before.has(id)));
      await assertReady();
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
    await assertReady();
  });

  it("gets another host in place of one whose keeper was killed, which has ended with all it had", async () => {
    const gone = (await scenario.hosts()).find(isWorker)!;
    scenario.killKeeper(gone.id);
    // What its load balancer did goes on where it was.
    scenario.killKeeper((await scenario.loadBalancer()).id);
    const { stdout } = await scenario.sandbox.capstan(2, "drift", stack);
    assert.match(stdout, new RegExp(`missing .*${gone.id}`));
    await scenario.sandbox.up();
    await assertReady();
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
      await assertReady();
      return true;
    });
  });

  it("gets one host more when capstan up is killed while it joins, and is run again", async () => {
    const before = new Set((await scenario.hosts()).map(({ id }) => id));
    const added = async () => (await scenario.hosts()).filter(({ id }) => !before.has(id));
    replicas += 1;
    scenario.write(clusterOf());
    const command = scenario.sandbox.startUp();
    await until("it waits", () => command.said.includes("waiting for 1 host"), 4 * minuteMs);
    await command.killTree();
    // It has not come to its end, whatever became of the host since.
    assert.equal((await command.finished).code, null, command.said);
    assert.equal((await added()).length, 1);
    await scenario.sandbox.up();
    assert.equal((await added()).length, 1);
    await assertReady();
    assert.equal(await tokens(), "");
    // What comes next needs no worker more.
    replicas -= 1;
    scenario.write(clusterOf());
    isSettled = false;
  });

  it("is as it was when a new host fails, which tells why", async () => {
    const before = await scenario.hosts();
    const broken = { ...worker, preKubeadmCommands: ["echo there is no disk >&2; exit 1"] };
    scenario.write(clusterOf(broken));
    const { stderr } = await scenario.sandbox.up(1);
    scenario.write(clusterOf());
    assert.match(stderr, /printed last:\n[^]*preKubeadmCommands\[0\]\n[^\n]*there is no disk\n/);
    assert.deepEqual(await scenario.hosts(), before);
    await assertReady();
    assert.equal(await tokens(), "");
  });

  describe("which gets a second member", () => {
    /** All Nodes are Ready, and have said so after now. */
    const stayReady = async () => {
      const since = Date.now();
      const renewals = async () => {
        const path = "jsonpath={.items[*].spec.renewTime}";
        const asked = ["get", "leases", "-n", "kube-node-lease", "-o", path];
        const times = (await scenario.kubectl(...asked)).split(" ");
        return times.filter((time) => Date.parse(time) > since).length === (await nodes()).size;
      };
      await untilTrue("each kubelet has renewed its lease", renewals);
      await scenario.kubectl("wait", "--for=condition=Ready", "--timeout=50s", "node", "--all");
    };

    before(async () => {
      members = { ...members, "cp-1": secondMember };
      scenario.write(clusterOf());
      await scenario.sandbox.up();
    });

    it(
      "has the labels, annotations, taints, versions, addresses and provider ids of its manifests",
      assertAsWanted,
    );

    it("has hosts that have said that they are nodes, and keep neither configuration nor token", async () => {
      for (const host of await scenario.hosts()) {
        const shell = scenario.shell(host);
        const sentinel = await shell.run("cat", "/run/cluster-api/bootstrap-success.complete");
        assert.equal(sentinel, "success\n");
        await shell.run("sh", "-c", "! [ -e /etc/kubernetes/kubeadm.yaml ]");
        // An upgrade that had to be repeated has said so there.
        assert.doesNotMatch(await shell.run("cat", "/dev/console"), /bootstrap failed/);
        const log = "/var/log/capstan-bootstrap.log";
        assert.equal(await shell.run("stat", "-c", "%a", log), "600\n");
        assert.doesNotMatch(await shell.run("cat", log), /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/);
      }
    });

    it("stays Ready when kubeadm renews the certificates that its authorities have signed", async () => {
      const authority = authorityIn(await scenario.kubeconfig("trusting"));
      const hosts = (await scenario.hosts()).filter(isMember);
      assert.equal(hosts.length, 2);
      const shells = hosts.map((host) => scenario.shell(host));
      await Promise.all(shells.map((shell) => renewCertificates(shell)));
      for (const shell of shells) {
        assert.ok((await servedCertificate(shell)).verify(authority.publicKey));
      }
      await stayReady();
    });

    it("stays Ready when kubeadm and the kubelet are upgraded in place by a minor version", async () => {
      await upgradeInPlace(scenario, currentPrograms());
      ({ version } = currentPrograms());
      await stayReady();
      const kubelets = [...(await nodes()).values()].map(
        ({ status }) => status.nodeInfo.kubeletVersion,
      );
      assert.deepEqual([...new Set(kubelets)], [`v${version}`]);
      const images = "jsonpath={.items[*].spec.containers[*].image}";
      const selected = ["-n", "kube-system", "-l", "component=kube-apiserver"];
      const apiServer = `registry.k8s.io/kube-apiserver:v${version}`;
      const shown = await scenario.kubectl("get", "pods", ...selected, "-o", images);
      assert.deepEqual(shown.split(" "), [apiServer, apiServer]);
    });

    describe("and is destroyed at last", () => {
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
  });
});

/** What the manifests say of a host's machine. */
function machineOf({ who }: Observed, members: NodesCluster["members"]): NodesMachine {
  const found = Object.entries(members).find(([name]) => who.name.startsWith(`${name}-`));
  return found === undefined ? worker : found[1];
}
