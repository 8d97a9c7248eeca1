import assert from "node:assert/strict";
import { keysAnnotation } from "../../src/api/key-stage.js";
import type { ClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { secretText } from "../../src/bootstrap/certificates/secrets.js";
import { eventTextOf } from "../../src/controller/event-messages.js";
import { recordedKeys } from "../../src/records/recorded-keys.js";
import { annotated, cluster, machine } from "../support/manifests.js";
import { FakeController } from "../support/fake-controller.js";

const member = machine("cp-0", { controlPlane: "1.34.2" });
const names = ["prod-ca", "prod-etcd", "prod-kubeconfig", "prod-proxy", "prod-sa"];

describe("a cluster's Secrets in an API server", () => {
  let own: ClusterKeys;
  let others: ClusterKeys;
  before(async () => {
    own = await newClusterKeys(1_000, "ECDSA-P256");
    others = await newClusterKeys(1_000, "ECDSA-P256");
  });

  const secretsOf = ({ server }: FakeController) => server.secrets;
  const statusOf = ({ server }: FakeController) => server.find("Cluster prod")?.status ?? {};
  const conditionOf = (controller: FakeController, type: string) =>
    (
      statusOf(controller)["conditions"] as { type: string; status: string; message: string }[]
    ).find((one) => one.type === type);
  const recorded = ({ world }: FakeController) => recordedKeys(world.prior);
  const give = (controller: FakeController, certificate: string, key: string) =>
    secretsOf(controller).apply("prod-ca", { "tls.crt": certificate, "tls.key": key });
  const saidIn = ({ happenings, server }: FakeController) =>
    JSON.stringify([happenings.map(eventTextOf), server.all()]);

  it("are made with it, hold what is recorded, and cost nothing once they are there", async () => {
    const controller = new FakeController();
    controller.server.apply(cluster(), member);
    assert.deepEqual(await controller.settle(), { kind: "done" });
    const secrets = secretsOf(controller);
    assert.deepEqual(secrets.names(), names);
    const keys = recorded(controller);
    assert.ok(keys !== undefined);
    assert.equal(secretText(secrets.find("prod-ca") ?? {}, "tls.key"), keys.ca.privateKeyPem);
    assert.deepEqual(conditionOf(controller, "CertificatesValid")?.status, "True");
    assert.deepEqual(conditionOf(controller, "CertificatesAvailable")?.status, "True");
    const shown = statusOf(controller)["certificates"] as { name: string }[];
    assert.deepEqual(
      shown.map(({ name }) => name),
      ["ca", "etcd", "frontProxy", "kubeconfig"],
    );
    const [writes, effects] = [secrets.effects.length, controller.server.effects.length];
    await controller.settle();
    controller.restart();
    await controller.settle();
    assert.equal(secrets.effects.length, writes);
    assert.equal(controller.server.effects.length, effects);
    secrets.delete("prod-sa");
    const { locked } = controller;
    await controller.settle();
    assert.deepEqual(secrets.names(), names);
    assert.equal(controller.locked, locked, "no engine is needed for that");
    assert.ok(!saidIn(controller).includes(keys.ca.privateKeyPem.split("\n")[1] ?? ""));
  });

  it("follow its keys from one step of a rotation to the next, as its annotation says", async () => {
    const controller = new FakeController();
    controller.server.apply(cluster(), member);
    await controller.settle();
    const before = recorded(controller);
    const hashesIn = (secret: string, member: string) =>
      secretText(secretsOf(controller).find(secret) ?? {}, member)?.split("BEGIN CERTIFICATE")
        .length;
    assert.equal(hashesIn("prod-ca", "tls.crt"), 2);
    controller.server.apply(annotated({ [keysAnnotation]: "1+2" }, cluster()));
    assert.deepEqual(await controller.settle(), { kind: "done" });
    assert.equal(hashesIn("prod-ca", "tls.crt"), 3);
    controller.server.apply(annotated({ [keysAnnotation]: "2+1" }, cluster()));
    assert.deepEqual(await controller.settle(), { kind: "done" });
    const after = recorded(controller);
    assert.notEqual(after?.ca.privateKeyPem, before?.ca.privateKeyPem);
    const shown = secretText(secretsOf(controller).find("prod-ca") ?? {}, "tls.key");
    assert.equal(shown, after?.ca.privateKeyPem);
    assert.deepEqual(conditionOf(controller, "CertificatesAvailable")?.status, "True");
    controller.server.apply(annotated({ [keysAnnotation]: "3" }, cluster()));
    await controller.settle();
    assert.deepEqual(recorded(controller), after, "no step leads there");
  });

  it("are its keys where a user has put them there before", async () => {
    const controller = new FakeController();
    give(controller, own.ca.certificatePem, own.ca.privateKeyPem);
    controller.server.apply(cluster(), member);
    await controller.settle();
    assert.deepEqual(recorded(controller)?.ca, own.ca);
    const secrets = secretsOf(controller);
    assert.deepEqual(secrets.names(), names);
    assert.equal(secrets.find("prod-ca")?.metadata.ownerReferences, undefined);
    assert.equal(conditionOf(controller, "CertificatesAvailable")?.status, "True");
    assert.ok(!saidIn(controller).includes(own.ca.privateKeyPem.split("\n")[1] ?? ""));
  });

  it("stand in the way of a cluster where they cannot be its keys, until they can", async () => {
    const controller = new FakeController();
    give(controller, own.ca.certificatePem, others.ca.privateKeyPem);
    controller.server.apply(cluster(), member);
    await controller.settle();
    assert.equal(statusOf(controller)["errorReason"], "InvalidConfiguration");
    assert.match(
      String(statusOf(controller)["errorMessage"]),
      /tls\.key of Secret default\/prod-ca is not the key of tls\.crt/,
    );
    assert.equal(controller.count("refused"), 1);
    assert.deepEqual(controller.world.hosts(), []);
    assert.deepEqual(secretsOf(controller).names(), ["prod-ca"]);
    assert.equal(recorded(controller), undefined);
    const { digest } = controller.cluster;
    give(controller, own.ca.certificatePem, own.ca.privateKeyPem);
    assert.notEqual(controller.source.intentOf("default/prod").digest, digest);
    assert.deepEqual(await controller.settle(), { kind: "done" });
    assert.deepEqual(recorded(controller)?.ca, own.ca);
    assert.equal(statusOf(controller)["errorReason"], undefined);
  });

  it("are left alone where they are somebody else's by now, which its status tells", async () => {
    const controller = new FakeController();
    controller.server.apply(cluster(), member);
    await controller.settle();
    const keys = recorded(controller);
    const secrets = secretsOf(controller);
    secrets.delete("prod-ca");
    give(controller, others.ca.certificatePem, others.ca.privateKeyPem);
    await controller.settle();
    assert.deepEqual(recorded(controller), keys);
    assert.equal(secretText(secrets.find("prod-ca") ?? {}, "tls.key"), others.ca.privateKeyPem);
    const { status, message } = conditionOf(controller, "CertificatesAvailable") ?? {};
    assert.equal(status, "False");
    assert.match(message ?? "", /^Secret default\/prod-ca is not ours/);
    assert.equal(statusOf(controller)["phase"], "Running");
    secrets.delete("prod-ca");
    await controller.settle();
    assert.equal(secretText(secrets.find("prod-ca") ?? {}, "tls.key"), keys?.ca.privateKeyPem);
    assert.equal(conditionOf(controller, "CertificatesAvailable")?.status, "True");
  });
});
