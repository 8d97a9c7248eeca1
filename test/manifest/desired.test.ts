import assert from "node:assert/strict";
import { Type } from "typebox";
import { readDesired } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { localProvider } from "../support/manifests.js";
import { testGolden } from "../support/golden.js";
import { toldOf } from "./texts.js";

const cluster = `apiVersion: cluster.k8s.io/v1alpha1
kind: Cluster
metadata:
  name: prod
spec:
  clusterNetwork:
    services: { cidrBlocks: [10.96.0.0/12] }
    pods: { cidrBlocks: [192.168.0.0/16] }
    serviceDomain: cluster.local
  providerSpec:
    value:
      apiVersion: local.capstan.dev/v1alpha1
      kind: LocalClusterProviderSpec
`;
const machine = `apiVersion: cluster.k8s.io/v1alpha1
kind: Machine
metadata:
  name: cp-0
  labels: { cluster.k8s.io/cluster-name: prod }
spec:
  versions:
    kubelet: 1.34.2
  providerSpec:
    value:
      apiVersion: local.capstan.dev/v1alpha1
      kind: LocalMachineProviderSpec
`;
const set = `apiVersion: cluster.k8s.io/v1alpha1
kind: MachineSet
metadata:
  name: db
  labels: { cluster.k8s.io/cluster-name: prod }
spec:
  replicas: 2
  selector: { matchLabels: { set: db } }
  template:
    metadata: { labels: { set: db } }
    spec:
      versions: { kubelet: 1.34.2 }
      providerSpec:
        value:
          apiVersion: local.capstan.dev/v1alpha1
          kind: LocalMachineProviderSpec
`;

function read(...texts: string[]) {
  return readDesired([{ file: "a.yaml", text: texts.join("---\n") }], [localProvider()]);
}

/** First lines of what is reported, without the file's name; hints in brackets. */
function problems(...texts: string[]): string[] {
  return read(...texts).diagnostics.map((diagnostic) => {
    const [first = "", ...more] = diagnosticText(diagnostic).split("\n");
    const hint = more.find((line) => line.startsWith("  hint: "))?.slice(8);
    return first.replace("a.yaml:", "") + (hint === undefined ? "" : ` [${hint}]`);
  });
}

/** The text with one place changed; the place has to be there. */
function changed(text: string, from: string, to: string): string {
  assert.ok(text.includes(from), `"${from}" is in the text`);
  return text.replace(from, to);
}

it("a key twice in the Cluster is told alone, and not that the Cluster is missing", () => {
  const twice = changed(cluster, "kind: Cluster\n", "kind: Cluster\nkind: Cluster\n");
  const want =
    '3:1: error: YAML: key "kind" is there twice; first in line 2 [take one of them away]';
  assert.deepEqual(problems(twice, machine, set), [want]);
});

describe("a valid manifest", () => {
  it("reads empty labels and annotations as absent ones", () => {
    const empty = cluster.replace("  name: prod\n", "$&  labels: {}\n  annotations: {}\n");
    assert.notEqual(empty, cluster);
    assert.deepEqual(read(empty, machine).clusters, read(cluster, machine).clusters);
  });

  it("gives one cluster with its objects in document order, defaults filled in", () => {
    const second = changed(machine, "cp-0", "a-machine");
    const { clusters, diagnostics } = read(machine, cluster, set, second);
    assert.deepEqual(diagnostics, []);
    const [only] = clusters;
    assert.deepEqual(
      only?.machines.map(({ metadata }) => metadata.name),
      ["cp-0", "a-machine"],
    );
    assert.equal(only?.cluster.metadata.namespace, "default");
    assert.deepEqual(only?.machines[0]?.spec.providerSpec.value, {
      apiVersion: "local.capstan.dev/v1alpha1",
      kind: "LocalMachineProviderSpec",
      size: "small",
      image: "local/ubuntu-24.04",
      zone: "local-a",
      diskGib: 20,
      tags: {},
    });
    assert.equal(only?.machineSets[0]?.spec.deletePolicy, "Random");
  });

  it("may hold several clusters; each gets what its label says, in its namespace", () => {
    const other = changed(cluster, "name: prod", "name: test");
    const elsewhere = changed(cluster, "name: prod", "name: prod\n  namespace: team");
    const member = changed(changed(machine, "cp-0", "cp-1"), "name: prod", "name: test");
    const far = changed(machine, "name: cp-0", "name: cp-0\n  namespace: team");
    const { clusters, diagnostics } = read(cluster, other, elsewhere, machine, member, far);
    assert.deepEqual(diagnostics.map(diagnosticText), []);
    assert.deepEqual(
      clusters.map(({ cluster: { metadata }, machines }) => [
        `${metadata.namespace}/${metadata.name}`,
        machines.map((one) => one.metadata.name),
      ]),
      [
        ["default/prod", ["cp-0"]],
        ["default/test", ["cp-1"]],
        ["team/prod", ["cp-0"]],
      ],
    );
  });

  it("of a set may carry the cluster's label on its template only", () => {
    const label = "  labels: { cluster.k8s.io/cluster-name: prod }\n";
    const bare = changed(
      changed(set, label, ""),
      "set: db } }\n    spec",
      "set: db, cluster.k8s.io/cluster-name: prod } }\n    spec",
    );
    assert.deepEqual(problems(cluster, bare), []);
  });

  it("may be spread over files, and the first error names its file", () => {
    const { clusters, diagnostics } = readDesired(
      [
        { file: "b.yaml", text: changed(machine, "1.34.2", "34") },
        { file: "a.yaml", text: cluster },
      ],
      [localProvider()],
    );
    assert.equal(clusters.length, 1);
    assert.match(
      diagnosticText(diagnostics[0]!),
      /^b\.yaml:8:5: error: Machine default\/cp-0: spec\.versions\.kubelet: /,
    );
  });
});

