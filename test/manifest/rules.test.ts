import assert from "node:assert/strict";
import { parse } from "yaml";
import type { DiagnosticCode } from "../../src/api/diagnostic-codes.js";
import { maxStackNameLength, stackNameOf } from "../../src/api/types.js";
import { readObjects } from "../../src/manifest/desired.js";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { localProvider } from "../support/manifests.js";
import { cluster, machine, read, set } from "./texts.js";

const member = machine
  .replace("name: m,", "name: cp,")
  .replace("kubelet: 1.34.2", "kubelet: 1.34.2, controlPlane: 1.34.2");
const machineClass = `apiVersion: cluster.k8s.io/v1alpha1
kind: MachineClass
metadata: { name: big }
providerSpec: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec, size: large }
`;
/** The text with one place changed; the place has to be there. */
function changed(text: string, from: string, to: string): string {
  assert.ok(text.includes(from), `"${from}" is in the text`);
  return text.replace(from, to);
}

/** A MachineDeployment with more in its spec. */
function deploymentWith(...lines: string[]): string {
  const deployment = changed(set, "kind: MachineSet", "kind: MachineDeployment");
  return changed(
    deployment,
    "spec:\n",
    ["spec:\n", ...lines.map((line) => `  ${line}\n`)].join(""),
  );
}

const fromClass = changed(
  machine,
  "value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec }",
  "valueFrom: { machineClass: { name: big } }",
);

interface Case {
  readonly name: string;
  readonly texts: readonly string[];
  readonly want: readonly [DiagnosticCode, string][];
}

