import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { gzipSync } from "node:zlib";
import { stringify } from "yaml";
import { newAuthority, publicKeyHash } from "../../../../src/bootstrap/certificates/certificate.js";
import type { KeyPair } from "./first-start.js";
import {
  caughtUp,
  hasMajority,
  type HostClusterState,
  type HostSecret,
  type InstanceFacts,
  nothingBegun,
} from "./host-cluster.js";

const nowMs = Date.parse("2026-11-24T12:00:00Z");
const token = "abcdef.0123456789abcdef";
const validity = { fromMs: nowMs - 86_400_000, untilMs: nowMs + 86_400_000 };

const secret: HostSecret = {
  name: "bootstrap-token-abcdef",
  labels: {},
  data: {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    expiration: "2026-11-24T12:15:00Z",
  },
};

describe("what hosts of a simulated AWS come to", () => {
  let ca: KeyPair;
  let other: KeyPair;

  before(async () => {
    const request = { commonName: "ca", algorithm: "ECDSA-P256", validity } as const;
    [ca, other] = [await newAuthority(request), await newAuthority(request)];
    assert.ok(new X509Certificate(ca.certificatePem).ca);
  });

  /** As EC2 hands it out: kubeadm's configuration, and the keys of a member. */
  const userData = (documents: readonly object[], keys?: KeyPair) => {
    const pair = (name: string) =>
      keys === undefined
        ? []
        : [
            { path: `/etc/kubernetes/pki/${name}.crt`, content: keys.certificatePem },
            { path: `/etc/kubernetes/pki/${name}.key`, content: keys.privateKeyPem },
          ];
    const content = documents.map((one) => stringify(one)).join("---\n");
    const files = [{ path: "/etc/kubernetes/kubeadm.yaml", content }];
    const config = { write_files: [...files, ...pair("ca"), ...pair("etcd/ca")] };
    return gzipSync(`#cloud-config\n${stringify(config)}`).toString("base64");
  };
  const host = (id: string, given: string): InstanceFacts => ({
    id,
    isRunning: true,
    dueAtMs: 100,
    told: given,
    providerId: `aws:///eu-north-1a/${id}`,
    hostname: `ip-${id}`,
    address: `10.0.0.${id.slice(2)}`,
  });
  const first = (keys: KeyPair = ca) =>
    host("i-1", userData([{ kind: "InitConfiguration" }, { kind: "ClusterConfiguration" }], keys));
  const joining = (id: string, trusted: KeyPair, keys?: KeyPair) => {
    const caCertHashes = [publicKeyHash(trusted.certificatePem)];
    const bootstrapToken = { token, apiServerEndpoint: "api:6443", caCertHashes };
    const controlPlane = keys === undefined ? {} : { controlPlane: {} };
    const join = { kind: "JoinConfiguration", discovery: { bootstrapToken }, ...controlPlane };
    return host(id, userData([join], keys));
  };
  const at = (state: HostClusterState, instances: readonly InstanceFacts[], accountMs = 100) =>
    caughtUp(state, instances, { accountMs, nowMs });
  const begun = (): HostClusterState => ({ ...at(nothingBegun, [first()]), secrets: [secret] });

  it("begin a cluster once they have run for long enough", () => {
    assert.deepEqual(at(nothingBegun, [first()], 99), nothingBegun);
    const { members, nodes } = begun();
    assert.deepEqual(
      [members, nodes].map((list) => list.map(({ instance }) => instance)),
      [["i-1"], ["i-1"]],
    );
  });

  it("join as workers and as members", () => {
    const all = [first(), joining("i-2", ca, ca), joining("i-3", ca)];
    const { members, nodes, refusals } = at(begun(), all);
    assert.deepEqual(refusals, {});
    assert.deepEqual(
      nodes.map(({ instance, controlPlane }) => [instance, controlPlane]),
      [
        ["i-1", true],
        ["i-2", true],
        ["i-3", false],
      ],
    );
    assert.deepEqual(
      members.map(({ instance }) => instance),
      ["i-1", "i-2"],
    );
  });

  const refusalOf = (state: HostClusterState, ...instances: readonly InstanceFacts[]) =>
    at(state, instances).refusals["i-2"];

  it("are not let in without a good token, the cluster's authority, and its keys", () => {
    const worker = joining("i-2", ca);
    const withoutToken = { ...begun(), secrets: [] };
    assert.equal(refusalOf(withoutToken, first(), worker), "its token is not known");
    const old = { ...secret, data: { ...secret.data, expiration: "2026-11-24T11:59:59Z" } };
    assert.equal(
      refusalOf({ ...begun(), secrets: [old] }, first(), worker),
      "its token has expired",
    );
    assert.equal(refusalOf(begun(), first(), joining("i-2", other)), "it trusts another authority");
    assert.equal(refusalOf(begun(), first(), joining("i-2", ca, other)), "it has other keys");
    assert.equal(refusalOf(nothingBegun, worker), "there is no cluster");
  });

  it("are let in later, when what was missing is there", () => {
    const instances = [first(), joining("i-2", ca)];
    const refused = at({ ...begun(), secrets: [] }, instances);
    const later = at({ ...refused, secrets: [secret] }, instances);
    assert.deepEqual([later.refusals, later.nodes.length], [{}, 2]);
  });

  it("become no member while one that etcd counts on does not answer", () => {
    const two = at(begun(), [first(), joining("i-2", ca, ca)]);
    const three = at(two, [first(), joining("i-2", ca, ca), joining("i-3", ca, ca)]);
    const dead = { ...joining("i-3", ca, ca), isRunning: false };
    const left = [first(), joining("i-2", ca, ca), dead];
    assert.equal(hasMajority(three, left), true);
    const { refusals } = at(three, [...left, joining("i-4", ca, ca)]);
    assert.deepEqual(refusals, { "i-4": "a member of etcd does not answer" });
    const alone = [first(), dead, joining("i-5", ca)];
    assert.equal(hasMajority(three, alone), false);
    assert.deepEqual(at(three, alone).refusals, { "i-5": "etcd has no majority" });
  });

  it("offend where they begin a second cluster beside nodes of the first", () => {
    const second = { ...first(), id: "i-7" };
    assert.deepEqual(at(begun(), [first(), second]).offences, [
      "i-7 begins a second cluster beside i-1",
    ]);
    assert.deepEqual(at(begun(), [second]).offences, []);
  });
});
