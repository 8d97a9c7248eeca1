import { ruleWords } from "../../src/api/rules.js";
import {
  cluster,
  machine,
  machineDeployment,
  machineSet,
  type Manifest,
} from "../support/manifests.js";

type Path = readonly (string | number)[];

/** A copy with another value at a path; undefined takes the member away. */
export function changed(manifest: Manifest, path: Path, value: unknown): Manifest {
  const copy = structuredClone(manifest);
  let parent: Manifest = copy;
  for (const part of path.slice(0, -1)) parent = (parent[part] ??= {}) as Manifest;
  const last = String(path.at(-1));
  if (value === undefined) delete parent[last];
  else parent[last] = value;
  return copy;
}

/** An object that is wrong, and what is said of it. */
export interface SchemaRefusal {
  readonly name: string;
  readonly object: Manifest;
  /** Where it is wrong, as an API server writes it. */
  readonly at: string;
  /** What an API server and `validate` both say. */
  readonly words: string;
  /** What `validate` says instead, where an API server has words of its own. */
  readonly wordsOfCli?: string;
}

const controlPlane = { controlPlane: "1.34.2" };
const worker = machine("m");
const member = machine("cp", controlPlane);
const set = machineSet("s", 1);
const deployment = machineDeployment("d", 1);
const pods = ["spec", "clusterNetwork", "pods", "cidrBlocks"];
const versions = ["spec", "versions"];
const templateLabels = ["spec", "template", "metadata", "labels"];
const surge = ["spec", "strategy", "rollingUpdate", "maxSurge"];

