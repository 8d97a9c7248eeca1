import assert from "node:assert/strict";
import fc from "fast-check";
import { parseAllDocuments } from "yaml";
import { checkKubeadmPatch, type KubeadmPatch } from "../../src/api/kubeadm-patch.js";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { misfitOf } from "../../src/bootstrap/host/fitting.js";
import { hostBootstrap, type HostRole } from "../../src/bootstrap/host/host-bootstrap.js";
import { maskedSecrets, roleWith } from "../../src/bootstrap/host/host-secrets.js";
import { hostSettings } from "../../src/bootstrap/host/machine-settings.js";
import { packedUserData, userDataOf } from "../../src/bootstrap/host/user-data.js";
import type { MachineToCompile, UserDataTerms } from "../../src/provider/port.js";
import { asJson } from "../../src/api/json.js";
import { misreadIn } from "../support/kubeadm-fields.js";
import { assertLaw } from "../support/laws.js";
import { cluster, desiredOf } from "../support/manifests.js";

const word = fc.stringMatching(/^[a-z]([a-z0-9-]{0,12}[a-z0-9])?$/);
const words = fc.dictionary(word, fc.string({ maxLength: 30 }), { maxKeys: 4 });
const texts = fc.array(word, { maxLength: 3 });
const optional = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });

const component = fc.record({ extraArgs: words }, { requiredKeys: [] });
const patch: fc.Arbitrary<KubeadmPatch> = fc.record(
  {
    clusterConfiguration: fc.record(
      {
        imageRepository: word,
        featureGates: fc.dictionary(word, fc.boolean(), { maxKeys: 3 }),
        apiServer: fc.record({ extraArgs: words, certSANs: texts }, { requiredKeys: [] }),
        controllerManager: component,
        scheduler: component,
        dns: fc.record({ imageTag: word }, { requiredKeys: [] }),
        etcd: fc.record(
          { local: fc.record({ extraArgs: words, dataDir: word }, { requiredKeys: [] }) },
          { requiredKeys: [] },
        ),
      },
      { requiredKeys: [] },
    ),
    nodeRegistration: fc.record(
      { kubeletExtraArgs: words, ignorePreflightErrors: texts },
      { requiredKeys: [] },
    ),
    kubeletConfiguration: fc.dictionary(word, fc.nat(), { maxKeys: 3 }),
  },
  { requiredKeys: [] },
);

/** Now and then more than any cloud takes, and not to be packed: hexadecimal noise. */
const annotations = fc.oneof(
  { weight: 9, arbitrary: fc.dictionary(word, fc.string({ maxLength: 40 }), { maxKeys: 4 }) },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ minLength: 4_000, maxLength: 12_000 })
      .map((bytes) => ({ noise: Buffer.from(bytes).toString("base64") })),
  },
);

const machine: fc.Arbitrary<MachineToCompile> = fc
  .record({
    name: word,
    controlPlane: fc.boolean(),
    version: fc.constantFrom("1.25.16", "1.30.14", "1.31.14", "1.33.6", "1.35.0"),
    runtime: optional(
      fc.constantFrom(
        { name: "containerd", version: "1.7.27" },
        { name: "containerd", version: "2.1.5" },
        { name: "cri-o", version: "1.34.2" },
      ),
    ),
    labels: words,
    annotations,
    taints: fc.array(
      fc.record({
        key: word,
        effect: fc.constantFrom("NoSchedule" as const, "NoExecute" as const),
      }),
      { maxLength: 3 },
    ),
    isSchedulable: fc.boolean(),
    kubeadm: patch,
  })
  .map(({ name, controlPlane, version, runtime, isSchedulable, kubeadm, ...about }) => ({
    name,
    controlPlane,
    providerSpec: { kubeadm: asJson(kubeadm) },
    spec: {
      versions: {
        kubelet: version,
        ...(controlPlane && { controlPlane: version }),
        ...(runtime !== undefined && { containerRuntime: runtime }),
      },
      metadata: { labels: about.labels, annotations: about.annotations },
      taints: about.taints,
      ...(controlPlane && { roles: isSchedulable ? ["Master", "Node"] : ["Master"] }),
      providerSpec: {},
    },
  }));

