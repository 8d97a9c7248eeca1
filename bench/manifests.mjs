// The cluster that capstan is measured with.

const apiVersion = "cluster.k8s.io/v1alpha1";

/**
 * @param {{ machines: number, diskGib: number }} wanted
 * @returns {string} YAML: a cluster of n machines, one of them the control plane
 */
export function clusterManifests({ machines, diskGib }) {
  const spec = machineSpec({ diskGib });
  return [
    cluster(machines),
    `apiVersion: ${apiVersion}
kind: Machine
metadata:
  name: cp-0
  labels: { cluster.k8s.io/cluster-name: bench }
spec:
${indented(2, machineSpec({ diskGib, controlPlane: true }))}`,
    `apiVersion: ${apiVersion}
kind: MachineDeployment
metadata:
  name: workers
  labels: { cluster.k8s.io/cluster-name: bench }
spec:
  replicas: ${machines - 1}
  # The others change everything at once, too; without it an update takes a wave for each machine.
  strategy: { rollingUpdate: { maxUnavailable: 100% } }
  selector: { matchLabels: { set: workers } }
  template:
    metadata: { labels: { set: workers } }
    spec:
${indented(6, spec)}`,
  ].join("\n---\n");
}

/**
 * No boot time: what is left is capstan.
 *
 * @param {number} machines
 */
function cluster(machines) {
  return `apiVersion: ${apiVersion}
kind: Cluster
metadata:
  name: bench
spec:
  clusterNetwork:
    services: { cidrBlocks: [10.96.0.0/12] }
    pods: { cidrBlocks: [192.168.0.0/16] }
    serviceDomain: cluster.local
  providerSpec:
    value:
      apiVersion: local.capstan.dev/v1alpha1
      kind: LocalClusterProviderSpec
      networkCidr: 10.0.0.0/16
      machineQuota: ${machines}
      bootMs: 0`;
}

/** @param {{ diskGib: number, controlPlane?: boolean }} machine */
function machineSpec({ diskGib, controlPlane = false }) {
  const versions = controlPlane ? "kubelet: 1.34.2, controlPlane: 1.34.2" : "kubelet: 1.34.2";
  return `versions: { ${versions} }
providerSpec:
  value:
    apiVersion: local.capstan.dev/v1alpha1
    kind: LocalMachineProviderSpec
    size: small
    diskGib: ${diskGib}`;
}

/**
 * @param {number} spaces
 * @param {string} text
 */
function indented(spaces, text) {
  return text.replace(/^/gm, " ".repeat(spaces));
}
