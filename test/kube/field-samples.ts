import { isJsonObject, type JsonObject } from "../../src/api/json.js";
import { isOpenObject, type JsonSchema, jsonSchemaOf } from "../../src/api/json-schema.js";
import { type Kind, schemas } from "../../src/api/schema.js";
import { localApiVersion } from "../../providers/local/specs.js";
import {
  cluster,
  healthCheck,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";

/** An object that uses some fields: what stands in `fields` is laid over a plain object of the kind. */
export interface FieldSample {
  readonly kind: Kind;
  /** None takes a member away. */
  readonly fields: JsonObject;
}

const small = {
  apiVersion: localApiVersion,
  kind: "LocalMachineProviderSpec",
  size: "large",
  tags: { team: "a" },
};

export const machineClass: Manifest = {
  apiVersion: "cluster.k8s.io/v1alpha1",
  kind: "MachineClass",
  metadata: { name: "big" },
  providerSpec: small,
};

export const clusterClass: Manifest = {
  apiVersion: "cluster.k8s.io/v1alpha1",
  kind: "MachineClass",
  metadata: { name: "network" },
  providerSpec: { apiVersion: localApiVersion, kind: "LocalClusterProviderSpec", bootMs: 7 },
};

const plain: Readonly<Record<Kind, Manifest>> = {
  Cluster: cluster(),
  Machine: machine("m"),
  MachineSet: machineSet("s", 2),
  MachineDeployment: machineDeployment("d", 2),
  MachineClass: machineClass,
  MachineDrainRule: {
    apiVersion: "cluster.k8s.io/v1alpha1",
    kind: "MachineDrainRule",
    metadata: { name: "rule" },
    spec: { drain: { behavior: "Skip" } },
  },
  MachineHealthCheck: healthCheck("check"),
};

const metadata: readonly JsonObject[] = [
  { metadata: { labels: { "cluster.k8s.io/cluster-name": "prod", tier: "a" } } },
  { metadata: { annotations: { "example.com/note": "kept" } } },
];

const fromClass = (name: string) => ({
  providerSpec: { value: null, valueFrom: { machineClass: { name, provider: "local" } } },
});

const machineSpecs: readonly JsonObject[] = [
  { metadata: { labels: { node: "a" }, annotations: { node: "b" } } },
  { taints: [{ key: "dedicated", value: "gpu", effect: "NoSchedule" }] },
  { taints: [{ key: "old", effect: "NoExecute", timeAdded: "2026-05-04T10:11:12Z" }] },
  { providerSpec: { value: { ...small, image: "local/other", diskGib: 40 } } },
  fromClass("big"),
  { versions: { kubelet: "1.33.1", containerRuntime: { name: "containerd", version: "2.1.4" } } },
  { versions: { kubelet: "v1.34.2" } },
  { versions: null },
  { versions: { kubelet: "1.34.2", controlPlane: "1.34.2" }, roles: ["Master", "Node"] },
  { roles: ["Node"] },
  {
    configSource: {
      configMap: {
        name: "kubelet",
        namespace: "default",
        kubeletConfigKey: "kubelet",
        uid: "1",
        resourceVersion: "2",
      },
    },
  },
  { providerID: "local://somewhere" },
  {
    deletion: {
      nodeDrainTimeoutSeconds: 600,
      nodeVolumeDetachTimeoutSeconds: 0,
      nodeDeletionTimeoutSeconds: 10,
    },
  },
];

const inTemplate = (spec: JsonObject): JsonObject => ({ spec: { template: { spec } } });
const sets: readonly JsonObject[] = [
  ...machineSpecs.map(inTemplate),
  { spec: { template: { metadata: { labels: { zone: "a" }, annotations: { a: "b" } } } } },
  { spec: { replicas: null } },
  { spec: { replicas: 0 } },
  { spec: { minReadySeconds: 5 } },
  {
    spec: {
      selector: { matchLabels: { zone: "a" } },
      template: { metadata: { labels: { zone: "a" } } },
    },
  },
  {
    spec: {
      selector: {
        matchLabels: null,
        matchExpressions: [{ key: "zone", operator: "In", values: ["a", "b"] }],
      },
      template: { metadata: { labels: { zone: "a" } } },
    },
  },
];

/** Each of an entry's selectors in all of its forms. */
const selectors = (...names: readonly string[]) =>
  Object.fromEntries(
    names.map((name) => [
      name,
      { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "In", values: ["d"] }] },
    ]),
  );
