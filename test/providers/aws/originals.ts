// Objects of the examples of cluster-api-provider-aws 0.3 as its generate-yaml.sh makes them: their kinds, fields and forms,
// with names and values of our own. Source: cmd/clusterctl/examples/aws of
// https://github.com/kubernetes-sigs/cluster-api-provider-aws/tree/v0.3.9 (Apache-2.0).

/** The version that they have, which no kubeadm that is served today can make. */
export const originalVersion = "v1.14.4";

const name = "harbor";
const group = "awsprovider/v1alpha1";
const profile = (of: string) => `${of}.cluster-api-provider-aws.sigs.k8s.io`;

function clusterText(...further: readonly string[]): string {
  return [
    `apiVersion: "cluster.k8s.io/v1alpha1"`,
    `kind: Cluster`,
    `metadata:`,
    `  name: ${name}`,
    `spec:`,
    `  clusterNetwork:`,
    `    services:`,
    `      cidrBlocks: ["10.96.0.0/12"]`,
    `    pods:`,
    `      cidrBlocks: ["192.168.0.0/16"]`,
    `    serviceDomain: "cluster.local"`,
    `  providerSpec:`,
    `    value:`,
    `      apiVersion: "${group}"`,
    `      kind: "AWSClusterProviderSpec"`,
    `      region: "eu-north-1"`,
    `      sshKeyName: "operators"`,
    ...further.map((line) => `      ${line}`),
    ``,
  ].join("\n");
}

/** The lines of a Machine's spec. */
function specLines(role: "control-plane" | "nodes", versions: readonly string[]): string[] {
  return [
    `versions:`,
    ...versions.map((component) => `  ${component}: ${originalVersion}`),
    `providerSpec:`,
    `  value:`,
    `    apiVersion: ${group}`,
    `    kind: AWSMachineProviderSpec`,
    `    instanceType: "t3.large"`,
    `    iamInstanceProfile: "${profile(role)}"`,
    `    keyName: "operators"`,
  ];
}

function machineLines(naming: string, set: "controlplane" | "node"): string[] {
  const spec =
    set === "node"
      ? specLines("nodes", ["kubelet"])
      : specLines("control-plane", ["kubelet", "controlPlane"]);
  return [
    `  - apiVersion: "cluster.k8s.io/v1alpha1"`,
    `    kind: Machine`,
    `    metadata:`,
    `      ${naming}`,
    `      labels:`,
    `        cluster.k8s.io/cluster-name: ${name}`,
    `        set: ${set}`,
    `    spec:`,
    ...spec.map((line) => `      ${line}`),
  ];
}

function machineList(...machines: readonly (readonly string[])[]): string {
  const head = [`apiVersion: "cluster.k8s.io/v1alpha1"`, `kind: MachineList`, `items:`];
  return [...head, ...machines.flat(), ``].join("\n");
}

const member = (ordinal: number) =>
  machineLines(`name: ${name}-controlplane-${ordinal}`, "controlplane");

/** Each by the name of its template. */
export const originals = {
  cluster: clusterText(),
  "cluster-network-spec": clusterText(`networkSpec:`, `  vpc:`, `    id: "vpc-0harbor"`),
  "controlplane-machine": machineList(member(0)),
  "controlplane-machines-ha": machineList(member(0), member(1), member(2)),
  machines: machineList(member(0), machineLines(`generateName: ${name}-node-`, "node")),
  "machine-deployment": [
    `apiVersion: "cluster.k8s.io/v1alpha1"`,
    `kind: MachineDeployment`,
    `metadata:`,
    `  name: ${name}-machinedeployment`,
    `  labels:`,
    `    cluster.k8s.io/cluster-name: ${name}`,
    `spec:`,
    `  replicas: 1`,
    `  selector:`,
    `    matchLabels:`,
    `      cluster.k8s.io/cluster-name: ${name}`,
    `      set: node`,
    `  template:`,
    `    metadata:`,
    `      labels:`,
    `        cluster.k8s.io/cluster-name: ${name}`,
    `        set: node`,
    `    spec:`,
    ...specLines("nodes", ["kubelet"]).map((line) => `      ${line}`),
    ``,
  ].join("\n"),
} as const;

export type Original = keyof typeof originals;