/** Everything that both refuse before an object exists. */
export const refusals: readonly SchemaRefusal[] = [
  {
    name: "a name with a dot",
    object: changed(worker, ["metadata", "name"], "a.b"),
    at: "metadata.name",
    words: "has the wrong form",
  },
  {
    name: "a name that is too long",
    object: changed(worker, ["metadata", "name"], "a".repeat(64)),
    at: "metadata.name",
    words: "more than 63",
  },
  ...[changed(set, ["metadata", "name"], "a".repeat(58))]
    .concat(changed(deployment, ["metadata", "name"], "a".repeat(45)))
    .map((object) => ({
      name: `a name of a ${String(object["kind"])} that is too long for its Machines`,
      object,
      at: "metadata.name",
      words: "more than",
    })),
  {
    name: "no version",
    object: changed(worker, [...versions, "kubelet"], "latest"),
    at: "spec.versions.kubelet",
    words: "Version of the kubelet, e.g. 1.34.2",
  },
  {
    name: "no version in a template",
    object: changed(deployment, ["spec", "template", ...versions, "kubelet"], "1.34"),
    at: "spec.template.spec.versions.kubelet",
    words: "has the wrong form",
  },
  {
    name: "a kubelet that is newer than its control plane",
    object: changed(member, [...versions, "kubelet"], "v1.35.0"),
    at: "spec.versions.kubelet",
    words: ruleWords.kubeletNewer.summary,
  },
  {
    name: "a kubelet that is too old for its control plane",
    object: changed(member, [...versions, "kubelet"], "1.30.9"),
    at: "spec.versions.kubelet",
    words: ruleWords.kubeletTooOld.hint,
  },
  {
    name: "neither value nor valueFrom",
    object: changed(worker, ["spec", "providerSpec"], {}),
    at: "spec.providerSpec",
    words: ruleWords.noProviderSpec.summary,
  },
  {
    name: "both value and valueFrom",
    object: changed(cluster(), ["spec", "providerSpec", "valueFrom"], {
      machineClass: { name: "a" },
    }),
    at: "spec.providerSpec.valueFrom",
    words: ruleWords.bothProviderSpecs.summary,
  },
  {
    name: "no providerSpec",
    object: changed(worker, ["spec", "providerSpec"], undefined),
    at: "spec.providerSpec",
    words: "Required value",
    wordsOfCli: "missing field",
  },
  {
    name: "a control plane without the role",
    object: changed(member, ["spec", "roles"], ["Node"]),
    at: "spec.roles",
    words: ruleWords.noMaster.summary,
  },
  ...[
    { at: "labels", marks: { "a b": "c" }, words: ruleWords.badKey },
    { at: "labels", marks: { "Example.com/a": "c" }, words: ruleWords.badKey },
    { at: "labels", marks: { [`${"a".repeat(254)}/b`]: "c" }, words: ruleWords.badKey },
    { at: "labels", marks: { ["a".repeat(64)]: "c" }, words: ruleWords.badKey },
    { at: "annotations", marks: { "a/b/c": "any text" }, words: ruleWords.badKey },
    { at: "annotations", marks: { "-a": "any text" }, words: ruleWords.badKey },
    { at: "labels[tier]", marks: { tier: "a b" }, words: ruleWords.badLabelValue },
    { at: "labels[tier]", marks: { tier: "-a" }, words: ruleWords.badLabelValue },
  ].flatMap(({ at, marks, words }) => {
    const [kind = ""] = at.split("[");
    const ofNode = ["spec", "metadata"];
    return [
      {
        name: `${at} of a Node that cannot be: ${JSON.stringify(marks).slice(0, 30)}`,
        object: changed(worker, [...ofNode, kind], marks),
        at: `spec.metadata.${at}`,
        words: words.summary,
      },
      {
        name: `${at} of a template that cannot be: ${JSON.stringify(marks).slice(0, 30)}`,
        object: changed(deployment, ["spec", "template", "metadata", kind], {
          ...(kind === "labels" && { set: "d" }),
          ...marks,
        }),
        at: `spec.template.metadata.${at}`,
        words: words.summary,
      },
    ];
  }),
  ...[
    { taint: { key: "a b", effect: "NoSchedule" }, at: "key", words: ruleWords.badKey },
    {
      taint: { key: "a", value: "b c", effect: "NoExecute" },
      at: "value",
      words: ruleWords.badLabelValue,
    },
  ].map(({ taint, at, words }) => ({
    name: `a taint with a ${at} that cannot be`,
    object: changed(worker, ["spec", "taints"], [taint]),
    at: `spec.taints[0].${at}`,
    words: words.summary,
  })),
  {
    name: "one taint twice",
    object: changed(
      worker,
      ["spec", "taints"],
      ["a", "b"].map((value) => ({ key: "k", value, effect: "NoSchedule" })),
    ),
    at: "spec.taints[1]",
    words: "Duplicate value",
    wordsOfCli: ruleWords.doubleTaint.summary,
  },
  {
    name: "one role twice",
    object: changed(worker, ["spec", "roles"], ["Node", "Node"]),
    at: "spec.roles",
    words: ruleWords.doubleRole.summary,
  },
  {
    name: "a role that nobody knows",
    object: changed(worker, ["spec", "roles"], ["Worker"]),
    at: "spec.roles[0]",
    words: "Unsupported value",
    wordsOfCli: "is not one of",
  },
  {
    name: "no address range",
    object: changed(cluster(), pods, ["300.168.0.0/16"]),
    at: "spec.clusterNetwork.pods.cidrBlocks[0]",
    words: ruleWords.badRange.summary,
  },
  ...["Cluster.Local", "a..b", "cluster.local.", "under_score"].map((domain) => ({
    name: `a domain of Services that is no DNS name: ${domain}`,
    object: changed(cluster(), ["spec", "clusterNetwork", "serviceDomain"], domain),
    at: "spec.clusterNetwork.serviceDomain",
    words: "has the wrong form",
  })),
  {
    name: "a range of Pods inside the range of Services",
    object: changed(cluster(), pods, ["10.100.0.0/16"]),
    at: "spec.clusterNetwork.pods.cidrBlocks",
    words: ruleWords.overlap.hint,
  },
  {
    name: "two ranges of Pods that overlap",
    object: changed(cluster(), pods, ["192.168.0.0/16", "fd00::/48", "192.168.3.0/24"]),
    at: "spec.clusterNetwork.pods.cidrBlocks",
    words: ruleWords.overlap.hint,
  },
  {
    name: "no address range at all",
    object: changed(cluster(), pods, []),
    at: "spec.clusterNetwork.pods.cidrBlocks",
    words: "at least 1",
    wordsOfCli: "fewer than 1",
  },
  {
    name: "an empty selector",
    object: changed(set, ["spec", "selector"], {}),
    at: "spec.selector",
    words: ruleWords.emptySelector.summary,
  },
  {
    name: "a selector that wants another label",
    object: changed(set, templateLabels, { set: "other" }),
    at: "spec.selector.matchLabels",
    words: ruleWords.mismatch.summary,
  },
  {
    name: "a template without labels",
    object: changed(deployment, ["spec", "template", "metadata"], undefined),
    at: "spec.selector.matchLabels",
    words: ruleWords.mismatch.summary,
  },
  ...[
    { key: "set", operator: "NotIn", values: ["s"] },
    { key: "set", operator: "In", values: ["other"] },
    { key: "set", operator: "DoesNotExist" },
    { key: "tier", operator: "Exists" },
    { key: "tier", operator: "In", values: ["a"] },
  ].map((requirement) => ({
    name: `a selector that its template fails: ${requirement.key} ${requirement.operator}`,
    object: changed(set, ["spec", "selector"], { matchExpressions: [requirement] }),
    at: "spec.selector.matchExpressions",
    words: ruleWords.mismatch.summary,
  })),
  {
    name: "less than no replicas",
    object: changed(deployment, ["spec", "replicas"], -1),
    at: "spec.replicas",
    words: "greater than or equal to 0",
    wordsOfCli: "must be >= 0",
  },
  {
    name: "a bound that is neither a number nor a percentage",
    object: changed(deployment, surge, "many"),
    at: "spec.strategy.rollingUpdate.maxSurge",
    words: "a number or a percentage such as 25%",
  },
  {
    name: "a deadline that nothing can meet",
    object: changed(
      changed(deployment, ["spec", "minReadySeconds"], 8),
      ["spec", "progressDeadlineSeconds"],
      8,
    ),
    at: "spec.progressDeadlineSeconds",
    words: ruleWords.deadline.summary,
  },
  {
    name: "a policy that nobody knows",
    object: changed(set, ["spec", "deletePolicy"], "First"),
    at: "spec.deletePolicy",
    words: "Unsupported value",
    wordsOfCli: "is not one of",
  },
  {
    name: "a field that nobody knows",
    object: changed(worker, [...versions, "kubelett"], "1.34.2"),
    at: 'unknown field "spec.versions.kubelett"',
    words: "unknown field",
  },
];

