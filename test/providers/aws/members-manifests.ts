const apiVersion = "awsprovider.k8s.io/v1alpha2";

const labels = { "cluster.k8s.io/cluster-name": "aws-members" };
const zones = ["eu-north-1a", "eu-north-1b", "eu-north-1c"];

/** What a cluster of three members over three zones and two workers is wanted to be. */
export interface MembersWish {
  readonly memberType?: string;
  readonly workerType?: string;
}

/** Its objects. */
export function membersManifests({
  memberType = "t3.medium",
  workerType = "t3.large",
}: MembersWish = {}): object[] {
  const machine = (fields: object, versions: object) => ({
    versions: { kubelet: "1.34.2", ...versions },
    providerSpec: {
      value: { apiVersion, kind: "AWSMachineProviderSpec", instanceProfile: "nodes", ...fields },
    },
  });
  const cluster = {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "Cluster",
    metadata: { name: "aws-members" },
    spec: {
      clusterNetwork: {
        services: { cidrBlocks: ["10.96.0.0/12"] },
        pods: { cidrBlocks: ["192.168.0.0/16"] },
        serviceDomain: "cluster.local",
      },
      providerSpec: {
        value: {
          apiVersion,
          kind: "AWSClusterProviderSpec",
          region: "eu-north-1",
          zones,
          natGateways: "one",
        },
      },
    },
  };
  const members = ["cp-0", "cp-1", "cp-2"].map((name) => ({
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "Machine",
    metadata: { name, labels },
    spec: machine({ instanceType: memberType }, { controlPlane: "1.34.2" }),
  }));
  const workers = {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "MachineDeployment",
    metadata: { name: "workers", labels },
    spec: {
      replicas: 2,
      selector: { matchLabels: { set: "workers" } },
      template: {
        metadata: { labels: { set: "workers" } },
        spec: machine({ instanceType: workerType }, {}),
      },
    },
  };
  return [cluster, ...members, workers];
}
