import type { HostAdditions } from "../../src/api/host-additions.js";
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

/** Everything that a user can add, with texts that a shell could misread. */
export const sampleAdditions: HostAdditions = {
  files: [
    { path: "/etc/audit/rules.d/k8s.rules", content: "-w /etc/kubernetes\n" },
    {
      path: "/opt/it/run",
      content: '#!/bin/sh\necho "it\'s $HOME"\n',
      permissions: "0750",
      owner: "daemon:adm",
    },
  ],
  packages: ["nfs-common", "jq=1.7.*"],
  aptMirrors: {
    distribution: "https://mirror.example.org/ubuntu/",
    kubernetes: "https://mirror.example.org/k8s",
    docker: "http://[2001:db8::1]:8081/docker",
  },
  proxy: { https: "http://user:p%40ss@proxy.example.org:3128/", no: ["10.0.0.0/16", "*.corp"] },
  preKubeadmCommands: ['echo "it\'s $HOME" > /run/before', "exit 0"],
  postKubeadmCommands: ["for i in 1 2; do echo $i; done\ncat /run/before"],
};

/** User data of a user's own, around our script. */
export const sampleTemplates = {
  cloudConfig: [
    "#cloud-config",
    "# {{ clusterName }}: {{ role }} with {{ kubernetesVersion }} and {{kubeletVersion}}",
    "ntp:",
    "  servers: [ntp.example.org]",
    "write_files:",
    "  - path: /run/node.sh",
    "    encoding: gz+b64",
    "    content: {{ bootstrapScript }}",
    "runcmd:",
    "  - [sh, /run/node.sh]",
    "",
  ].join("\n"),
  script: "#!/bin/sh\necho {{ bootstrapScript }} | base64 -d | gunzip | sh\n",
  ignition: JSON.stringify({
    ignition: { version: "3.4.0" },
    storage: {
      files: [
        {
          path: "/opt/node.sh",
          contents: { compression: "gzip", source: "data:;base64,{{ bootstrapScript }}" },
        },
      ],
    },
    systemd: {
      units: [
        {
          name: "node.service",
          enabled: true,
          contents:
            "[Service]\nType=oneshot\nExecStart=sh /opt/node.sh\n[Install]\nWantedBy=multi-user.target\n",
        },
      ],
    },
  }),
};