const cases: readonly Case[] = [
  {
    name: "address ranges that overlap",
    texts: [changed(cluster, "192.168.0.0/16", "10.100.0.0/16")],
    want: [
      [
        "CIDR_OVERLAP",
        "f.yaml:7:26: error: Cluster default/prod: spec.clusterNetwork.pods.cidrBlocks.0: 10.100.0.0/16 overlaps 10.96.0.0/12 (services)\n  hint: Services and Pods need ranges of their own",
      ],
    ],
  },
  {
    name: "an address range that is none",
    texts: [changed(cluster, "192.168.0.0/16", "300.168.0.0/16")],
    want: [
      [
        "BAD_FORMAT",
        'f.yaml:7:26: error: Cluster default/prod: spec.clusterNetwork.pods.cidrBlocks.0: "300.168.0.0/16" is no address range\n  hint: an address and a prefix length, e.g. 10.96.0.0/12',
      ],
    ],
  },
  ...["010.0.0.0/8", "10.0.0.0/08", "::ffff:10.0.0.0/104"].map((range): Case => ({
    name: `an address range that an API server does not read: ${range}`,
    texts: [changed(cluster, "192.168.0.0/16", `"${range}"`)],
    want: [
      [
        "BAD_FORMAT",
        `f.yaml:7:26: error: Cluster default/prod: spec.clusterNetwork.pods.cidrBlocks.0: "${range}" is no address range\n  hint: an address and a prefix length, e.g. 10.96.0.0/12`,
      ],
    ],
  })),
  {
    name: "an address range that begins with a zero, in hexadecimal",
    texts: [changed(cluster, "192.168.0.0/16", '"0064:ff9b::/96"')],
    want: [],
  },
  {
    name: "a kubelet newer than the control plane",
    texts: [cluster, member, changed(machine, "1.34.2", "1.35.0")],
    want: [
      [
        "VERSION_SKEW",
        "f.yaml:24:15: error: Machine default/m: spec.versions.kubelet: kubelet 1.35.0 is newer than the control plane (1.34.2)\n  A kubelet may be up to 3 minors older than the control plane, and never newer.\n  hint: raise the control plane first",
      ],
    ],
  },
  {
    name: "a kubelet too old for the control plane",
    texts: [cluster, member, changed(machine, "1.34.2", "1.30.9")],
    want: [
      [
        "VERSION_SKEW",
        "f.yaml:24:15: error: Machine default/m: spec.versions.kubelet: kubelet 1.30.9 is 4 minors behind the control plane (1.34.2)\n  A kubelet may be up to 3 minors older than the control plane, and never newer.\n  hint: raise the kubelet first",
      ],
    ],
  },
  {
    name: "a kubelet three minors behind is fine",
    texts: [cluster, member, changed(machine, "1.34.2", "1.31.0")],
    want: [],
  },
  {
    name: "a newer patch of the control plane's minor is fine",
    texts: [cluster, member, changed(machine, "1.34.2", "1.34.9")],
    want: [],
  },
  {
    name: "a version that is none",
    texts: [cluster, changed(machine, "1.34.2", "1.34")],
    want: [
      [
        "WRONG_TYPE",
        'f.yaml:16:15: error: Machine default/m: spec.versions.kubelet: 1.34 must be of type string\n  hint: write it in quotes: "1.34". Version of the kubelet, e.g. 1.34.2: never newer than the control plane, at most three minors older. It may be raised and lowered.',
      ],
    ],
  },
  {
    name: "both value and valueFrom",
    texts: [
      cluster,
      machineClass,
      changed(
        fromClass,
        "valueFrom:",
        "value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec }\n    valueFrom:",
      ),
    ],
    want: [
      [
        "PROVIDER_SPEC",
        "f.yaml:24:5: error: Machine default/m: spec.providerSpec.valueFrom: both value and valueFrom are set\n  hint: the provider's object stands in value, or valueFrom names a MachineClass",
      ],
    ],
  },
  {
    name: "neither value nor valueFrom",
    texts: [cluster, machine.replace(/providerSpec:\n.*\n/, "providerSpec: {}\n")],
    want: [
      [
        "PROVIDER_SPEC",
        "f.yaml:17:3: error: Machine default/m: spec.providerSpec: neither value nor valueFrom is set\n  hint: the provider's object stands in value, or valueFrom names a MachineClass",
      ],
    ],
  },
  {
    name: "a MachineClass that is not there",
    texts: [cluster, fromClass],
    want: [
      [
        "CLASS_UNKNOWN",
        "f.yaml:18:34: error: Machine default/m: spec.providerSpec.valueFrom.machineClass.name: there is no MachineClass default/big in these manifests\n  hint: add a MachineClass object",
      ],
    ],
  },
  {
    name: "a MachineClass of another provider than its user says",
    texts: [machineClass, cluster, changed(fromClass, "name: big }", "name: big, provider: aws }")],
    want: [
      [
        "PROVIDER_MISMATCH",
        "f.yaml:23:45: error: Machine default/m: spec.providerSpec.valueFrom.machineClass.provider: MachineClass big is of provider local, not aws\n  hint: write local, or take provider away",
      ],
    ],
  },
  {
    name: "a MachineClass of the provider that its user says",
    texts: [
      machineClass,
      cluster,
      changed(fromClass, "name: big }", "name: big, provider: local }"),
    ],
    want: [],
  },
  {
    name: "a MachineClass that is for Machines, named by a Cluster",
    texts: [
      machineClass,
      changed(
        cluster,
        "value: { apiVersion: local.capstan.dev/v1alpha1, kind: LocalClusterProviderSpec }",
        "valueFrom: { machineClass: { name: big } }",
      ),
    ],
    want: [
      [
        "NOT_ALLOWED",
        "f.yaml:15:34: error: Cluster default/prod: spec.providerSpec.valueFrom.machineClass.name: MachineClass big is for Machines: its providerSpec is a LocalMachineProviderSpec\n  hint: name a class with a LocalClusterProviderSpec",
      ],
    ],
  },
  {
    name: "a MachineClass that is for Clusters, named by a Machine",
    texts: [
      changed(
        machineClass,
        "kind: LocalMachineProviderSpec, size: large",
        "kind: LocalClusterProviderSpec, machineQuota: 9",
      ),
      cluster,
      fromClass,
    ],
    want: [
      [
        "NOT_ALLOWED",
        "f.yaml:23:34: error: Machine default/m: spec.providerSpec.valueFrom.machineClass.name: MachineClass big is for Clusters: its providerSpec is a LocalClusterProviderSpec\n  hint: name a class with a LocalMachineProviderSpec",
      ],
    ],
  },
  {
    name: "a MachineClass that is wrong itself: its users are not told that it is missing",
    texts: [cluster, changed(machineClass, "size: large", "size: huge"), fromClass],
    want: [
      [
        "NOT_ALLOWED",
        'f.yaml:15:89: error: MachineClass default/big: providerSpec.size: "huge" is not one of small, medium, large',
      ],
    ],
  },
  {
    name: "a MachineClass with a wrong provider's object",
    texts: [cluster, changed(machineClass, "size: large", "size: huge")],
    want: [
      [
        "NOT_ALLOWED",
        'f.yaml:15:89: error: MachineClass default/big: providerSpec.size: "huge" is not one of small, medium, large',
      ],
    ],
  },
  {
    name: "an update policy that there is not",
    texts: [
      changed(
        cluster,
        "name: prod",
        "name: prod, annotations: { capstan.dev/update-policy: inPlace }",
      ),
      changed(
        machine,
        "name: m,",
        "name: m, annotations: { capstan.dev/update-policy: replaceonly, example.com/x: y },",
      ),
      changed(
        set,
        "{ set: s } }\n    spec",
        "{ set: s }, annotations: { capstan.dev/update-policy: x } }\n    spec",
      ),
    ],
    want: [
      [
        "NOT_ALLOWED",
        'f.yaml:3:40: error: Cluster default/prod: metadata.annotations.capstan.dev/update-policy: "inPlace" is no update policy\n  hint: one of preferInPlace, inPlaceOnly, replaceOnly',
      ],
      [
        "NOT_ALLOWED",
        'f.yaml:14:37: error: Machine default/m: metadata.annotations.capstan.dev/update-policy: "replaceonly" is no update policy\n  hint: did you mean replaceOnly?',
      ],
      [
        "NOT_ALLOWED",
        'f.yaml:26:52: error: MachineSet default/s: spec.template.metadata.annotations.capstan.dev/update-policy: "x" is no update policy\n  hint: one of preferInPlace, inPlaceOnly, replaceOnly',
      ],
    ],
  },
  {
    name: "a progress deadline that nothing can meet",
    texts: [cluster, deploymentWith("minReadySeconds: 8", "progressDeadlineSeconds: 8")],
    want: [
      [
        "NOT_ALLOWED",
        "f.yaml:17:3: error: MachineDeployment default/s: spec.progressDeadlineSeconds: 8 is over before any machine has been ready for minReadySeconds (8)\n  hint: more than 8, or 0 for no limit",
      ],
    ],
  },
  {
    name: "bounds of a rolling update that there is not",
    texts: [
      cluster,
      deploymentWith("strategy: { type: OnDelete, rollingUpdate: { maxSurge: 2 } }"),
    ],
    want: [
      [
        "NO_EFFECT",
        "f.yaml:16:31: warning: MachineDeployment default/s: spec.strategy.rollingUpdate: has no effect while strategy.type is OnDelete\n  hint: take it away, or make the type RollingUpdate",
      ],
    ],
  },
  {
    name: "bounds of a rolling update of control-plane members",
    texts: [
      cluster,
      changed(
        deploymentWith("strategy: { rollingUpdate: { maxUnavailable: 2 } }"),
        "    spec:\n",
        "    spec:\n      roles: [Master]\n",
      ),
    ],
    want: [
      [
        "NO_EFFECT",
        "f.yaml:16:15: warning: MachineDeployment default/s: spec.strategy.rollingUpdate: has no effect on control-plane members, of which one changes at a time\n  hint: take it away",
      ],
    ],
  },
  {
    name: "OnDelete, and bounds that say nothing or that count",
    texts: [
      cluster,
      deploymentWith("strategy: { type: OnDelete, rollingUpdate: {} }"),
      changed(
        deploymentWith("strategy: { rollingUpdate: { maxSurge: 2 } }"),
        "name: s,",
        "name: t,",
      ).replaceAll("set: s }", "set: t }"),
    ],
    want: [],
  },
  {
    name: "a history of MachineSets, which files do not keep",
    texts: [
      cluster,
      deploymentWith("revisionHistoryLimit: 5"),
      changed(deploymentWith("revisionHistoryLimit: 1"), "name: s,", "name: t,").replaceAll(
        "set: s }",
        "set: t }",
      ),
    ],
    want: [
      [
        "NO_EFFECT",
        "f.yaml:16:3: warning: MachineDeployment default/s: spec.revisionHistoryLimit: has no effect in files, which keep no empty MachineSets\n  hint: leave it out; capstan history keeps every revision, and capstan rollback goes back to one",
      ],
    ],
  },
  {
    name: "annotations on drift that cannot be read, or that nobody reads there",
    texts: [
      changed(
        cluster,
        "name: prod",
        `name: prod, annotations: { ${[
          "capstan.dev/drift-policy: replce",
          "capstan.dev/drift-max-unhealthy: 140%",
          "capstan.dev/drift-freeze: soon",
          "capstan.dev/drift-thaw: yes please",
          "capstan.dev/drift-max-in-flight: '0'",
        ].join(", ")} }`,
      ),
      changed(
        machine,
        "name: m,",
        "name: m, annotations: { capstan.dev/drift-policy: ignore, capstan.dev/drift-max-in-flight: 10% },",
      ),
    ],
    want: [
      [
        "NOT_ALLOWED",
        'f.yaml:3:40: error: Cluster default/prod: metadata.annotations.capstan.dev/drift-policy: "replce" is no drift policy\n  hint: did you mean replace?',
      ],
      [
        "NOT_ALLOWED",
        'f.yaml:3:74: error: Cluster default/prod: metadata.annotations.capstan.dev/drift-max-unhealthy: "140%" is no bound on unhealthy machines\n  hint: a number of machines, or a share of them such as "40%"',
      ],
      [
        "NOT_ALLOWED",
        'f.yaml:3:113: error: Cluster default/prod: metadata.annotations.capstan.dev/drift-freeze: "soon" is no time to stay frozen\n  hint: "never", or a time such as "90s", "30m" or "2h"',
      ],
      [
        "NOT_ALLOWED",
        'f.yaml:3:145: error: Cluster default/prod: metadata.annotations.capstan.dev/drift-thaw: "yes please" is no fingerprint of a drift report\n  hint: the 12 digits and letters that capstan drift shows',
      ],
      [
        "NOT_ALLOWED",
        "f.yaml:14:71: error: Machine default/m: metadata.annotations.capstan.dev/drift-max-in-flight: is not read on a Machine\n  hint: set it on the Cluster",
      ],
    ],
  },
  {
    name: "an annotation of ours that nobody knows",
    texts: [
      changed(
        cluster,
        "name: prod",
        "name: prod, annotations: { capstan.dev/updatepolicy: inPlaceOnly }",
      ),
    ],
    want: [
      [
        "FIELD_UNKNOWN",
        'f.yaml:3:40: error: Cluster default/prod: metadata.annotations.capstan.dev/updatepolicy: unknown annotation "capstan.dev/updatepolicy"\n  hint: did you mean capstan.dev/update-policy? docs/custom-resources.md lists all of them',
      ],
    ],
  },
  {
    name: "roles that contradict the versions",
    texts: [cluster, changed(member, "spec:\n", "spec:\n  roles: [Node]\n")],
    want: [
      [
        "ROLE_MISMATCH",
        "f.yaml:16:3: error: Machine default/cp: spec.roles: lacks Master although versions.controlPlane is set\n  hint: add Master to roles, or take versions.controlPlane away",
      ],
    ],
  },
  {
    name: "an empty selector",
    texts: [cluster, changed(set, "selector: { matchLabels: { set: s } }", "selector: {}")],
    want: [
      [
        "SELECTOR",
        "f.yaml:16:3: error: MachineSet default/s: spec.selector: is empty and would match nothing\n  hint: name labels that the template carries",
      ],
    ],
  },
  {
    name: "an expression that its own template does not satisfy",
    texts: [
      cluster,
      changed(
        set,
        "{ matchLabels: { set: s } }",
        "{ matchExpressions: [{ key: set, operator: NotIn, values: [s] }] }",
      ),
    ],
    want: [
      [
        "SELECTOR",
        "f.yaml:16:34: error: MachineSet default/s: spec.selector.matchExpressions.0: does not match the template's labels\n  hint: spec.template.metadata.labels must satisfy set NotIn s",
      ],
    ],
  },
  {
    name: "hosts whose network overlaps that of Pods",
    texts: [
      changed(
        cluster,
        "kind: LocalClusterProviderSpec }",
        "kind: LocalClusterProviderSpec, networkCidr: 192.168.4.0/24 }",
      ),
    ],
    want: [
      [
        "HOST_NETWORK",
        "f.yaml:10:86: error: Cluster default/prod: spec.providerSpec.value.networkCidr: 192.168.4.0/24 overlaps 192.168.0.0/16 (pods)\n  hint: hosts, Services and Pods need ranges of their own",
      ],
    ],
  },
  {
    name: "a label that YAML takes for a number",
    texts: [cluster, changed(machine, "labels: {", "labels: { shard: 1,")],
    want: [
      [
        "WRONG_TYPE",
        'f.yaml:14:32: error: Machine default/m: metadata.labels.shard: 1 must be of type string\n  hint: write it in quotes: "1"',
      ],
    ],
  },
  {
    name: "a field under its older and its present name",
    texts: [
      changed(
        cluster,
        "serviceDomain: cluster.local",
        "serviceDomain: cluster.local\n    dnsDomain: other.local",
      ),
    ],
    want: [
      [
        "FIELD_UNKNOWN",
        "f.yaml:9:5: error: Cluster default/prod: spec.clusterNetwork.dnsDomain: older spelling of serviceDomain, which is there too\n  hint: write one of them",
      ],
    ],
  },
  {
    name: "a class by a slip of its name",
    texts: [cluster, changed(machineClass, "name: big", "name: bigg"), fromClass],
    want: [
      [
        "CLASS_UNKNOWN",
        "f.yaml:23:34: error: Machine default/m: spec.providerSpec.valueFrom.machineClass.name: there is no MachineClass default/big in these manifests\n  hint: did you mean bigg?",
      ],
    ],
  },
  {
    name: "the KEP's spelling of the DNS domain is understood",
    texts: [changed(cluster, "serviceDomain", "dnsDomain")],
    want: [
      [
        "OLD_SPELLING",
        "f.yaml:8:5: warning: Cluster default/prod: spec.clusterNetwork.dnsDomain: older spelling of serviceDomain\n  hint: write serviceDomain",
      ],
    ],
  },
  {
    name: "the KEP's providerConfig is a text, and its mistakes are shown there",
    texts: [
      cluster,
      machine.replace(
        / {2}providerSpec:\n.*\n/,
        '  providerConfig: "{apiVersion: local.capstan.dev/v1alpha1, kind: LocalMachineProviderSpec, sise: large}"\n',
      ),
    ],
    want: [
      [
        "OLD_SPELLING",
        "f.yaml:17:3: warning: Machine default/m: spec.providerConfig: older spelling of providerSpec\n  hint: write providerSpec",
      ],
      [
        "FIELD_UNKNOWN",
        'f.yaml:17:3: error: Machine default/m: spec.providerConfig.value.sise: unknown field "sise"\n  hint: did you mean "size"?',
      ],
    ],
  },
  {
    name: "a timeout as v1beta1 of Cluster API spells it is understood",
    texts: [cluster, machine.replace("spec:", "spec:\n  nodeDrainTimeout: 10m")],
    want: [
      [
        "OLD_SPELLING",
        "f.yaml:16:3: warning: Machine default/m: spec.nodeDrainTimeout: older spelling of nodeDrainTimeoutSeconds\n  hint: write nodeDrainTimeoutSeconds",
      ],
    ],
  },
  {
    name: "one that is no duration is refused where it stands",
    texts: [cluster, machine.replace("spec:", "spec:\n  nodeVolumeDetachTimeout: soon")],
    want: [
      [
        "OLD_SPELLING",
        "f.yaml:16:3: warning: Machine default/m: spec.nodeVolumeDetachTimeout: older spelling of nodeVolumeDetachTimeoutSeconds\n  hint: write nodeVolumeDetachTimeoutSeconds",
      ],
      [
        "WRONG_TYPE",
        'f.yaml:16:3: error: Machine default/m: spec.nodeVolumeDetachTimeout: "soon" must be of type integer',
      ],
    ],
  },
  {
    name: "a timeout that is negative",
    texts: [
      cluster,
      machine.replace("spec:", "spec:\n  deletion: { nodeDeletionTimeoutSeconds: -1 }"),
    ],
    want: [
      [
        "NOT_ALLOWED",
        "f.yaml:16:15: error: Machine default/m: spec.deletion.nodeDeletionTimeoutSeconds: -1 must be >= 0",
      ],
    ],
  },
];