describe("what is wrong in one object", () => {
  const cases: { name: string; given: string }[] = [
    {
      name: "an unknown field, near a known one",
      given: changed(machine, "kubelet:", "kublet:"),
    },
    {
      name: "an unknown field, near none",
      given: changed(machine, "  versions:", "  colour: red\n  versions:"),
    },
    {
      name: "a missing field",
      given:
        changed(machine, "    value:\n", "    {}\n").split("\n").slice(0, 10).join("\n") + "\n",
    },
    {
      name: "an unknown field, near one that is left out and may be",
      given: changed(machine, "kubelet: 1.34.2", "containerRuntime: { nam: containerd }"),
    },
    {
      name: "a missing name",
      given: changed(machine, "  name: cp-0\n", ""),
    },
    {
      name: "a number where a text belongs",
      given: changed(machine, "kubelet: 1.34.2", "kubelet: 1.34"),
    },
    {
      name: "numbers in other spellings, in quotes as they are written",
      given: changed(machine, "kubelet: 1.34.2", "kubelet: 1.30").replace(
        "name: cp-0\n",
        "name: cp-0\n  annotations: { account: 012345678901, mask: 0x10 }\n",
      ),
    },
    {
      name: "no value where a text belongs",
      given: changed(machine, "kubelet: 1.34.2", "kubelet:"),
    },
    {
      name: "a text where a number belongs",
      given: changed(set, "replicas: 2", "replicas: two"),
    },
    {
      name: "a negative number",
      given: changed(set, "replicas: 2", "replicas: -1"),
    },
    {
      name: "a value that is not among the allowed ones",
      given: changed(set, "replicas: 2", "deletePolicy: Eldest"),
    },
    {
      name: "a version of the wrong form",
      given: changed(machine, "1.34.2", '"latest"'),
    },
    {
      name: "a name of the wrong form",
      given: changed(machine, "cp-0", "CP_0"),
    },
    {
      name: "a list where an object belongs",
      given: changed(machine, "    kubelet: 1.34.2", "    - kubelet"),
    },
    {
      name: "an unknown kind",
      given: changed(machine, "kind: Machine", "kind: Machin"),
    },
    {
      name: "another API version",
      given: changed(machine, "cluster.k8s.io/v1alpha1", "cluster.x-k8s.io/v1beta1"),
    },
    {
      name: "no object at all",
      given: "- a\n- b\n",
    },
    {
      name: "an unknown provider",
      given: changed(machine, "local.capstan.dev/v1alpha1", "aws.example/v1"),
    },
    {
      name: "the provider's other object",
      given: changed(machine, "LocalMachineProviderSpec", "LocalClusterProviderSpec"),
    },
    {
      name: "a field unknown to the provider",
      given: `${machine}      dsikGib: 30\n`,
    },
    {
      name: "a value that the provider does not offer",
      given: `${machine}      size: huge\n`,
    },
    {
      name: "a provider's number out of range",
      given: `${machine}      diskGib: 0\n`,
    },
    {
      name: "a selector that its template does not match",
      given: changed(set, "matchLabels: { set: db }", "matchLabels: { set: web }"),
    },
  ];
  testGolden("diagnostics-one-object", cases, ({ given }) => toldOf(read(cluster, given)));
});

