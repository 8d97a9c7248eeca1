import assert from "node:assert/strict";
import { ignorableFields, type ProviderSpecs } from "../../src/api/provider-specs.js";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { localProvider } from "../support/manifests.js";
import { cluster } from "./texts.js";
import { testGolden } from "../support/golden.js";

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
}

const cases: readonly Case[] = [
  {
    name: "half a container runtime, where the provider recommends one",
    lines: ["versions: { containerRuntime: { name: containerd } }"],
  },
  {
    name: "half a container runtime, where the provider recommends none",
    lines: ["versions: { containerRuntime: { name: containerd } }"],
    provider: bare,
  },
  {
    name: "a kubelet and a control plane that the provider does not have",
    lines: ["versions:", "  kubelet: 1.99.0", "  controlPlane: v1.99.1"],
  },
  ...["1.24.0", "1.35.99", "1.34.99", "v1.35.0-rc.1", "1.34.2+k3s1"].map((kubelet): Case => ({
    name: `a patch of a minor version that the provider has, known or not: ${kubelet}`,
    lines: [`versions: { kubelet: ${kubelet} }`],
  })),
  {
    name: "a container runtime that the provider does not have",
    lines: ["versions: { containerRuntime: { name: nonsense, version: 0.0.1 } }"],
  },
  {
    name: "a container runtime by a slip of its name",
    lines: ["versions: { containerRuntime: { name: contained } }"],
  },
  {
    name: "a version of a container runtime that the provider does not have",
    lines: ["versions: { containerRuntime: { name: containerd, version: 0.0.1 } }"],
  },
  {
    name: "a version that no container runtime of the provider has",
    lines: ["versions: { containerRuntime: { version: 0.0.1 } }"],
  },
  {
    name: "anything, where the provider does not say what it has",
    lines: ["versions: { kubelet: 1.99.0, containerRuntime: { name: nonsense, version: 0.0.1 } }"],
    provider: bare,
  },
  {
    name: "the role of a worker beside the version of a control plane",
    lines: ["roles: [Node]", "versions: { controlPlane: 1.34.2 }"],
  },
  {
    name: "one role twice",
    lines: ["roles: [Node, Node]"],
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
  },
  {
    name: "marks of the Node that Kubernetes would refuse",
    lines: [
      "metadata:",
      "  labels: { Example.com/team: a, tier: -b }",
      "  annotations: { a/b/c: any text }",
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
  },
  {
    name: "nothing is said of what nobody sets",
    lines: ["roles: [Master]", "versions: { kubelet: 1.34.2 }"],
    provider: plain,
  },
];

describe("the fields of a Machine", () => {
  testGolden("diagnostics-machine-fields", cases, ({ lines, provider }) =>
    problems(machine(...lines), provider).join("\n"),
  );

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