describe("rules that span fields and objects", () => {
  for (const { name, texts, want } of cases) {
    it(name, () => {
      const { diagnostics } = read(...texts);
      const got = diagnostics.map((one) => [one.code, diagnosticText(one)]);
      assert.deepEqual(got, want);
    });
  }

  it("a MachineClass stands in for the value, with defaults filled in", () => {
    const { clusters, diagnostics } = read(machineClass, cluster, fromClass);
    assert.deepEqual(diagnostics, []);
    const spec = clusters[0]?.machines[0]?.spec.providerSpec;
    assert.deepEqual(
      [spec?.value?.["size" as never], spec?.value?.["diskGib" as never]],
      ["large", 20],
    );
  });

  it("a history of MachineSets is what an API server keeps", () => {
    const value: unknown = parse(deploymentWith("revisionHistoryLimit: 5"));
    const objects = [
      { name: "Cluster default/prod", value: parse(cluster) as unknown },
      { name: "MachineDeployment default/s", value },
    ];
    assert.deepEqual(readObjects(objects, [localProvider()]).diagnostics, []);
  });

  it("what a server adds is not wanted by anybody", () => {
    const served = changed(
      machine,
      "name: m,",
      "name: m, uid: u, resourceVersion: '7', generation: 2,",
    );
    const [bare] = read(cluster, machine).clusters;
    const { clusters, diagnostics } = read(cluster, `${served}status: { phase: Running }\n`);
    assert.deepEqual(diagnostics, []);
    assert.deepEqual(clusters[0]?.machines, bare?.machines);
  });

  it("a taint's time is a server's word, too", () => {
    const tainted = (more: string) =>
      changed(
        machine,
        "versions:",
        `taints: [{ key: gpu, effect: NoExecute${more} }]\n  versions:`,
      );
    const [bare] = read(cluster, tainted("")).clusters;
    const served = read(cluster, tainted(", timeAdded: '2026-01-02T03:04:05Z'"));
    assert.deepEqual(served.diagnostics, []);
    assert.equal(bare?.machines[0]?.spec.taints?.length, 1);
    assert.deepEqual(served.clusters[0]?.machines, bare.machines);
  });

  it("a stack name that Pulumi would refuse is cut, hashed and told", () => {
    const name = "n".repeat(60);
    const long = changed(cluster, "name: prod", `name: ${name}, namespace: ${"s".repeat(60)}`);
    const { clusters, diagnostics } = read(long);
    assert.deepEqual(
      diagnostics.map(({ code, severity }) => [code, severity]),
      [["STACK_NAME", "warning"]],
    );
    const [desired] = clusters;
    assert.ok(desired !== undefined);
    const stack = stackNameOf(desired.cluster);
    assert.equal(stack.length, maxStackNameLength);
    const other = read(changed(long, name, `${"n".repeat(59)}m`)).clusters[0];
    assert.ok(other !== undefined);
    assert.notEqual(stackNameOf(other.cluster), stack);
  });
});
