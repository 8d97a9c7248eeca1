import { localApiVersion as apiVersion } from "../../providers/local/specs.js";
import { apiVersion as api, clusterNameLabel } from "../../src/api/schema.js";
import { clusterNetwork, leaderElection } from "../support/manifests.js";

/** What a test says of a machine and its Node; the rest is the same for all. */
export interface NodesMachine {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly taints?: readonly object[];
  /** What runs on the host before kubeadm does. */
  readonly preKubeadmCommands?: readonly string[];
  /** Of a member's API server, by their names. */
  readonly apiServerArgs?: Readonly<Record<string, string>>;
}

/** One cluster: members of its control plane by name, and a set of workers. */
export interface NodesCluster {
  readonly members: Readonly<Record<string, NodesMachine>>;
  readonly workers: { readonly replicas: number; readonly template: NodesMachine };
}

const name = "prod";
export const stack = `default/${name}`;
const metadata = { labels: { [clusterNameLabel]: name } };

/** Its objects as a user writes them. */
export function clusterObjects(version: string, { members, workers }: NodesCluster): object[] {
  const selected = { set: "workers" };
  return [
    {
      apiVersion: api,
      kind: "Cluster",
      metadata: { name },
      spec: {
        clusterNetwork: clusterNetwork(),
        providerSpec: { value: { apiVersion, kind: "LocalClusterProviderSpec", nodes: "kubeadm" } },
      },
    },
    ...Object.entries(members).map(([member, machine]) => ({
      apiVersion: api,
      kind: "Machine",
      metadata: { ...metadata, name: member },
      spec: machineSpec({ kubelet: version, controlPlane: version }, machine, {
        clusterConfiguration: clusterConfigurationOf(machine),
      }),
    })),
    {
      apiVersion: api,
      kind: "MachineDeployment",
      metadata: { ...metadata, name: "workers" },
      spec: {
        replicas: workers.replicas,
        selector: { matchLabels: selected },
        template: {
          metadata: { labels: selected },
          spec: machineSpec({ kubelet: version }, workers.template),
        },
      },
    },
  ];
}

function machineSpec(versions: object, machine: NodesMachine, ofMember: object = {}) {
  const { labels = {}, annotations = {}, taints = [] } = machine;
  const bootstrap = { preKubeadmCommands: machine.preKubeadmCommands ?? [] };
  const kubeadm = { kubeletConfiguration, ...ofMember };
  const value = { apiVersion, kind: "LocalMachineProviderSpec", bootstrap, kubeadm };
  return { metadata: { labels, annotations }, taints, versions, providerSpec: { value } };
}

/** Reaches each kubelet as a patch of kubeadm's. The image says the same: the machine may have cgroups of version 1, and swap. */
export const kubeletConfiguration = { failCgroupV1: false, failSwapOn: false };

/** A request to an etcd without its quorum, and an API server that is to end, take so long; the default is a minute. */
const requestTimeout = { "request-timeout": "10s" };

/** The tests wait for the control plane to miss a dead kubelet or a dead member: it does so early. */
function clusterConfigurationOf({ apiServerArgs = {} }: NodesMachine) {
  return {
    apiServer: { extraArgs: { ...requestTimeout, ...apiServerArgs } },
    controllerManager: { extraArgs: { ...leaderElection, "node-monitor-grace-period": "16s" } },
    scheduler: { extraArgs: leaderElection },
  };
}

/** What finds workers unhealthy whose kubelets do not answer. */
export const workersCheck = {
  apiVersion: api,
  kind: "MachineHealthCheck",
  metadata: { name: "workers" },
  spec: {
    clusterName: name,
    selector: { matchLabels: { set: "workers" } },
    checks: {
      unhealthyNodeConditions: [{ type: "Ready", status: "Unknown", timeoutSeconds: 1 }],
    },
  },
};
