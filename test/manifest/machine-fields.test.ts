import assert from "node:assert/strict";
import type { ProviderSpecs } from "../../src/api/provider-specs.js";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { localProvider } from "../support/manifests.js";

const cluster = `apiVersion: cluster.k8s.io/v1alpha1
kind: Cluster
metadata: { name: prod }
spec:
  clusterNetwork:
    services: { cidrBlocks: [10.96.0.0/12] }
    pods: { cidrBlocks: [192.168.0.0/16] }
    serviceDomain: cluster.local
  providerSpec:
    value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalClusterProviderSpec }
`;

const value = "value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec }";

/** A Machine with these lines in its spec, the first of them in line 5. */
const machine = (...lines: readonly string[]) => `apiVersion: cluster.k8s.io/v1alpha1
kind: Machine
metadata: { name: m, labels: { cluster.k8s.io/cluster-name: prod } }
spec:
${lines.map((line) => `  ${line}\n`).join("")}  providerSpec: { ${value} }
`;

const machineClass = `apiVersion: cluster.k8s.io/v1alpha1
kind: MachineClass
metadata: { name: big }
providerSpec: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec }
`;

/** A provider that says nothing of what it has. */
const { offers: _offers, ...bareMachineSpec } = localProvider().machineSpec;
const { name, apiVersion, clusterSpec } = localProvider();
const bare: ProviderSpecs = { name, apiVersion, clusterSpec, machineSpec: bareMachineSpec };

/** What is said of the object, in the file "m.yaml", that comes with a Cluster. */
function problems(text: string, provider: ProviderSpecs = localProvider()): string[] {
  const sources = [
    { file: "cluster.yaml", text: `${cluster}---\n${machineClass}` },
    { file: "m.yaml", text },
  ];
  const { diagnostics } = readDesired(sources, [provider]);
  return diagnostics.map((one) => `${one.code} ${diagnosticText(one)}`);
}

interface Case {
  readonly name: string;
  readonly lines: readonly string[];
  readonly provider?: ProviderSpecs;
  readonly want: readonly string[];
}

const cases: readonly Case[] = [
  {
    name: "half a container runtime, where the provider recommends one",
    lines: ["versions: { containerRuntime: { name: containerd } }"],
    want: [],
  },
  {
    name: "half a container runtime, where the provider recommends none",
    lines: ["versions: { containerRuntime: { name: containerd } }"],
    provider: bare,
    want: [
      'FIELD_MISSING m.yaml:5:15: error: Machine default/m: spec.versions.containerRuntime: missing field "version"\n  hint: provider local recommends no container runtime',
    ],
  },
];

describe("the fields of a Machine", () => {
  for (const { name, lines, provider, want } of cases) {
    it(name, () => assert.deepEqual(problems(machine(...lines), provider), want));
  }
});
