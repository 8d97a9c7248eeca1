import assert from "node:assert/strict";
import { newClusterKeys } from "../../../src/bootstrap/certificates/cluster-keys.js";
import { hostBootstrap, type HostSettings } from "../../../src/bootstrap/host/host-bootstrap.js";
import { userDataOf } from "../../../src/bootstrap/host/user-data.js";
import { nodeOrderOf } from "../../../providers/local/nodes/node-order.js";
import { sampleHost } from "../../bootstrap/sample-host.js";

const orderFor = (settings: HostSettings) =>
  nodeOrderOf(userDataOf(hostBootstrap(settings), "cloud-config"));

describe("what the user data of a host of processes asks for", () => {
  const join = { token: "abcdef.0123456789abcdef", caCertHashes: [`sha256:${"0".repeat(64)}`] };

  it("is a first member, with keys and the configuration of its cluster", async () => {
    const keys = await newClusterKeys(Date.now(), "ECDSA-P256");
    const order = orderFor(sampleHost({ kind: "init", keys, token: join.token }));
    assert.equal(order.role, "init");
    assert.equal(order.keys.get("ca.key"), keys.ca.privateKeyPem);
    assert.equal(order.keys.get("etcd/ca.crt"), keys.etcd.certificatePem);
    assert.equal(order.cluster?.["kind"], "ClusterConfiguration");
  });

  it("is a further member, which asks the others for that configuration", async () => {
    const keys = await newClusterKeys(Date.now(), "ECDSA-P256");
    const order = orderFor(sampleHost({ kind: "joinControlPlane", keys, join }));
    assert.equal(order.role, "joinControlPlane");
    assert.equal(order.cluster, undefined);
    assert.ok(order.keys.has("sa.key"));
  });

  it("is a worker, which knows whom to ask, and by what it knows them, and no key", () => {
    const settings = sampleHost({ kind: "joinWorker", join });
    const order = orderFor(settings);
    assert.equal(order.role, "joinWorker");
    assert.deepEqual([order.token, order.caCertHashes], [join.token, join.caCertHashes]);
    const { host, port } = settings.cluster.endpoint;
    assert.equal(order.server, `${host}:${port}`);
    assert.deepEqual([...order.keys], []);
    assert.deepEqual(order.labels, settings.node.labels);
  });

  it("is refused where it makes no node", () => {
    assert.throws(() => nodeOrderOf("#cloud-config\nruncmd: []\n"), /kubeadm\.yaml/);
  });
});
