import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { findKubernetesNode, kubeadmVersions, kubernetesVersion } from "#kubernetes";
import { keyAlgorithms } from "../../src/api/key-algorithm.js";
import { minorOf } from "../../src/api/versions.js";
import { type ClusterKeys, newClusterKeys } from "../../src/bootstrap/certificates/cluster-keys.js";
import { hostBootstrap, type HostSettings } from "../../src/bootstrap/host/host-bootstrap.js";
import { sandboxImageOf } from "../../src/bootstrap/host/software.js";
import type { ClusterSettings, NodeSettings } from "../../src/bootstrap/kubeadm/settings.js";
import { assertAccepted, endOf, type ProgramEnd, KubeadmHost } from "../support/kubeadm-host.js";
import { scratchFolder } from "../support/scratch.js";
import { sampleCluster, sampleHost, sampleNode, sampleToken } from "./sample-host.js";
import { assertAsyncLaw } from "../support/laws.js";
import { removeFolder } from "../support/folders.js";

const configuration = "/etc/kubernetes/kubeadm.yaml";
const join1 = { token: sampleToken, caCertHashes: [`sha256:${"a".repeat(64)}`] };

const networks = fc.constantFrom<Pick<ClusterSettings, "serviceCidrs" | "podCidrs">>(
  { serviceCidrs: ["10.96.0.0/12"], podCidrs: ["192.168.0.0/16"] },
  { serviceCidrs: ["fd00:10:96::/112"], podCidrs: ["fd00:10:244::/56"] },
  sampleCluster,
);
const clusters: fc.Arbitrary<Partial<ClusterSettings>> = fc
  .record({
    name: fc.stringMatching(/^[a-z][a-z0-9-]{0,30}[a-z0-9]$/),
    host: fc.constantFrom("api.example.org", "198.51.100.7", "2001:db8::7"),
    port: fc.constantFrom(443, 6443, 16443),
    serviceDomain: fc.constantFrom("cluster.local", "prod.example.org"),
    extraSans: fc.subarray(["a.example.org", "*.example.org", "10.0.0.9", "2001:db8::9"]),
    hasCloudController: fc.boolean(),
    keyAlgorithm: fc.constantFrom(...keyAlgorithms),
    network: networks,
  })
  .map(({ host, port, network: { serviceCidrs, podCidrs }, ...rest }) => ({
    ...rest,
    serviceCidrs,
    podCidrs,
    endpoint: { host, port },
  }));
/** Some of them are no texts in YAML, or were none once. */
const word = fc.oneof(
  fc.stringMatching(/^[a-z][a-z0-9]{0,20}$/),
  fc.constantFrom("y", "no", "on", "null", "true", "1e3", "0x1f", "0644", "1_000", "2026-01-01"),
);
const nodes: fc.Arbitrary<Partial<NodeSettings>> = fc.record({
  name: fc.oneof(
    fc.stringMatching(/^[a-z]([a-z0-9-]{0,40}[a-z0-9])?$/),
    fc.constantFrom("y", "on", "1234", "12e3"),
  ),
  address: fc.constantFrom("192.0.2.11", "2001:db8::11"),
  labels: fc.dictionary(fc.constantFrom("pool", "example.org/a", "node.kubernetes.io/b"), word),
  taints: fc.array(
    fc.record({
      key: fc.constantFrom("dedicated", "example.org/x"),
      value: word,
      effect: fc.constantFrom("NoSchedule", "PreferNoSchedule", "NoExecute"),
    }),
    { maxLength: 3 },
  ),
  isSchedulable: fc.boolean(),
  kubeletArgs: fc.constantFrom({}, { v: "4" }, { "image-credential-provider-bin-dir": "/opt/x y" }),
  kubeletConfiguration: fc.constantFrom({}, { maxPods: 40 }, { cgroupDriver: "cgroupfs" }),
});