const network = (fields: JsonObject): JsonObject => ({ spec: { clusterNetwork: fields } });
const byKind: Readonly<Record<Kind, readonly JsonObject[]>> = {
  Cluster: [
    network({ services: { cidrBlocks: ["10.112.0.0/16", "fd00:1::/108"] } }),
    network({ pods: { cidrBlocks: ["172.16.0.0/16"] }, serviceDomain: "example.org" }),
    { spec: { providerSpec: { value: { machineQuota: 9, failureDomains: ["local-b"] } } } },
    { spec: fromClass("network") },
  ],
  Machine: machineSpecs.map((spec) => ({ spec })),
  MachineSet: [...sets, { spec: { deletePolicy: "Newest" } }],
  MachineDeployment: [
    ...sets,
    { spec: { strategy: { type: "OnDelete" } } },
    { spec: { strategy: { rollingUpdate: { maxSurge: "50%", maxUnavailable: 1 } } } },
    { spec: { revisionHistoryLimit: 3 } },
    { spec: { paused: true } },
    { spec: { progressDeadlineSeconds: 0 } },
  ],
  MachineClass: [{ providerSpec: { diskGib: 30 } }],
  MachineDrainRule: [
    { spec: { drain: { behavior: "Drain", order: -5 } } },
    { spec: { drain: { behavior: "WaitCompleted" } } },
    { spec: { machines: [selectors("selector", "clusterSelector")] } },
    { spec: { pods: [selectors("selector", "namespaceSelector")] } },
  ],
  MachineHealthCheck: [
    { spec: { clusterName: "prod", ...selectors("selector") } },
    { spec: { checks: { nodeStartupTimeoutSeconds: 0, unhealthyNodeConditions: null } } },
    {
      spec: {
        checks: {
          unhealthyNodeConditions: [{ type: "Ready", status: "Unknown", timeoutSeconds: 0 }],
        },
      },
    },
    { spec: { remediation: { triggerIf: { unhealthyLessThanOrEqualTo: "40%" } } } },
    { spec: { remediation: { triggerIf: { unhealthyInRange: "[1-3]" } } } },
  ],
};

/** For each field that users write, at least one object with it. */
export const fieldSamples: readonly FieldSample[] = Object.entries(byKind).flatMap(([kind, own]) =>
  [...metadata, ...own].map((fields) => ({ kind: kind as Kind, fields })),
);

/** What an API server keeps, and files may carry: it is nobody's wish. */
const ofServer = new Set(
  ["uid", "resourceVersion", "generation", "creationTimestamp", "finalizers", "ownerReferences"]
    .map((field) => `metadata.${field}`)
    .concat("apiVersion", "kind", "metadata.name", "metadata.namespace", "status"),
);

/** Every field of a kind that users write, as its schema has it: "spec.taints.key". */
export function fieldsOf(kind: Kind): string[] {
  return leavesOf(jsonSchemaOf(schemas[kind])).filter((field) => !ofServer.has(field));
}

export function leavesOf(schema: JsonSchema, path: readonly string[] = []): string[] {
  if (schema.items?.properties !== undefined) return leavesOf(schema.items, path);
  if (schema.properties === undefined || isOpenObject(schema)) return [path.join(".")];
  return Object.entries(schema.properties).flatMap(([name, member]) =>
    leavesOf(member, [...path, name]),
  );
}

/** The fields that a sample writes. */
export function fieldsIn({ kind, fields }: FieldSample): string[] {
  return fieldsOf(kind).filter((field) => isWritten(fields, field.split(".")));
}

function isWritten(value: unknown, [name, ...rest]: readonly string[]): boolean {
  if (Array.isArray(value)) return value.some((item) => isWritten(item, [name ?? "", ...rest]));
  if (!isJsonObject(value) || name === undefined) return false;
  const member = value[name];
  if (member === undefined || member === null) return false;
  return rest.length === 0 || isWritten(member, rest);
}

/** The objects of a sample in a namespace: the one that it is about, and what that needs. */
export function objectsOfSample({ kind, fields }: FieldSample, namespace: string): Manifest[] {
  const object = laidOver(plain[kind], fields);
  const users =
    kind === "MachineClass" ? [laidOver(plain.Machine, { spec: fromClass("big") })] : [];
  // What rules select has to have labels.
  const labelled = laidOver(plain.Cluster, { metadata: { labels: { tier: "a" } } });
  const ofCluster = kind === "MachineDrainRule" ? labelled : plain.Cluster;
  const others = [ofCluster, machineClass, clusterClass].filter(
    (one) => one["kind"] !== kind || nameOf(one) !== nameOf(object),
  );
  return [...others, ...users, object].map((one) => laidOver(one, { metadata: { namespace } }));
}

function nameOf(object: Manifest): unknown {
  return (object["metadata"] as Manifest)["name"];
}

function laidOver(object: Manifest, fields: Readonly<Record<string, unknown>>): Manifest {
  const result: Manifest = structuredClone(object);
  for (const [name, value] of Object.entries(fields)) {
    const known = result[name];
    if (value === null) delete result[name];
    else if (!isJsonObject(value)) result[name] = value;
    else result[name] = laidOver(isJsonObject(known) ? known : {}, value);
  }
  return result;
}
