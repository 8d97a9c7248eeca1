import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { administrator } from "./client.js";
import { type NodeAbout, NodeCluster, type Role } from "./cluster.js";
import type { NamespaceHost } from "../../providers/local/kubeadm/host.js";
import { currentPrograms, previousPrograms } from "./programs.js";
import { untilTrue } from "./until-true.js";

interface Node {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly spec: { readonly providerID?: string; readonly taints?: readonly { key: string }[] };
  readonly status: {
    readonly addresses: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo: { readonly kubeletVersion: string };
  };
}

interface Wanted {
  readonly name: string;
  readonly role: Role;
  readonly about: NodeAbout;
  readonly providerId: string;
  readonly taints: readonly object[];
}

const controlPlaneTaint = { key: "node-role.kubernetes.io/control-plane", effect: "NoSchedule" };
const dedicated = { key: "dedicated", value: "etcd", effect: "NoExecute" } as const;
const spot = { key: "spot", effect: "PreferNoSchedule" } as const;

const wanted: readonly Wanted[] = [
  {
    name: "cp0",
    role: "init",
    about: { labels: { pool: "masters" }, taints: [], providerId: "test:///a/cp0" },
    providerId: "test:///a/cp0",
    taints: [controlPlaneTaint],
  },
  {
    name: "cp1",
    role: "joinControlPlane",
    about: {
      labels: {},
      taints: [dedicated],
      providerId: { command: "echo test:///b/$(hostname)" },
    },
    providerId: "test:///b/cp1",
    taints: [controlPlaneTaint, dedicated],
  },
  {
    name: "w0",
    role: "joinWorker",
    about: {
      labels: { pool: "workers", "example.org/zone": "c" },
      taints: [spot],
      providerId: "test:///c/w0",
    },
    providerId: "test:///c/w0",
    taints: [spot],
  },
];
const members = wanted.filter(({ role }) => role !== "joinWorker").map(({ name }) => name);
const minuteMs = 60_000;

describe("hosts that our user data makes nodes of", function () {
  this.timeout(30 * minuteMs);
  let cluster: NodeCluster;

  /** All nodes once they are ready and have said so after now. */
  const readyNodes = async (): Promise<Node[]> => {
    const since = Date.now();
    const renewals = async () => {
      const path = "jsonpath={.items[*].spec.renewTime}";
      const text = await cluster.kubectl("get", "leases", "-n", "kube-node-lease", "-o", path);
      const late = text.split(" ").filter((time) => Date.parse(time) > since);
      return late.length === wanted.length;
    };
    await untilTrue("each kubelet has renewed its lease", renewals);
    await cluster.kubectl("wait", "--for=condition=Ready", "--timeout=3m", "node", "--all");
    const text = await cluster.kubectl("get", "nodes", "-o", "json");
    return (JSON.parse(text) as { items: Node[] }).items;
  };

  before(async () => {
    cluster = await NodeCluster.start(previousPrograms());
    for (const { name, role, about } of wanted) await cluster.addHost(name, role, about);
  });
  after(async () => cluster.end());
  afterEach(async function () {
    if (this.currentTest?.state === "failed") console.log(await cluster.story());
  });

  it("are Ready, with the labels, taints, versions and provider ids of their settings", async () => {
    const nodes = await readyNodes();
    assert.deepEqual(nodes.map(({ metadata }) => metadata.name).sort(), ["cp0", "cp1", "w0"]);
    for (const { name, about, providerId, taints } of wanted) {
      const node = nodes.find(({ metadata }) => metadata.name === name);
      assert.ok(node !== undefined);
      const { metadata, spec, status } = node;
      // Those of Kubernetes' own controllers come and go.
      const lasting = spec.taints?.filter(({ key }) => !key.startsWith("node.kubernetes.io/"));
      assert.deepEqual(new Set(lasting), new Set(taints), name);
      assert.deepEqual({ ...metadata.labels, ...about.labels }, metadata.labels, name);
      assert.equal(spec.providerID, providerId);
      assert.equal(status.nodeInfo.kubeletVersion, `v${cluster.version}`);
      const [first] = (await cluster.host(name).run("hostname", "-I")).split(" ");
      assert.equal(addressOf(node), first);
    }
  });

  it("have said that they are nodes, and keep neither configuration nor token", async () => {
    for (const { name } of wanted) {
      const host = cluster.host(name);
      const sentinel = await host.run("cat", "/run/cluster-api/bootstrap-success.complete");
      assert.equal(sentinel, "success\n");
      await host.run("sh", "-c", "! [ -e /etc/kubernetes/kubeadm.yaml ]");
      // An upgrade that had to be repeated has said so there.
      assert.doesNotMatch(await host.run("cat", "/dev/console"), /bootstrap failed/);
      const log = "/var/log/capstan-bootstrap.log";
      assert.equal(await host.run("stat", "-c", "%a", log), "600\n");
      assert.doesNotMatch(await host.run("cat", log), /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/);
    }
  });

  it("let nobody in whose certificate is of another authority", async () => {
    const trusted = cluster.keys.ca;
    const { ca: signer } = await newClusterKeys(Date.now(), "ECDSA-P256");
    const stranger = join(cluster.folder, "stranger.conf");
    writeFileSync(stranger, await administrator({ trusted, signer }), { mode: 0o600 });
    await assert.rejects(cluster.kubectlAs(stranger, "get", "nodes"), /Unauthorized|logged in/);
  });

  it("stay Ready when kubeadm renews the certificates that our authorities have signed", async () => {
    const authority = new X509Certificate(cluster.keys.ca.certificatePem);
    for (const name of members) {
      const host = cluster.host(name);
      const before = await servedCertificate(host);
      await host.run("kubeadm", "certs", "renew", "all");
      // etcd reads its certificates for each connection. The kubelet starts again what has ended; an API server
      // that is asked to end waits a minute for its watches.
      const ending = ["-KILL", "-f", "^kube-(apiserver|controller-manager|scheduler) "];
      await host.run("pkill", ...ending);
      const hasReturned = async () => {
        const { serialNumber } = await servedCertificate(host);
        await cluster.serves(name);
        return serialNumber !== before.serialNumber;
      };
      await untilTrue(`${name} serves with a new certificate`, hasReturned);
      assert.ok((await servedCertificate(host)).verify(authority.publicKey), name);
    }
    await readyNodes();
  });

  it("stay Ready when kubeadm and the kubelet are upgraded by a minor version", async () => {
    await cluster.upgrade(currentPrograms());
    const versions = (await readyNodes()).map(({ status }) => status.nodeInfo.kubeletVersion);
    assert.deepEqual([...new Set(versions)], [`v${cluster.version}`]);
    const images = "jsonpath={.items[*].spec.containers[*].image}";
    const selected = ["-n", "kube-system", "-l", "component=kube-apiserver"];
    const apiServer = `registry.k8s.io/kube-apiserver:v${cluster.version}`;
    const shown = await cluster.kubectl("get", "pods", ...selected, "-o", images);
    assert.deepEqual(shown.split(" "), [apiServer, apiServer]);
  });
});

/** What a host's API server shows. */
async function servedCertificate(host: NamespaceHost): Promise<X509Certificate> {
  const asking = "openssl s_client -connect localhost:6443 < /dev/null 2> /dev/null | openssl x509";
  return new X509Certificate(await host.run("sh", "-c", asking));
}

function addressOf({ status }: Node): string | undefined {
  return status.addresses.find(({ type }) => type === "InternalIP")?.address;
}
