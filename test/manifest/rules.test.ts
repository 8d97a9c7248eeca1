import assert from "node:assert/strict";
import { parse } from "yaml";
import type { DiagnosticCode } from "../../src/api/diagnostic-codes.js";
import { maxStackNameLength, stackNameOf } from "../../src/api/types.js";
import { readObjects } from "../../src/manifest/desired.js";
import { localProvider } from "../support/manifests.js";
import { cluster, machine, read, set, toldOf } from "./texts.js";
import { testGolden } from "../support/golden.js";

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
  readonly codes: readonly DiagnosticCode[];
}

const cases: readonly Case[] = [
  {
    name: "address ranges that overlap",
    texts: [changed(cluster, "192.168.0.0/16", "10.100.0.0/16")],
    codes: ["CIDR_OVERLAP"],
  },
  {
    name: "an address range that is none",
    texts: [changed(cluster, "192.168.0.0/16", "300.168.0.0/16")],
    codes: ["BAD_FORMAT"],
  },
  ...["010.0.0.0/8", "10.0.0.0/08", "::ffff:10.0.0.0/104"].map((range): Case => ({
    name: `an address range that an API server does not read: ${range}`,
    texts: [changed(cluster, "192.168.0.0/16", `"${range}"`)],
    codes: ["BAD_FORMAT"],
  })),
  {
    name: "an address range that begins with a zero, in hexadecimal",
    texts: [changed(cluster, "192.168.0.0/16", '"0064:ff9b::/96"')],
    codes: [],
  },
  {
    name: "a kubelet newer than the control plane",
    texts: [cluster, member, changed(machine, "1.34.2", "1.35.0")],
    codes: ["VERSION_SKEW"],
  },
  {
    name: "a kubelet too old for the control plane",
    texts: [cluster, member, changed(machine, "1.34.2", "1.30.9")],
    codes: ["VERSION_SKEW"],
  },
  {
    name: "a kubelet three minors behind is fine",
    texts: [cluster, member, changed(machine, "1.34.2", "1.31.0")],
    codes: [],
  },
  {
    name: "a newer patch of the control plane's minor is fine",
    texts: [cluster, member, changed(machine, "1.34.2", "1.34.9")],
    codes: [],
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
    codes: ["PROVIDER_SPEC"],
  },
  {
    name: "a MachineClass that is not there",
    texts: [cluster, fromClass],
    codes: ["CLASS_UNKNOWN"],
  },
  {
    name: "a MachineClass of another provider than its user says",
    texts: [machineClass, cluster, changed(fromClass, "name: big }", "name: big, provider: aws }")],
    codes: ["PROVIDER_MISMATCH"],
  },
  {
    name: "a MachineClass of the provider that its user says",
    texts: [
      machineClass,
      cluster,
      changed(fromClass, "name: big }", "name: big, provider: local }"),
    ],
    codes: [],
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
    codes: ["NOT_ALLOWED"],
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
    codes: ["NOT_ALLOWED"],
  },
  {
    name: "a MachineClass that is wrong itself: its users are not told that it is missing",
    texts: [cluster, changed(machineClass, "size: large", "size: huge"), fromClass],
    codes: ["NOT_ALLOWED"],
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
    codes: ["NOT_ALLOWED", "NOT_ALLOWED", "NOT_ALLOWED"],
  },
  {
    name: "a progress deadline that nothing can meet",
    texts: [cluster, deploymentWith("minReadySeconds: 8", "progressDeadlineSeconds: 8")],
    codes: ["NOT_ALLOWED"],
  },
  {
    name: "bounds of a rolling update that there is not",
    texts: [
      cluster,
      deploymentWith("strategy: { type: OnDelete, rollingUpdate: { maxSurge: 2 } }"),
    ],
    codes: ["NO_EFFECT"],
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
    codes: ["NO_EFFECT"],
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
    codes: [],
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
    codes: ["NO_EFFECT"],
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
    codes: ["NOT_ALLOWED", "NOT_ALLOWED", "NOT_ALLOWED", "NOT_ALLOWED", "NOT_ALLOWED"],
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
    codes: ["FIELD_UNKNOWN"],
  },
  {
    name: "roles that contradict the versions",
    texts: [cluster, changed(member, "spec:\n", "spec:\n  roles: [Node]\n")],
    codes: ["ROLE_MISMATCH"],
  },
  {
    name: "an empty selector",
    texts: [cluster, changed(set, "selector: { matchLabels: { set: s } }", "selector: {}")],
    codes: ["SELECTOR"],
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
    codes: ["SELECTOR"],
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
    codes: ["HOST_NETWORK"],
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
    codes: ["FIELD_UNKNOWN"],
  },
  {
    name: "a class by a slip of its name",
    texts: [cluster, changed(machineClass, "name: big", "name: bigg"), fromClass],
    codes: ["CLASS_UNKNOWN"],
  },
  {
    name: "the KEP's spelling of the DNS domain is understood",
    texts: [changed(cluster, "serviceDomain", "dnsDomain")],
    codes: ["OLD_SPELLING"],
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
    codes: ["OLD_SPELLING", "FIELD_UNKNOWN"],
  },
  {
    name: "a timeout as v1beta1 of Cluster API spells it is understood",
    texts: [cluster, machine.replace("spec:", "spec:\n  nodeDrainTimeout: 10m")],
    codes: ["OLD_SPELLING"],
  },
  {
    name: "one that is no duration is refused where it stands",
    texts: [cluster, machine.replace("spec:", "spec:\n  nodeVolumeDetachTimeout: soon")],
    codes: ["OLD_SPELLING", "WRONG_TYPE"],
  },
  {
    name: "a timeout that is negative",
    texts: [
      cluster,
      machine.replace("spec:", "spec:\n  deletion: { nodeDeletionTimeoutSeconds: -1 }"),
    ],
    codes: ["NOT_ALLOWED"],
  },
];

describe("rules that span fields and objects", () => {
  testGolden("diagnostics-rules", cases, ({ texts, codes }) => {
    const { diagnostics } = read(...texts);
    assert.deepEqual(
      diagnostics.map(({ code }) => code),
      codes,
    );
    return toldOf({ diagnostics });
  });

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
