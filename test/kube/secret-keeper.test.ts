import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { parse } from "yaml";
import { isCapstanError } from "../../src/api/error.js";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { secretText } from "../../src/bootstrap/certificates/secrets.js";
import { givenKeysOf, givenVersions } from "../../src/kube/given-secrets.js";
import { isOwned } from "../../src/kube/cluster-secrets.js";
import type { LiveObject } from "../../src/kube/live-object.js";
import { type KeptCluster, SecretKeeper } from "../../src/kube/secret-keeper.js";
import type { PriorState } from "../../src/records/prior-state.js";
import { FakeClock } from "../support/fake-clock.js";
import { firstPlan } from "../support/first-plan.js";
import { cluster, desiredOf, localProvider } from "../support/manifests.js";
import { FakeSecrets } from "../support/fake-secrets.js";

const startMs = Date.UTC(2026, 0, 2, 3, 4, 5);
const dayMs = 24 * 3_600_000;
const names = ["prod-ca", "prod-etcd", "prod-kubeconfig", "prod-proxy", "prod-sa"];

function clusterObject(uid = "uid-1", more: object = {}): LiveObject {
  const metadata = { name: "prod", namespace: "default", uid, resourceVersion: "1", ...more };
  return { apiVersion: "cluster.k8s.io/v1alpha1", kind: "Cluster", metadata };
}

const { target } = firstPlan(desiredOf([cluster()]), localProvider());

