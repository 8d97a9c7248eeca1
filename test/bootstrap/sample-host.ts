import type { HostSettings } from "../../src/bootstrap/host/host-bootstrap.js";
import { criSocketOf } from "../../src/bootstrap/host/software.js";
import type { ClusterSettings, NodeSettings } from "../../src/bootstrap/kubeadm/settings.js";

/** By its form a token of kubeadm. */
export const sampleToken = "abcdef.0123456789abcdef";

/** Everything that can be set is; the cluster has addresses of both families. */
export const sampleCluster: ClusterSettings = {
  name: "prod",
  endpoint: { host: "api.example.org", port: 6443 },
  serviceCidrs: ["10.96.0.0/16", "fd00:10:96::/112"],
  podCidrs: ["192.168.0.0/16", "fd00:10:244::/56"],
  serviceDomain: "cluster.local",
  keyAlgorithm: "ECDSA-P256",
  extraSans: ["kubernetes.example.org", "198.51.100.7"],
  hasCloudController: true,
};

/** As `sampleCluster`. */
export const sampleNode: NodeSettings = {
  name: "host-1",
  address: "192.0.2.11",
  kubernetesVersion: "1.35.3",
  criSocket: criSocketOf("containerd"),
  labels: { pool: "a", "example.org/team": "web" },
  taints: [
    { key: "dedicated", value: "gpu", effect: "NoSchedule" },
    { key: "example.org/draining", effect: "NoExecute" },
  ],
  isSchedulable: false,
  providerId: "sample://zone-a/host-1",
  kubeletArgs: { "node-status-max-images": "60" },
  kubeletConfiguration: { maxPods: 40, evictionHard: { "memory.available": "5%" } },
};

/** A host with the software of its node's version from packages. */
export function sampleHost(
  role: HostSettings["role"],
  cluster: Partial<ClusterSettings> = {},
  node: Partial<NodeSettings> = {},
): HostSettings {
  return {
    cluster: { ...sampleCluster, ...cluster },
    node: { ...sampleNode, ...node },
    role,
    runtime: { name: "containerd", version: "2.1.4" },
    source: "apt",
  };
}
