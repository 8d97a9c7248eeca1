import assert from "node:assert/strict";
import { ignorableFields, type ProviderSpecs } from "../../src/api/provider-specs.js";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { localProvider } from "../support/manifests.js";
import { cluster } from "./texts.js";

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

/** A provider that has no use for what others have. */
const plain: ProviderSpecs = {
  ...bare,
  machineSpec: { ...localProvider().machineSpec, ignores: ignorableFields },
};

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
  {
    name: "a kubelet and a control plane that the provider does not have",
    lines: ["versions:", "  kubelet: 1.99.0", "  controlPlane: v1.99.1"],
    want: [
      "UNSUPPORTED_CONFIGURATION m.yaml:6:5: error: Machine default/m: spec.versions.kubelet: provider local has no Kubernetes 1.99.0\n  hint: it has 1.24 - 1.35",
      "UNSUPPORTED_CONFIGURATION m.yaml:7:5: error: Machine default/m: spec.versions.controlPlane: provider local has no Kubernetes 1.99.1\n  hint: it has 1.24 - 1.35",
    ],
  },
  ...["1.24.0", "1.35.99", "1.34.99", "v1.35.0-rc.1", "1.34.2+k3s1"].map((kubelet): Case => ({
    name: `a patch of a minor version that the provider has, known or not: ${kubelet}`,
    lines: [`versions: { kubelet: ${kubelet} }`],
    want: [],
  })),
  {
    name: "a container runtime that the provider does not have",
    lines: ["versions: { containerRuntime: { name: nonsense, version: 0.0.1 } }"],
    want: [
      "UNSUPPORTED_CONFIGURATION m.yaml:5:35: error: Machine default/m: spec.versions.containerRuntime.name: provider local has no nonsense\n  hint: it has containerd, cri-o",
    ],
  },
  {
    name: "a container runtime by a slip of its name",
    lines: ["versions: { containerRuntime: { name: contained } }"],
    want: [
      "UNSUPPORTED_CONFIGURATION m.yaml:5:35: error: Machine default/m: spec.versions.containerRuntime.name: provider local has no contained\n  hint: did you mean containerd?",
    ],
  },
  {
    name: "a version of a container runtime that the provider does not have",
    lines: ["versions: { containerRuntime: { name: containerd, version: 0.0.1 } }"],
    want: [
      "UNSUPPORTED_CONFIGURATION m.yaml:5:53: error: Machine default/m: spec.versions.containerRuntime.version: provider local has no containerd 0.0.1\n  hint: it has containerd 1.6 - 1.7 || 2",
    ],
  },
  {
    name: "a version that no container runtime of the provider has",
    lines: ["versions: { containerRuntime: { version: 0.0.1 } }"],
    want: [
      "UNSUPPORTED_CONFIGURATION m.yaml:5:35: error: Machine default/m: spec.versions.containerRuntime.version: provider local has no container runtime 0.0.1\n  hint: it has containerd 1.6 - 1.7 || 2, cri-o 1.24 - 1.35",
    ],
  },
  {
    name: "anything, where the provider does not say what it has",
    lines: ["versions: { kubelet: 1.99.0, containerRuntime: { name: nonsense, version: 0.0.1 } }"],
    provider: bare,
    want: [],
  },
  {
    name: "the role of a worker beside the version of a control plane",
    lines: ["roles: [Node]", "versions: { controlPlane: 1.34.2 }"],
    want: [
      "ROLE_MISMATCH m.yaml:5:3: error: Machine default/m: spec.roles: lacks Master although versions.controlPlane is set\n  hint: add Master to roles, or take versions.controlPlane away",
    ],
  },
  {
    name: "one role twice",
    lines: ["roles: [Node, Node]"],
    want: [
      "ROLE_MISMATCH m.yaml:5:17: error: Machine default/m: spec.roles.1: names one role twice\n  hint: Master for a control-plane member, Node for a worker, both for a member that takes pods too",
    ],
  },
  {
    name: "marks of the Node as Kubernetes has them",
    lines: [
      "metadata:",
      "  labels: { example.com/Team: A.b_c-d, empty: '' }",
      "  annotations: { Example.COM/any: any text }",
      "taints:",
      "  - { key: a, value: b, effect: NoSchedule }",
      "  - { key: a, value: b, effect: NoExecute }",
    ],
    want: [],
  },
  {
    name: "marks of the Node that Kubernetes would refuse",
    lines: [
      "metadata:",
      "  labels: { Example.com/team: a, tier: -b }",
      "  annotations: { a/b/c: any text }",
    ],
    want: [
      "BAD_FORMAT m.yaml:6:15: error: Machine default/m: spec.metadata.labels.Example.com/team: is no key\n  hint: up to 63 letters, digits, dashes, underscores and dots, perhaps behind a DNS name and a slash, e.g. example.com/team",
      'BAD_FORMAT m.yaml:6:36: error: Machine default/m: spec.metadata.labels.tier: "-b" is no value of a label or a taint\n  hint: up to 63 letters, digits, dashes, underscores and dots, with a letter or a digit first and last',
      "BAD_FORMAT m.yaml:7:20: error: Machine default/m: spec.metadata.annotations.a/b/c: is no key\n  hint: up to 63 letters, digits, dashes, underscores and dots, perhaps behind a DNS name and a slash, e.g. example.com/team",
    ],
  },
  {
    name: "taints that Kubernetes would refuse, and one that is there already",
    lines: [
      "taints:",
      "  - { key: a, value: b, effect: NoSchedule }",
      "  - { key: a, value: c, effect: NoSchedule }",
      "  - { key: a b, value: 'c d', effect: NoExecute }",
    ],
    want: [
      "DUPLICATE m.yaml:7:7: error: Machine default/m: spec.taints.1: has the key and the effect of an earlier taint\n  hint: a Node has one value for them",
      'BAD_FORMAT m.yaml:8:9: error: Machine default/m: spec.taints.2.key: "a b" is no key\n  hint: up to 63 letters, digits, dashes, underscores and dots, perhaps behind a DNS name and a slash, e.g. example.com/team',
      'BAD_FORMAT m.yaml:8:19: error: Machine default/m: spec.taints.2.value: "c d" is no value of a label or a taint\n  hint: up to 63 letters, digits, dashes, underscores and dots, with a letter or a digit first and last',
    ],
  },
  {
    name: "what has no effect on the provider is a warning",
    lines: [
      "roles: [Master, Node]",
      "versions: { containerRuntime: { name: containerd } }",
      "configSource: { configMap: { name: a, namespace: b, kubeletConfigKey: c } }",
      "metadata:",
      "  labels: { a: b }",
      "  annotations: { a: b }",
      "taints: [{ key: a, effect: NoSchedule }]",
    ],
    provider: plain,
    want: [
      "NO_EFFECT m.yaml:5:3: warning: Machine default/m: spec.roles: has no effect on provider local",
      "NO_EFFECT m.yaml:6:15: warning: Machine default/m: spec.versions.containerRuntime: has no effect on provider local",
      "NO_EFFECT m.yaml:7:3: warning: Machine default/m: spec.configSource: has no effect on provider local",
      "NO_EFFECT m.yaml:9:5: warning: Machine default/m: spec.metadata.labels: has no effect on provider local",
      "NO_EFFECT m.yaml:10:5: warning: Machine default/m: spec.metadata.annotations: has no effect on provider local",
      "NO_EFFECT m.yaml:11:3: warning: Machine default/m: spec.taints: has no effect on provider local",
    ],
  },
  {
    name: "nothing is said of what nobody sets",
    lines: ["roles: [Master]", "versions: { kubelet: 1.34.2 }"],
    provider: plain,
    want: [],
  },
];

describe("the fields of a Machine", () => {
  for (const { name, lines, provider, want } of cases) {
    it(name, () => assert.deepEqual(problems(machine(...lines), provider), want));
  }

  it("are asked of the provider, too, where a class brings its object", () => {
    const classy = machine("versions: { kubelet: 1.99.0 }").replace(
      value,
      "valueFrom: { machineClass: { name: big } }",
    );
    assert.deepEqual(problems(classy), [
      "UNSUPPORTED_CONFIGURATION m.yaml:5:15: error: Machine default/m: spec.versions.kubelet: provider local has no Kubernetes 1.99.0\n  hint: it has 1.24 - 1.35",
    ]);
  });

  it("have the values that the provider's own schema has", () => {
    const far = machine().replace("Spec }", "Spec, zone: local-z }");
    assert.deepEqual(problems(far), [
      'NOT_ALLOWED m.yaml:5:100: error: Machine default/m: spec.providerSpec.value.zone: "local-z" is not one of local-a, local-b, local-c',
    ]);
  });
});