describe("the Secrets of a cluster", () => {
  let keys: ClusterKeys;
  let others: ClusterKeys;
  before(async () => {
    keys = await newClusterKeys(startMs, "ECDSA-P256");
    others = await newClusterKeys(startMs, "ECDSA-P256");
  });

  /** A cluster that is kept, in an API server of its own. */
  function world() {
    const secrets = new FakeSecrets();
    const clock = new FakeClock(startMs, "manual");
    const { cache, readSecret, writeSecret } = secrets;
    const keeper = new SecretKeeper({ api: { readSecret, writeSecret }, cache, clock });
    const kept = (recorded: ClusterKeys | undefined = keys, host = "10.0.0.10"): KeptCluster => ({
      cluster: clusterObject(),
      records: {
        resources: [],
        pending: [],
        transaction: recorded === undefined ? undefined : { keys: { 1: recorded }, target },
      } as unknown as PriorState,
      provider: { apiEndpoints: () => [{ host, port: 6443 }] },
    });
    const keep = async (one = kept()) => {
      await keeper.keep(one);
      assert.ok(keeper.isKept(one), "something is left to do");
      return secrets.effects.splice(0).length;
    };
    return { secrets, clock, keeper, kept, keep };
  }

  const certificateOf = (secrets: FakeSecrets) => {
    const config = parse(secretText(secrets.find("prod-kubeconfig") ?? {}, "value") ?? "") as {
      clusters: [{ cluster: { server: string; "certificate-authority-data": string } }];
      users: [{ user: { "client-certificate-data": string } }];
    };
    const [{ cluster }] = config.clusters;
    const pem = Buffer.from(config.users[0].user["client-certificate-data"], "base64");
    const authority = Buffer.from(cluster["certificate-authority-data"], "base64").toString();
    return { server: cluster.server, authority, certificate: new X509Certificate(pem) };
  };

  it("hold what is recorded, belong to the Cluster, and are written once", async () => {
    const { secrets, keep } = world();
    assert.equal(await keep(), 5);
    assert.deepEqual(secrets.names(), names);
    for (const name of names) {
      const secret = secrets.find(name);
      assert.ok(secret !== undefined && isOwned(secret, clusterObject()), name);
      assert.deepEqual(secret.metadata.labels, { "cluster.x-k8s.io/cluster-name": "prod" });
      assert.equal(secret.metadata.ownerReferences?.[0]?.uid, "uid-1");
    }
    assert.equal(secretText(secrets.find("prod-ca") ?? {}, "tls.key"), keys.ca.privateKeyPem);
    const { server, authority, certificate } = certificateOf(secrets);
    assert.equal(server, "https://10.0.0.10:6443");
    assert.equal(authority, keys.ca.certificatePem);
    assert.equal(certificate.subject, "O=kubeadm:cluster-admins\nCN=prod-admin");
    assert.ok(certificate.verify(new X509Certificate(keys.ca.certificatePem).publicKey));
    assert.equal(await keep(), 0);
  });

  it("come back when somebody deletes or changes them, other labels stay", async () => {
    const { secrets, keep } = world();
    await keep();
    const before = certificateOf(secrets).certificate.serialNumber;
    secrets.delete("prod-etcd");
    secrets.apply("prod-ca", { "tls.crt": "other", "tls.key": "other", more: "other" });
    secrets.edit("prod-sa", (one) => ({
      ...one,
      metadata: { ...one.metadata, labels: { mine: "yes" } },
    }));
    assert.equal(await keep(), 3);
    assert.deepEqual(secrets.names(), names);
    assert.deepEqual(Object.keys(secrets.find("prod-ca")?.data ?? {}), ["tls.crt", "tls.key"]);
    assert.deepEqual(secrets.find("prod-sa")?.metadata.labels, {
      mine: "yes",
      "cluster.x-k8s.io/cluster-name": "prod",
    });
    assert.equal(certificateOf(secrets).certificate.serialNumber, before);
  });

  it("are overwritten where an earlier Cluster of the name has left them", async () => {
    const { secrets, keep, kept } = world();
    await keep({ ...kept(others), cluster: clusterObject("uid-0") });
    assert.equal(await keep(), 5);
    assert.equal(secretText(secrets.find("prod-ca") ?? {}, "tls.key"), keys.ca.privateKeyPem);
    assert.equal(secrets.find("prod-ca")?.metadata.ownerReferences?.[0]?.uid, "uid-1");
  });

  it("are none without keys, without a kubeconfig until there is an endpoint, none while it is deleted", async () => {
    const { secrets, keep, kept } = world();
    assert.equal(await keep({ ...kept(), records: { resources: [], pending: [] } }), 0);
    const cluster = clusterObject("uid-1", { deletionTimestamp: "2026-05-04T10:11:12Z" });
    assert.equal(await keep({ ...kept(), cluster }), 0);
    assert.equal(await keep({ ...kept(), provider: {} }), 4);
    assert.equal(await keep(), 1);
    assert.deepEqual(secrets.names(), names);
  });

  it("get another certificate at half of its life, and another kubeconfig when the endpoint moves", async () => {
    const { secrets, clock, keep, kept } = world();
    await keep();
    const first = certificateOf(secrets).certificate;
    clock.advance(182 * dayMs);
    assert.equal(await keep(), 0);
    clock.advance(dayMs);
    assert.equal(await keep(), 1);
    const second = certificateOf(secrets).certificate;
    assert.notEqual(second.serialNumber, first.serialNumber);
    assert.equal(second.validToDate.getTime(), startMs + (183 + 365) * dayMs);
    assert.equal(await keep(kept(keys, "10.0.0.11")), 1);
    assert.equal(certificateOf(secrets).server, "https://10.0.0.11:6443");
    assert.equal(certificateOf(secrets).certificate.serialNumber, second.serialNumber);
  });

  it("are not renewed for ever when their authority itself is about to expire", async () => {
    const { clock, keep } = world();
    await keep();
    clock.advance(3_649 * dayMs);
    assert.equal(await keep(), 1);
    assert.equal(await keep(), 0);
    clock.advance(10 * dayMs);
    assert.equal(await keep(), 0);
  });

  it("are left alone where they are somebody else's, and that is told without their contents", async () => {
    const { secrets, clock, keep, kept, keeper } = world();
    secrets.apply("prod-ca", { "tls.crt": "planted certificate", "tls.key": "planted key" });
    secrets.apply("prod-sa", {
      "tls.crt": keys.serviceAccount.publicKeyPem,
      "tls.key": keys.serviceAccount.privateKeyPem,
    });
    secrets.apply("prod-kubeconfig", { value: "planted kubeconfig" });
    assert.equal(await keep(), 2);
    assert.equal(secretText(secrets.find("prod-ca") ?? {}, "tls.key"), "planted key");
    const report = keeper.reportOf(kept(), clock.now());
    assert.deepEqual(report.conflicts, ["default/prod-ca", "default/prod-kubeconfig"]);
    assert.ok(!JSON.stringify(report).includes("planted"));
    secrets.delete("prod-ca");
    secrets.delete("prod-kubeconfig");
    assert.equal(await keep(), 2);
    assert.deepEqual(keeper.reportOf(kept(), clock.now()).conflicts, []);
  });

  it("are not taken from somebody who made one without a label a moment ago", async () => {
    const { secrets, clock, keep, kept, keeper } = world();
    secrets.apply("prod-ca", { "tls.crt": "theirs", "tls.key": "theirs" });
    const theirs = secrets.find("prod-ca");
    assert.ok(theirs !== undefined);
    secrets.cache.drop({ ...theirs, metadata: { ...theirs.metadata, uid: "another" } });
    assert.equal(await keep(), 4);
    assert.equal(secretText(secrets.find("prod-ca") ?? {}, "tls.key"), "theirs");
    assert.deepEqual(keeper.reportOf(kept(), clock.now()).conflicts, ["default/prod-ca"]);
  });

  it("tell until when certificates count", async () => {
    const { clock, keep, kept, keeper } = world();
    await keep();
    const within = () =>
      keeper
        .reportOf(kept(), clock.now())
        .expiries.map(({ name, withinDays }) => `${name} ${withinDays ?? ""}`.trim());
    assert.deepEqual(within(), ["ca", "etcd", "frontProxy", "kubeconfig"]);
    clock.advance(340 * dayMs);
    assert.deepEqual(within(), ["ca", "etcd", "frontProxy", "kubeconfig 30"]);
    clock.advance(30 * dayMs);
    assert.deepEqual(within(), ["ca", "etcd", "frontProxy", "kubeconfig 0"]);
  });

  describe("that a user has put there first", () => {
    const given = ({ readSecret }: FakeSecrets, nowMs = startMs) =>
      givenKeysOf(clusterObject(), { readSecret }, nowMs);
    const problemsOf = async (secrets: FakeSecrets, nowMs = startMs) => {
      const error: unknown = await given(secrets, nowMs).catch((refused: unknown) => refused);
      assert.ok(isCapstanError(error), "they are taken");
      assert.equal(error.code, "INVALID_INPUT");
      return error.message;
    };

    it("are the cluster's keys, and what is not there is left to us", async () => {
      const { secrets } = world();
      assert.equal(await given(secrets), undefined);
      const { certificatePem, privateKeyPem } = others.ca;
      secrets.apply("prod-ca", { "tls.crt": certificatePem, "tls.key": privateKeyPem });
      assert.deepEqual(await given(secrets), { ca: others.ca });
    });

    it("do not count where an earlier life of the cluster has left them", async () => {
      const { secrets, keep } = world();
      await keep();
      assert.equal(await given(secrets), undefined);
      assert.deepEqual(givenVersions(clusterObject(), secrets.cache), []);
    });

    it("are refused with all that is wrong, by the names of the Secrets alone", async () => {
      const { secrets } = world();
      secrets.apply("prod-ca", { "tls.crt": keys.ca.certificatePem });
      secrets.apply("prod-etcd", {
        "tls.crt": keys.etcd.certificatePem,
        "tls.key": others.etcd.privateKeyPem,
      });
      const message = await problemsOf(secrets);
      assert.match(message, /^cannot make Cluster default\/prod with the keys in its Secrets: /);
      assert.match(message, /tls\.key of Secret default\/prod-ca holds no private key in PEM/);
      assert.match(
        message,
        /tls\.key of Secret default\/prod-etcd is not the key of tls\.crt of Secret default\/prod-etcd/,
      );
      assert.ok(!message.includes("PRIVATE"));
      const { certificatePem, privateKeyPem } = keys.ca;
      const old = world().secrets;
      old.apply("prod-ca", { "tls.crt": certificatePem, "tls.key": privateKeyPem });
      assert.match(
        await problemsOf(old, startMs + 4_000 * dayMs),
        /tls\.crt of Secret default\/prod-ca has expired on 2036-01-02/,
      );
    });

    it("are refused where they belong to a cluster of Cluster API", async () => {
      const { secrets } = world();
      const { certificatePem, privateKeyPem } = others.ca;
      secrets.apply("prod-ca", { "tls.crt": certificatePem, "tls.key": privateKeyPem });
      const apiVersion = "controlplane.cluster.x-k8s.io/v1beta1";
      const owner = { apiVersion, kind: "KubeadmControlPlane", name: "prod", uid: "1" };
      secrets.edit("prod-ca", (one) => ({
        ...one,
        metadata: { ...one.metadata, ownerReferences: [owner] },
      }));
      assert.match(
        await problemsOf(secrets),
        /Secret default\/prod-ca belongs to KubeadmControlPlane prod of Cluster API/,
      );
    });
  });
});