const terms: fc.Arbitrary<UserDataTerms> = fc
  .record({
    format: fc.constantFrom("cloud-config" as const, "ignition" as const),
    source: fc.constantFrom("apt" as const, "image" as const),
    hasCloudController: fc.boolean(),
    counts: fc.constantFrom("plain" as const, "packed" as const),
    bytes: fc.constantFrom(16_384, 20_000),
  })
  .map(({ source, counts, bytes, ...rest }) => ({
    ...rest,
    limit: { counts, bytes },
    software: () => source,
    containerRuntime: { name: "containerd", version: "2.1.5" },
    commands: { name: "hostname", address: "hostname -i" },
  }));

const endpoint = { host: "api.example.org", port: 6443 };
const token = "plantd.0123456789abcdef";

describe("1,000 generated hosts", function () {
  this.timeout(300_000);
  let keys: ClusterKeys;
  before(async () => {
    keys = await newClusterKeys(Date.parse("2026-01-01T00:00:00Z"), "ECDSA-P256");
  });

  it("have configurations that kubeadm reads, fit or are refused before, and show no secret", () => {
    const planted = [keys.ca, keys.etcd, keys.frontProxy, keys.serviceAccount]
      .flatMap(({ privateKeyPem }) => privateKeyPem.split("\n"))
      .filter((line) => line !== "" && !line.startsWith("---"));
    assert.ok(planted.length > 10);
    const { cluster: object } = desiredOf([cluster()]);
    const seen = { fitting: 0, refused: 0 };
    const property = fc.property(machine, terms, fc.boolean(), (one, its, isFirst) => {
      assert.deepEqual(checkKubeadmPatch(asJson(one.providerSpec["kubeadm"] as object)), []);
      const joins = one.controlPlane ? "joinControlPlane" : "joinWorker";
      const kind = isFirst && one.controlPlane ? "init" : joins;
      const made = (role: HostRole) =>
        hostBootstrap(hostSettings({ cluster: object, machine: one, terms: its, endpoint, role }));
      const real = roleWith(kind, { keys, token, caCertHashes: [`sha256:${"a".repeat(64)}`] });
      const bootstrap = made(real);
      const text = userDataOf(bootstrap, its.format);
      assert.equal(text, userDataOf(made(real), its.format));
      const configuration = bootstrap.files.find(({ path }) => path.endsWith("/kubeadm.yaml"));
      for (const document of parseAllDocuments(configuration?.content ?? "")) {
        assert.deepEqual(document.errors, []);
        assert.deepEqual(misreadIn(document.toJS() as Record<string, unknown>), []);
      }
      const misfit = misfitOf(object, one, its);
      assert.deepEqual(misfitOf(object, one, its), misfit);
      const { counts, bytes } = its.limit ?? assert.fail();
      const size = counts === "packed" ? packedUserData(text).length : Buffer.byteLength(text);
      if (misfit === undefined) assert.ok(size <= bytes, `${size} of ${bytes} bytes`);
      else assert.match(misfit.reason, /would take \d+ bytes/);
      seen[misfit === undefined ? "fitting" : "refused"] += 1;
      const shown = made(roleWith(kind, maskedSecrets(keys)));
      const masked = JSON.stringify(shown.files) + userDataOf(shown, its.format);
      const decoded = masked.replace(/base64,([\w+/=]+)/g, (_, content: string) =>
        Buffer.from(content, "base64").toString(),
      );
      for (const secret of [...planted, token]) assert.ok(!decoded.includes(secret), secret);
    });
    assertLaw(property, 1_000);
    assert.ok(seen.fitting > 100 && seen.refused > 10, JSON.stringify(seen));
  });
});
