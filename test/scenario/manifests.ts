import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { clusterNetwork } from "../support/manifests.js";

const clusterApi = "cluster.k8s.io/v1alpha1";
const localApi = "local.capstan.dev/v1alpha1";

export interface ScenarioMachine {
  readonly size?: "small" | "medium" | "large";
  readonly diskGib?: number;
  readonly imageFamily?: string;
  readonly bootMs?: number;
  readonly joinMs?: number;
  readonly otherSizes?: readonly string[];
  readonly spot?: boolean;
  readonly dataVolume?: { readonly gib: number; readonly whenHostGoes?: "keep" };
  readonly tags?: Readonly<Record<string, string>>;
  readonly kubelet?: string;
  readonly controlPlane?: boolean;
  readonly annotations?: Record<string, string>;
}

/** A MachineDeployment; its fields as a user writes them. */
export interface ScenarioDeployment {
  readonly replicas: number;
  readonly maxSurge?: number | string;
  readonly maxUnavailable?: number | string;
  readonly progressDeadlineSeconds?: number;
  readonly minReadySeconds?: number;
  readonly template?: ScenarioMachine;
}

export interface ScenarioCluster {
  readonly name?: string;
  readonly annotations?: Record<string, string>;
  readonly machineQuota?: number;
  readonly failureDomains?: readonly string[];
  readonly networkCidr?: string;
  /** Id of a network that is there. */
  readonly network?: string;
  readonly machines: Readonly<Record<string, ScenarioMachine>>;
  readonly deployments?: Readonly<Record<string, ScenarioDeployment>>;
}

/** Annotations of a cluster that a test takes all workers from. */
export const mayLoseWorkers = { "capstan.dev/allow-removal": "workers" };

/** The stack of a cluster that `writeManifests` writes without a name. */
export const demoStack = "default.demo";

/** A cluster whose hosts boot at once, as one file in the folder. Replaces what was there. */
export function writeManifests(folder: string, shape: ScenarioCluster): void {
  const name = shape.name ?? "demo";
  const machines = Object.entries(shape.machines).map(([machine, one]) =>
    machineObject(machine, name, one),
  );
  const deployments = Object.entries(shape.deployments ?? {}).map(([deployment, one]) =>
    deploymentObject(deployment, name, one),
  );
  writeObjects(folder, [clusterObject(name, shape), ...machines, ...deployments]);
}

/** Objects as a user would write them, as one file in the folder. Replaces what was there. */
export function writeObjects(folder: string, objects: readonly object[]): void {
  writeFileSync(join(folder, "cluster.yaml"), objects.map((one) => stringify(one)).join("---\n"));
}

function clusterObject(name: string, shape: ScenarioCluster) {
  const { annotations, machineQuota, failureDomains, networkCidr, network } = shape;
  return {
    apiVersion: clusterApi,
    kind: "Cluster",
    metadata: { name, ...(annotations && { annotations }) },
    spec: {
      clusterNetwork: clusterNetwork(),
      providerSpec: {
        value: {
          apiVersion: localApi,
          kind: "LocalClusterProviderSpec",
          networkCidr: networkCidr ?? "10.0.0.0/16",
          bootMs: 0,
          ...(failureDomains !== undefined && { failureDomains }),
          ...(machineQuota !== undefined && { machineQuota }),
          ...(network !== undefined && { network }),
        },
      },
    },
  };
}

function machineObject(name: string, cluster: string, { annotations, ...shape }: ScenarioMachine) {
  const labels = { "cluster.k8s.io/cluster-name": cluster };
  return {
    apiVersion: clusterApi,
    kind: "Machine",
    metadata: { name, labels, ...(annotations && { annotations }) },
    spec: machineSpec(shape),
  };
}

function deploymentObject(name: string, cluster: string, shape: ScenarioDeployment) {
  const { replicas, maxSurge, maxUnavailable, template = {}, ...seconds } = shape;
  return {
    apiVersion: clusterApi,
    kind: "MachineDeployment",
    metadata: { name, labels: { "cluster.k8s.io/cluster-name": cluster } },
    spec: {
      replicas,
      selector: { matchLabels: { set: name } },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } },
      ...seconds,
      template: { metadata: { labels: { set: name } }, spec: machineSpec(template) },
    },
  };
}

function machineSpec({ kubelet = "1.34.2", controlPlane = false, ...host }: ScenarioMachine) {
  return {
    versions: { kubelet, ...(controlPlane && { controlPlane: kubelet }) },
    providerSpec: { value: { apiVersion: localApi, kind: "LocalMachineProviderSpec", ...host } },
  };
}