/** A change that both refuse. */
export interface SchemaRefusedChange {
  readonly name: string;
  readonly from: Manifest;
  readonly to: Manifest;
  readonly at: string;
  readonly words: string;
}

export const refusedChanges: readonly SchemaRefusedChange[] = [
  {
    name: "of a cluster's networks",
    from: cluster(),
    to: changed(cluster(), pods, ["192.168.0.0/17"]),
    at: "spec.clusterNetwork",
    words: "make a new Cluster with the other networks",
  },
  {
    name: "of a cluster's provider",
    from: cluster(),
    to: changed(cluster(), ["spec", "providerSpec", "value", "apiVersion"], "other.dev/v1"),
    at: "spec.providerSpec.value.apiVersion",
    words: "make a new Cluster on the other provider",
  },
  ...[set, deployment].map((from) => ({
    name: `of a ${String(from["kind"])}'s selector`,
    from,
    to: changed(from, ["spec", "selector"], {
      matchExpressions: [{ key: "set", operator: "Exists" }],
    }),
    at: "spec.selector",
    words: `make a new ${String(from["kind"])}`,
  })),
  {
    name: "from worker to control-plane member",
    from: worker,
    to: machine("m", controlPlane),
    at: "spec",
    words: ruleWords.newRole.hint,
  },
  {
    name: "from control-plane member to worker, in a template",
    from: machineSet("s", 1, controlPlane),
    to: set,
    at: "spec.template.spec",
    words: ruleWords.newRole.hint,
  },
];

/** Objects with everything that may be left out, and with much that may be there. */
export const accepted: readonly Manifest[] = [
  cluster(),
  changed(cluster(), pods, ["192.168.0.0/16", "fd00::/48"]),
  member,
  changed(worker, versions, undefined),
  changed(worker, versions, controlPlane),
  changed(worker, versions, { containerRuntime: { name: "containerd" } }),
  changed(worker, versions, { kubelet: "1.34.2", containerRuntime: { version: "2.1.4" } }),
  changed(changed(worker, versions, undefined), ["spec", "roles"], ["Master"]),
  changed(
    worker,
    ["spec", "taints"],
    [
      { key: "dedicated", effect: "NoSchedule" },
      { key: "dedicated", effect: "NoExecute" },
      { key: `${"a".repeat(253)}/${"b".repeat(63)}`, value: "a_b.c", effect: "NoExecute" },
    ],
  ),
  changed(worker, ["spec", "metadata"], {
    labels: { "example.com/Team": "A.b_c-d", empty: "", ["a".repeat(63)]: "a".repeat(63) },
    annotations: { "Example.COM/Team": "any text, of any length" },
  }),
  changed(worker, ["spec", "providerSpec"], { valueFrom: { machineClass: { name: "a" } } }),
  set,
  changed(set, ["spec", "replicas"], undefined),
  changed(set, ["spec", "selector"], {
    matchExpressions: [
      { key: "set", operator: "In", values: ["s", "t"] },
      { key: "tier", operator: "DoesNotExist" },
      { key: "tier", operator: "NotIn", values: ["a"] },
    ],
  }),
  deployment,
  changed(deployment, ["spec", "replicas"], undefined),
  changed(deployment, ["spec", "strategy"], {}),
  changed(deployment, surge, "25%"),
  changed(deployment, ["spec", "progressDeadlineSeconds"], 0),
];