describe("kubeadm of three minors", () => {
  const scratch = scratchFolder();
  let keys: ClusterKeys;
  before(async () => {
    keys = await newClusterKeys(Date.now(), "ECDSA-P256");
  });

  const roles = (): Record<HostSettings["role"]["kind"], HostSettings["role"]> => ({
    init: { kind: "init", keys, token: sampleToken },
    joinControlPlane: { kind: "joinControlPlane", keys, join: join1 },
    joinWorker: { kind: "joinWorker", join: join1 },
  });
  const hostOf = (settings: HostSettings): KubeadmHost =>
    new KubeadmHost(join(scratch.path, "host"), hostBootstrap(settings));
  const validate = (host: KubeadmHost, version: string): Promise<ProgramEnd> =>
    host.kubeadm(version, "config", "validate");

  /** What kubeadm tells that it would do. */
  const initializeDry = async (host: KubeadmHost, version: string): Promise<string> => {
    // A dry run copies the first authority only, and makes those that are missing.
    for (const name of ["etcd", "front-proxy-ca.crt", "front-proxy-ca.key"]) {
      removeFolder(host.path(`/etc/kubernetes/pki/${name}`));
    }
    const args = ["init", "--dry-run", "--ignore-preflight-errors=all"];
    const ended = await host.kubeadm(version, ...args);
    assertAccepted(ended);
    return ended.output;
  };

  for (const kubernetesVersion of kubeadmVersions) {
    it(`${kubernetesVersion} finds every configuration valid`, async () => {
      const role = fc.constantFrom("init", "joinControlPlane", "joinWorker");
      await assertAsyncLaw(
        fc.asyncProperty(role, clusters, nodes, async (kind, cluster, node) => {
          const about = { ...node, kubernetesVersion };
          const host = hostOf(sampleHost(roles()[kind], cluster, about));
          const { code, output } = await validate(host, kubernetesVersion);
          const isTaken = code === 0 && !/deprecated|unknown|strict/.test(output);
          assert.ok(isTaken, `${output}\n${host.read(configuration)}`);
        }),
        40,
      );
    });

    it(`${kubernetesVersion} refuses a field that it does not know, and another field's value`, async () => {
      for (const kind of ["init", "joinControlPlane", "joinWorker"] as const) {
        const host = hostOf(sampleHost(roles()[kind], {}, { kubernetesVersion }));
        const text = host.read(configuration);
        for (const mutant of [
          text.replace("criSocket:", "crisocket:"),
          text.replace(/advertiseAddress: .*|token: .*/, (line) => line.replace(/: .*/, ": none")),
        ]) {
          assert.notEqual(mutant, text);
          writeFileSync(host.path(configuration), mutant);
          assert.notEqual((await validate(host, kubernetesVersion)).code, 0, mutant);
        }
      }
    });

    it(`${kubernetesVersion} would initialize a control plane`, async () => {
      const host = hostOf(sampleHost(roles().init, {}, { kubernetesVersion }));
      const output = await initializeDry(host, kubernetesVersion);
      const told = new Set(output.split("\n").map((line) => line.trim()));
      for (const expected of [
        "[certs] Using existing ca certificate authority",
        "- --service-cluster-ip-range=10.96.0.0/16,fd00:10:96::/112",
        "- --cluster-cidr=192.168.0.0/16,fd00:10:244::/56",
        "- --cloud-provider=external",
        "- --advertise-address=192.0.2.11",
      ]) {
        assert.ok(told.has(expected), `${expected} in\n${output}`);
      }
      const names = /apiserver serving cert is signed for (.*)/.exec(output)?.[1] ?? "";
      for (const name of ["api.example.org", "kubernetes.example.org", "198.51.100.7", "host-1"]) {
        assert.ok(names.includes(name), names);
      }
    });

    it(`${kubernetesVersion} makes keys of the kind that the cluster has, where it can`, async () => {
      for (const keyAlgorithm of keyAlgorithms) {
        const host = hostOf(sampleHost(roles().init, { keyAlgorithm }, { kubernetesVersion }));
        assertAccepted(
          await host.kubeadm(kubernetesVersion, "init", "phase", "certs", "apiserver"),
        );
        const { publicKey } = new X509Certificate(host.read("/etc/kubernetes/pki/apiserver.crt"));
        const { namedCurve, modulusLength } = publicKey.asymmetricKeyDetails ?? {};
        const made = namedCurve === undefined ? `RSA-${modulusLength}` : "ECDSA-P256";
        const isAsked = (minorOf(kubernetesVersion) ?? 0) >= 1031;
        assert.equal(made, isAsked ? keyAlgorithm : "RSA-2048");
        removeFolder(host.folder);
      }
    });

    it(`${kubernetesVersion} takes the pause image that containerd is told of`, async () => {
      const host = hostOf(sampleHost(roles().init, {}, { kubernetesVersion }));
      const { output } = await host.kubeadm(kubernetesVersion, "config", "images", "list");
      const image = sandboxImageOf(minorOf(kubernetesVersion) ?? 0);
      assert.ok(output.split("\n").includes(image), `${image} in\n${output}`);
    });
  }

  describe("and the kubelet that it starts", () => {
    /** What kubeadm says, and then the kubelet: without a cluster it ends, but not for its arguments if they are right. */
    const kubelet = async (node: Partial<NodeSettings>): Promise<string> => {
      const host = hostOf(sampleHost(roles().init, {}, node));
      const told = await initializeDry(host, kubernetesVersion);
      const [, line = ""] =
        /^KUBELET_KUBEADM_ARGS="(.*)"/.exec(host.readDry("kubeadm-flags.env")) ?? [];
      const config = host.path("/kubelet.yaml");
      const text = host.readDry("config.yaml").replaceAll("/etc/", host.path("/etc/"));
      // Whether the machine of the tests has the newer control groups is not what is judged.
      writeFileSync(config, `${text}failCgroupV1: false\n`);
      const binDir = findKubernetesNode(process.env);
      assert.ok(binDir !== undefined, "no kubelet: run npm test, which sets it up");
      const { folder } = host;
      const own = { config, kubeconfig: "/none.conf", "root-dir": folder, "cert-dir": folder };
      const args = Object.entries(own).map(([name, value]) => `--${name}=${value}`);
      const { output } = await endOf(join(binDir, "kubelet"), [...args, ...line.split(" ")]);
      return told + output;
    };
    const isTaken = (output: string): boolean =>
      /failed to run Kubelet: .*none\.conf/.test(output) && !output.includes("unknown field");

    it("takes its arguments and its configuration", async () => {
      const output = await kubelet({});
      assert.ok(isTaken(output), output);
    });

    it("is seen to refuse an argument, a label and a field that it does not take", async () => {
      for (const mutant of [
        { kubeletArgs: { "no-such-flag": "1" } },
        { labels: { "node-role.kubernetes.io/worker": "" } },
        { kubeletConfiguration: { maxPodz: 40 } },
      ]) {
        const output = await kubelet({ ...sampleNode, ...mutant });
        assert.ok(!isTaken(output), output);
      }
    });
  });
});
