import assert from "node:assert/strict";
import { parse } from "yaml";
import { addonImage, addons } from "../../src/bootstrap/kubeadm/addon-images.js";
import type { KubeadmObject } from "../../src/bootstrap/kubeadm/configuration.js";
import { changeOfKubeadmConfig } from "../../src/bootstrap/kubeadm/kubeadm-config.js";
import { mergedPatches } from "../../src/bootstrap/kubeadm/patch.js";

const wanted = (
  kubernetesVersion: string,
  more: Readonly<Record<string, unknown>> = {},
): KubeadmObject => ({
  apiVersion: "kubeadm.k8s.io/v1beta4",
  kind: "ClusterConfiguration",
  apiServer: { certSANs: ["api.example.org"] },
  controllerManager: { extraArgs: [] },
  clusterName: "prod",
  kubernetesVersion: `v${kubernetesVersion}`,
  controlPlaneEndpoint: "api.example.org:6443",
  encryptionAlgorithm: "ECDSA-P256",
  networking: { serviceSubnet: "10.96.0.0/16", podSubnet: "192.168.0.0/16", dnsDomain: "a" },
  ...more,
});

/** As `kubeadm init` 1.34.2 has left it. */
const present = `apiServer:
  certSANs:
  - api.example.org
apiVersion: kubeadm.k8s.io/v1beta4
caCertificateValidityPeriod: 87600h0m0s
certificateValidityPeriod: 8760h0m0s
certificatesDir: /etc/kubernetes/pki
clusterName: prod
controlPlaneEndpoint: api.example.org:6443
controllerManager: {}
dns: {}
encryptionAlgorithm: ECDSA-P256
etcd:
  local:
    dataDir: /var/lib/etcd
imageRepository: registry.k8s.io
kind: ClusterConfiguration
kubernetesVersion: v1.34.2
networking:
  dnsDomain: a
  podSubnet: 192.168.0.0/16
  serviceSubnet: 10.96.0.0/16
proxy: {}
scheduler: {}
`;

describe("the ConfigMap kubeadm-config of a living cluster", () => {
  it("stays as kubeadm init has left it while nothing else is wanted", () => {
    assert.equal(changeOfKubeadmConfig(present, wanted("1.34.2")), undefined);
  });

  it("says another version, and stays otherwise what it was", () => {
    const change = changeOfKubeadmConfig(present, wanted("1.35.3"));
    assert.equal(change?.what, "kubernetesVersion v1.34.2 -> v1.35.3");
    const { kubernetesVersion, certificatesDir, networking } = parse(change.text) as ReturnType<
      typeof wanted
    >;
    assert.deepEqual(
      { kubernetesVersion, certificatesDir, networking },
      {
        kubernetesVersion: "v1.35.3",
        certificatesDir: "/etc/kubernetes/pki",
        networking: wanted("1.35.3")["networking"],
      },
    );
  });

  it("is not changed twice", () => {
    const apiServer = { extraArgs: [{ name: "event-ttl", value: "2h" }] };
    const asked = wanted("1.34.2", { apiServer });
    const change = changeOfKubeadmConfig(present, asked);
    assert.equal(change?.what, "apiServer", "values may be secrets");
    assert.equal(changeOfKubeadmConfig(change.text, asked), undefined);
    const back = changeOfKubeadmConfig(change.text, wanted("1.34.2"));
    assert.equal(changeOfKubeadmConfig(back?.text ?? "", wanted("1.34.2")), undefined);
  });

  it("loses a setting that is wanted no more", () => {
    const etcd = { local: { extraArgs: [{ name: "quota-backend-bytes", value: "8589934592" }] } };
    const change = changeOfKubeadmConfig(present, wanted("1.34.2", { etcd }));
    const back = changeOfKubeadmConfig(change?.text ?? "", wanted("1.34.2"));
    assert.equal("etcd" in (parse(back?.text ?? "") as object), false);
  });

  it("keeps the networks and the name that the cluster began with", () => {
    const other = wanted("1.34.2", { clusterName: "other", networking: { dnsDomain: "b" } });
    assert.equal(changeOfKubeadmConfig(present, other), undefined);
  });
});

describe("what several members say of their control plane", () => {
  it("is put together, and the first one's value counts", () => {
    const volume = (hostPath: string) => ({ name: "audit", hostPath, mountPath: "/audit" });
    assert.deepEqual(
      mergedPatches([
        { apiServer: { extraArgs: { v: "2" }, extraVolumes: [volume("/a")] } },
        { apiServer: { extraArgs: { v: "4", "event-ttl": "2h" }, extraVolumes: [volume("/b")] } },
        { etcd: { local: { imageTag: "3.6.5-0" } } },
      ]),
      {
        apiServer: { extraArgs: { v: "2", "event-ttl": "2h" }, extraVolumes: [volume("/a")] },
        etcd: { local: { imageTag: "3.6.5-0" } },
      },
    );
  });
});

describe("images of addons beside a control plane", () => {
  const [kubeProxy, coreDns] = [addons[0]!, addons[1]!];
  const at = "registry.k8s.io";
  const cases = [
    {
      name: "kube-proxy has its version",
      addon: kubeProxy,
      present: `${at}/kube-proxy:v1.34.2`,
      want: `${at}/kube-proxy:v1.35.3`,
    },
    { name: "kube-proxy that has it stays", addon: kubeProxy, present: `${at}/kube-proxy:v1.35.3` },
    {
      name: "kube-proxy stays in the registry of its present image",
      addon: kubeProxy,
      present: "mirror.example.org:5000/kube-proxy:v1.34.2",
      want: "mirror.example.org:5000/kube-proxy:v1.35.3",
    },
    {
      name: "kube-proxy moves to the registry of the configuration",
      addon: kubeProxy,
      present: `${at}/kube-proxy:v1.35.3`,
      more: { imageRepository: "mirror.example.org" },
      want: "mirror.example.org/kube-proxy:v1.35.3",
    },
    { name: "a build of one's own stays", addon: kubeProxy, present: `${at}/kube-proxy:v1.34.2-a` },
    { name: "a digest stays", addon: kubeProxy, present: `${at}/kube-proxy@sha256:abc` },
    { name: "another program stays", addon: kubeProxy, present: `${at}/proxy:v1.34.2` },
    {
      name: "CoreDNS has the version that kubeadm deploys",
      addon: coreDns,
      present: `${at}/coredns/coredns:v1.12.1`,
      want: `${at}/coredns/coredns:v1.13.1`,
    },
    { name: "CoreDNS of its own stays", addon: coreDns, present: `${at}/coredns/coredns:v1.12.9` },
    {
      name: "CoreDNS has the version that the configuration names",
      addon: coreDns,
      present: `${at}/coredns/coredns:v1.12.1`,
      more: { dns: { imageTag: "v1.12.4" } },
      want: `${at}/coredns/coredns:v1.12.4`,
    },
    {
      name: "CoreDNS has a folder of its own in Kubernetes' registry alone",
      addon: coreDns,
      present: `${at}/coredns/coredns:v1.13.1`,
      more: { imageRepository: "mirror.example.org" },
      want: "mirror.example.org/coredns:v1.13.1",
    },
  ];
  for (const { name, addon, present: image, more, want } of cases) {
    it(name, () => {
      assert.equal(addonImage(addon, image, wanted("1.35.3", more)), want);
    });
  }
});
