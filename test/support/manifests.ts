import assert from "node:assert/strict";
import { LocalCloud } from "../../providers/local/cloud.js";
import { LocalProvider } from "../../providers/local/provider.js";
import { localApiVersion } from "../../providers/local/specs.js";
import { apiVersion, clusterNameLabel } from "../../src/api/schema.js";
import type { Desired } from "../../src/api/types.js";
import { updatePolicyAnnotation } from "../../src/api/update-policy.js";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { FakeClock } from "./fake-clock.js";

/** An object as a user would write it: plain data, nothing defaulted or validated. */
export type Manifest = Record<string, unknown>;

export interface ClusterShape {
  readonly name?: string;
  readonly cidr?: string;
  readonly machineQuota?: number;
  readonly failureDomains?: readonly string[];
  readonly bootMs?: number;
  readonly joinMs?: number;
  readonly registersHosts?: boolean;
  /** Id of a network that is there. */
  readonly network?: string;
}

/** What the tests vary about a Machine. */
export interface MachineShape {
  readonly otherSizes?: readonly string[];
  readonly size?: string;
  readonly resizable?: boolean;
  readonly image?: string;
  readonly imageFamily?: string;
  readonly zone?: string;
  readonly diskGib?: number;
  readonly tags?: Readonly<Record<string, string>>;
  readonly bootMs?: number;
  readonly joinMs?: number;
  readonly dataVolume?: { readonly gib: number; readonly whenHostGoes?: "delete" | "keep" };
  readonly kubelet?: string;
  /** Of its Node. */
  readonly labels?: Readonly<Record<string, string>>;
  /** A version makes it a control-plane member. */
  readonly controlPlane?: string;
}

/** Bounds of a rolling update as a user writes them. */
export interface RollingShape {
  readonly maxSurge?: number | string;
  readonly maxUnavailable?: number | string;
}

export const testCluster = "prod";

/** Networks of a Cluster, of which hosts have none. */
export function clusterNetwork() {
  return {
    services: { cidrBlocks: ["10.96.0.0/12"] },
    pods: { cidrBlocks: ["192.168.0.0/16"] },
    serviceDomain: "cluster.local",
  };
}

/** Arguments of a control plane whose killed leader is followed soon: the defaults are 15 s, 10 s and 2 s. */
export const leaderElection = {
  "leader-elect-lease-duration": "8s",
  "leader-elect-renew-deadline": "6s",
  "leader-elect-retry-period": "1s",
};

export function cluster(shape: ClusterShape = {}): Manifest {
  const { name = testCluster, cidr, ...otherwise } = shape;
  return {
    apiVersion,
    kind: "Cluster",
    metadata: { name },
    spec: {
      clusterNetwork: clusterNetwork(),
      providerSpec: {
        value: present({
          apiVersion: localApiVersion,
          kind: "LocalClusterProviderSpec",
          ...otherwise,
          networkCidr: cidr,
        }),
      },
    },
  };
}

export function machine(name: string, shape: MachineShape = {}): Manifest {
  return {
    apiVersion,
    kind: "Machine",
    metadata: { name, labels: { [clusterNameLabel]: testCluster } },
    spec: machineSpec(shape),
  };
}

export function machineSet(name: string, replicas: number, shape: MachineShape = {}): Manifest {
  return setOf("MachineSet", name, replicas, shape);
}

export function machineDeployment(
  name: string,
  replicas: number,
  shape: MachineShape = {},
  rolling?: RollingShape,
): Manifest {
  const { spec, ...rest } = setOf("MachineDeployment", name, replicas, shape);
  const strategy = rolling && { type: "RollingUpdate", rollingUpdate: rolling };
  return { ...rest, spec: present({ ...(spec as Manifest), strategy }) };
}

/** Looks at the Machines of a set: `Ready=False` for longer than 200 seconds. */
export function healthCheck(name: string, set = "pool", more: Manifest = {}): Manifest {
  return {
    apiVersion,
    kind: "MachineHealthCheck",
    metadata: { name },
    spec: {
      clusterName: testCluster,
      selector: { matchLabels: { set } },
      checks: {
        unhealthyNodeConditions: [{ type: "Ready", status: "False", timeoutSeconds: 200 }],
      },
      ...more,
    },
  };
}

/** The object with an update policy of its own. */
export function asking(policy: string, manifest: Manifest): Manifest {
  return annotated({ [updatePolicyAnnotation]: policy }, manifest);
}

/** The object with annotations, and no others. */
export function annotated(
  annotations: Readonly<Record<string, string>>,
  manifest: Manifest,
): Manifest {
  const metadata = manifest["metadata"] as Manifest;
  return { ...manifest, metadata: { ...metadata, annotations } };
}

/** A set whose machines are annotated. */
export function annotatedSet(
  annotations: Readonly<Record<string, string>>,
  set: Manifest,
): Manifest {
  const spec = set["spec"] as Manifest;
  return {
    ...set,
    spec: { ...spec, template: annotated(annotations, spec["template"] as Manifest) },
  };
}

/** Pure parts only: whoever opens the cloud behind it all the same leaves no file. */
export function localProvider(): LocalProvider {
  return new LocalProvider(new LocalCloud(":memory:", new FakeClock()));
}

/** The same as all the providers that there are. */
export const onlyLocal = { all: [localProvider()] };

/** Each object as one document of one text. JSON is YAML. */
export function textOf(objects: readonly Manifest[]): string {
  return objects.map((object) => JSON.stringify(object)).join("\n---\n");
}

/** The one cluster that the objects make. Fails on any diagnostic. */
export function desiredOf(objects: readonly Manifest[]): Desired {
  const source = { file: "test.yaml", text: textOf(objects) };
  const { clusters, diagnostics } = readDesired([source], [localProvider()]);
  assert.deepEqual(diagnostics.map(diagnosticText), []);
  const [only] = clusters;
  assert.ok(only !== undefined && clusters.length === 1, "the objects make exactly one cluster");
  return only;
}

function setOf(kind: string, name: string, replicas: number, shape: MachineShape): Manifest {
  return {
    apiVersion,
    kind,
    metadata: { name, labels: { [clusterNameLabel]: testCluster } },
    spec: {
      replicas,
      selector: { matchLabels: { set: name } },
      template: { metadata: { labels: { set: name } }, spec: machineSpec(shape) },
    },
  };
}

function machineSpec(shape: MachineShape): Manifest {
  const { kubelet = "1.34.2", controlPlane, labels, ...provided } = shape;
  return present({
    metadata: labels && { labels },
    versions: present({ kubelet, controlPlane }),
    providerSpec: {
      value: present({
        apiVersion: localApiVersion,
        kind: "LocalMachineProviderSpec",
        ...provided,
      }),
    },
  });
}

function present(members: Manifest): Manifest {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
