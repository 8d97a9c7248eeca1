/** A Cluster and its workers as a user writes them. */
export function demoText(members: {
  readonly replicas?: string;
  readonly kubelet?: string;
  /** A line of the Cluster's providerSpec; none without. */
  readonly cluster?: string;
  /** A line of the workers' providerSpec. */
  readonly machine?: string;
  readonly size?: string;
  /** Lines of the workers' metadata, each with its end. */
  readonly more?: string;
}): string {
  const { replicas = "2", kubelet = "1.34.2", size = "small", more = "" } = members;
  const { cluster, machine = `size: ${size}` } = members;
  return `apiVersion: cluster.k8s.io/v1alpha1
kind: Cluster
metadata: { name: demo }
spec:
  clusterNetwork:
    serviceDomain: cluster.local
    services: { cidrBlocks: [10.96.0.0/12] }
    pods: { cidrBlocks: [192.168.0.0/16] }
  providerSpec:
    value:
      apiVersion: local.capstan.dev/v1alpha1
      kind: LocalClusterProviderSpec
${cluster === undefined ? "" : `      ${cluster}\n`}---
apiVersion: cluster.k8s.io/v1alpha1
kind: MachineDeployment
metadata:
  name: workers
  labels: { cluster.k8s.io/cluster-name: demo }
${more}spec:
  replicas: ${replicas}
  selector: { matchLabels: { pool: workers } }
  template:
    metadata:
      labels: { pool: workers, cluster.k8s.io/cluster-name: demo }
    spec:
      versions: { kubelet: ${kubelet} }
      providerSpec:
        value:
          apiVersion: local.capstan.dev/v1alpha1
          kind: LocalMachineProviderSpec
          ${machine}
`;
}