describe("what is wrong between objects", () => {
  const cases: { name: string; given: string[] }[] = [
    {
      name: "the same object twice",
      given: [cluster, machine, machine],
    },
    {
      name: "no label that names a cluster",
      given: [cluster, changed(machine, "  labels: { cluster.k8s.io/cluster-name: prod }\n", "")],
    },
    {
      name: "a cluster that is not there",
      given: [cluster, changed(machine, "name: prod", "name: prdo")],
    },
    {
      name: "no cluster at all",
      given: [machine],
    },
    {
      name: "a cluster of that name in another namespace",
      given: [cluster, changed(machine, "name: cp-0", "name: cp-0\n  namespace: team")],
    },
    {
      name: "a cluster that is wrong itself: its members are not blamed",
      given: [changed(cluster, "serviceDomain", "servicesDomain"), machine, set],
    },
  ];
  testGolden("diagnostics-between-objects", cases, ({ given }) => toldOf(read(...given)));

  it("a Machine of another provider than its Cluster", () => {
    const anything = { kind: "Any", schema: Type.Object({}) };
    const apiVersion = "other.example/v1";
    const other = { name: "other", apiVersion, clusterSpec: anything, machineSpec: anything };
    const given = changed(machine, "local.capstan.dev/v1alpha1", apiVersion);
    const source = { file: "a.yaml", text: `${cluster}---\n${given}` };
    const { diagnostics } = readDesired([source], [localProvider(), other]);
    assert.deepEqual(diagnostics.map(diagnosticText), [
      "a.yaml:25:7: error: Machine default/cp-0: spec.providerSpec.value.apiVersion: is of another provider than its Cluster (local.capstan.dev/v1alpha1)",
    ]);
  });
});

describe("sets of one cluster", () => {
  const web = changed(set, "name: db", "name: web");
  const expressed = (expression: string) =>
    changed(web, "{ matchLabels: { set: db } }", `{ matchExpressions: [${expression}] }`);
  const labelled = (labels: string) => changed(machine, "name: prod }", `name: prod, ${labels} }`);
  const cases: { name: string; given: string[] }[] = [
    {
      name: "may not select the same Machines",
      given: [cluster, set, web],
    },
    {
      name: "may not, of whatever kind: the later one is told, once",
      given: [cluster, set, changed(set, "kind: MachineSet", "kind: MachineDeployment"), web],
    },
    {
      name: "may not select them by an expression",
      given: [cluster, set, expressed("{ key: set, operator: Exists }")],
    },
    {
      name: "may not have Machines that an earlier set selects",
      given: [
        cluster,
        set,
        changed(
          changed(web, "matchLabels: { set: db }", "matchLabels: { pool: web }"),
          "labels: { set: db }",
          "labels: { set: db, pool: web }",
        ),
      ],
    },
    {
      name: "may not select by the label of their cluster, which all Machines carry",
      given: [
        cluster,
        set,
        changed(
          changed(
            web,
            "matchLabels: { set: db }",
            "matchLabels: { cluster.k8s.io/cluster-name: prod }",
          ),
          "labels: { set: db }",
          "labels: { cluster.k8s.io/cluster-name: prod }",
        ),
      ],
    },
    {
      name: "are told apart by the value of a label",
      given: [cluster, set, web.replaceAll("set: db", "set: web"), labelled("set: cache")],
    },
    {
      name: "are no matter of other clusters",
      given: [
        cluster,
        set,
        changed(cluster, "name: prod", "name: test"),
        changed(web, "name: prod", "name: test"),
      ],
    },
    {
      name: "may not select a Machine that a user wrote",
      given: [cluster, labelled("set: db"), set],
    },
    {
      name: "may not select every Machine of the cluster",
      given: [
        cluster,
        machine,
        changed(
          changed(
            set,
            "matchLabels: { set: db }",
            "matchLabels: { cluster.k8s.io/cluster-name: prod }",
          ),
          "labels: { set: db }",
          "labels: { cluster.k8s.io/cluster-name: prod }",
        ),
      ],
    },
  ];
  testGolden("diagnostics-sets", cases, ({ given }) => toldOf(read(...given)));
});

describe("several errors", () => {
  it("are all told at once, by file and position, whatever found them", () => {
    const given = [
      changed(machine, "kubelet: 1.34.2", "kubelet: latest"),
      "a: [\n",
      changed(set, "matchLabels: { set: db }", "matchLabels: { set: web }"),
      changed(changed(machine, "cp-0", "cp-1"), "name: prod", "name: gone"),
    ];
    assert.deepEqual(
      problems(cluster, ...given).map((one) =>
        /^(\d+:\d+): error: (\w+)/.exec(one)?.slice(1).join(" "),
      ),
      ["22:5 Machine", "29:1 YAML", "37:30 MachineSet", "51:13 Machine"],
    );
  });

  it("in one object do not hide each other", () => {
    const given = `${changed(changed(machine, "1.34.2", "34"), "cp-0", "CP")}      size: huge\n`;
    assert.deepEqual(
      problems(cluster, given).map((one) => one.split(" [")[0]),
      [
        '18:3: error: Machine default/CP: metadata.name: "CP" has the wrong form',
        "22:5: error: Machine default/CP: spec.versions.kubelet: 34 must be of type string",
        '27:7: error: Machine default/CP: spec.providerSpec.value.size: "huge" is not one of small, medium, large',
      ],
    );
  });
});
