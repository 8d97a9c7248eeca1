import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "../../src/api/json.js";
import { clusterNameLabel } from "../../src/api/schema.js";
import {
  defineProvider,
  hostSpecOf,
  type Identity,
  type InfrastructureProvider,
  type MachineCalls,
  type Observed,
  type ProviderDefinition,
} from "../../src/provider/index.js";
import { type Manifest, testCluster } from "./manifests.js";

// A provider that has moved on: its first release measures memory in megabytes, the second one in gibibytes.

export const alpha = "evolving.example.dev/v1alpha1";
export const beta = "evolving.example.dev/v1beta1";
export const clusterKind = "EvolvingClusterProviderSpec";
export const machineKind = "EvolvingMachineProviderSpec";

const zone = { type: "string", default: "north" };
const alphaMachine = {
  properties: { memory: { type: "integer", minimum: 1024, default: 4096 }, zone },
};
const alphaCluster = { properties: { cidr: { type: "string", default: "10.0.0.0/16" } } };
const betaMachine = {
  properties: { memoryGib: { type: "number", minimum: 1, default: 4 }, zone },
};
const betaCluster = { properties: { networkCidr: { type: "string", default: "10.0.0.0/16" } } };

/** What both releases have in common. */
type Shared = Pick<ProviderDefinition, "name" | "machine" | "hostKind">;

function firstRelease(shared: Shared): InfrastructureProvider {
  return defineProvider({
    ...shared,
    apiVersion: alpha,
    clusterSpec: { kind: clusterKind, schema: alphaCluster, networks: ["cidr"] },
    machineSpec: { kind: machineKind, schema: alphaMachine },
  });
}

function secondRelease(shared: Shared): InfrastructureProvider {
  return defineProvider({
    ...shared,
    apiVersion: beta,
    clusterSpec: { kind: clusterKind, schema: betaCluster, networks: ["networkCidr"] },
    machineSpec: { kind: machineKind, schema: betaMachine },
    olderVersions: [
      {
        apiVersion: alpha,
        deprecated: true,
        clusterSpec: {
          schema: alphaCluster,
          networks: ["cidr"],
          convert: ({ cidr, ...same }) => ({ ...same, networkCidr: cidr ?? "" }),
        },
        machineSpec: {
          schema: alphaMachine,
          convert: ({ memory, ...same }) => ({ ...same, memoryGib: Number(memory) / 1024 }),
        },
      },
    ],
    // Hosts that exist are recorded with their memory in megabytes.
    hostSpec: (machine) => {
      const { memoryGib, ...same } = machine.providerSpec;
      const providerSpec = { ...same, memory: Number(memoryGib) * 1024 };
      return hostSpecOf({ ...machine, providerSpec }, alphaMachine);
    },
  });
}

/** One release of it, on a cloud that is a folder with a file for each machine. */
export function evolvingProvider(release: "first" | "second", folder = ""): InfrastructureProvider {
  const shared = { name: "evolving", hostKind: "EvolvingHost", machine: folderCalls(folder) };
  return release === "first" ? firstRelease(shared) : secondRelease(shared);
}

function folderCalls(folder: string): MachineCalls {
  const idOf = (who: Identity) => `${who.name}.${who.token.slice(0, 8)}`;
  const fileOf = (id: string) => join(folder, `${id}.json`);
  const read = (id: string) =>
    existsSync(fileOf(id)) ? (JSON.parse(readFileSync(fileOf(id), "utf8")) as Observed) : undefined;
  const write = (machine: Observed) => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(fileOf(machine.id), JSON.stringify(machine));
    return machine;
  };
  const list = () =>
    existsSync(folder) ? readdirSync(folder).flatMap((name) => read(name.slice(0, -5)) ?? []) : [];
  return {
    locate: async (_ctx, who, id = idOf(who)) => {
      const resource = read(id);
      return resource === undefined ? { found: "none" } : { found: "one", resource };
    },
    create: async (_ctx, who, spec) =>
      read(idOf(who)) ?? write({ id: idOf(who), who, phase: "ready", spec, status: {} }),
    remove: async (_ctx, current) => void write({ ...current, phase: "gone" }),
    list: async () => list(),
  };
}

/** A Cluster of it, as a user writes one. */
export function evolvingCluster(apiVersion: string, fields: JsonObject = {}): Manifest {
  return {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "Cluster",
    metadata: { name: testCluster },
    spec: {
      clusterNetwork: {
        services: { cidrBlocks: ["10.96.0.0/12"] },
        pods: { cidrBlocks: ["192.168.0.0/16"] },
        serviceDomain: "cluster.local",
      },
      providerSpec: { value: { apiVersion, kind: clusterKind, ...fields } },
    },
  };
}

/** A Machine of it. */
export function evolvingMachine(name: string, apiVersion: string, fields: JsonObject = {}) {
  return {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "Machine",
    metadata: { name, labels: { [clusterNameLabel]: testCluster } },
    spec: {
      versions: { kubelet: "1.34.2" },
      providerSpec: { value: { apiVersion, kind: machineKind, ...fields } },
    },
  };
}

/** A MachineDeployment of it. */
export function evolvingDeployment(
  name: string,
  replicas: number,
  apiVersion: string,
  fields: JsonObject = {},
) {
  const { spec } = evolvingMachine(name, apiVersion, fields);
  const matchLabels = { set: name };
  return {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "MachineDeployment",
    metadata: { name, labels: { [clusterNameLabel]: testCluster } },
    spec: {
      replicas,
      selector: { matchLabels },
      template: { metadata: { labels: matchLabels }, spec },
    },
  };
}
