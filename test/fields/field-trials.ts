import { allowRemovalAnnotation, protectAnnotation } from "../../src/api/protection.js";
import { driftAnnotations } from "../../src/api/drift-policy.js";
import type { Json, JsonObject } from "../../src/api/json.js";
import type { Kind } from "../../src/api/schema.js";
import { profileAnnotation } from "../../src/api/set-profile.js";
import { updatePolicyAnnotation } from "../../src/api/update-policy.js";
import { localApiVersion } from "../../providers/local/specs.js";
import type { FieldTrial, TrialStep } from "./field-trial.js";

type PartOfTrial = Omit<FieldTrial, "kind">;

/** {a: {b: value}} for "a.b". Names of annotations stand in brackets, since they have dots. */
export function at(path: string, value: Json): JsonObject {
  const parts = /\[.*\]/.test(path)
    ? [...path.replace(/\[.*$/, "").split("."), path.replace(/^.*\[|\]$/g, "")]
    : path.split(".");
  return parts.reduceRight<Json>((inner, part) => ({ [part]: inner }), value) as JsonObject;
}

/** Two values of one field. */
function values(field: string, one: Json, other: Json, about: Partial<PartOfTrial> = {}) {
  return { field, one: at(field, one), other: at(field, other), ...about };
}

/** A field in a list of one item, beside other members of the item. */
function inItem(
  list: string,
  name: string,
  beside: JsonObject,
  one: Json,
  other: Json,
): PartOfTrial {
  const item = (value: Json) => (value === null ? beside : { ...beside, [name]: value });
  return {
    field: `${list}.${name}`,
    one: at(list, [item(one)]),
    other: at(list, [item(other)]),
  };
}

const local = (kind: string): JsonObject => ({ apiVersion: localApiVersion, kind });
const machineValue = "providerSpec.value";
const fromClass = (name: string, beside: JsonObject = {}): JsonObject => ({
  value: null,
  valueFrom: { machineClass: { name, ...beside } },
});
const taint = { key: "dedicated", effect: "NoSchedule" };
const configMap = { name: "kubelet", namespace: "default", kubeletConfigKey: "kubelet" };
const configMapPath = "configSource.configMap";

/** Fields of the local cloud's part of a machine, with two values each. */
const ofLocalMachines: readonly PartOfTrial[] = [
  values("size", "small", "large"),
  values("otherSizes", ["medium"], ["large"]),
  values("resizable", false, true),
  values("spot", false, true),
  values("image", "local/ubuntu-24.04", "local/other"),
  values("imageFamily", "ubuntu", "debian"),
  values("zone", "local-a", "local-b"),
  values("diskGib", 20, 40, { decides: "`LocalHost.diskGib`; a smaller one needs a new host" }),
  values("tags", {}, { team: "a" }),
  values("bootMs", 5, 6),
  values("joinMs", 5, 6),
  values("dataVolume", { gib: 5 }, { gib: 6 }),
  values("faults", [], [{ call: "terminate", mode: "throttle" }]),
  values("kubeadm", {}, { nodeRegistration: { kubeletExtraArgs: { v: "4" } } }),
  values("bootstrap", {}, { preKubeadmCommands: ["true"] }),
].map((part) => ({
  ...part,
  field: `${machineValue}.${part.field}`,
  both: at("versions.kubelet", "1.34.2"),
  one: at(machineValue, { ...local("LocalMachineProviderSpec"), ...part.one }),
  other: at(machineValue, { ...local("LocalMachineProviderSpec"), ...part.other }),
}));

/** Fields of a Machine's spec, wherever it stands. */
const ofMachineSpecs: readonly PartOfTrial[] = [
  values("metadata.labels", {}, { node: "a" }),
  values("metadata.annotations", {}, { node: "a" }),
  inItem("taints", "key", taint, "dedicated", "other"),
  inItem("taints", "value", taint, null, "gpu"),
  inItem("taints", "effect", taint, "NoSchedule", "NoExecute"),
  ...ofLocalMachines,
  {
    field: "providerSpec.valueFrom.machineClass.name",
    one: at("providerSpec", fromClass("big")),
    other: at("providerSpec", fromClass("huge")),
  },
  {
    field: "providerSpec.valueFrom.machineClass.provider",
    one: at("providerSpec", fromClass("big", { provider: "local" })),
    other: at("providerSpec", fromClass("big", { provider: "elsewhere" })),
  },
  values("versions.kubelet", "1.34.1", "1.34.2"),
  {
    field: "versions.controlPlane",
    both: at("versions.kubelet", "1.34.1"),
    one: at("versions.controlPlane", "1.34.1"),
    other: at("versions.controlPlane", "1.34.2"),
    decides:
      "whether the Machine is a control-plane member, and its version: `LocalHost.controlPlane`",
  },
  {
    field: "versions.containerRuntime.name",
    both: at("versions.kubelet", "1.34.2"),
    one: at("versions.containerRuntime.name", "containerd"),
    other: at("versions.containerRuntime.name", "cri-o"),
  },
  {
    field: "versions.containerRuntime.version",
    both: at("versions", { kubelet: "1.34.2", containerRuntime: { name: "containerd" } }),
    one: at("versions.containerRuntime.version", "2.1.4"),
    other: at("versions.containerRuntime.version", "2.1.5"),
  },
  values("roles", ["Master"], ["Master", "Node"], { both: at("versions.kubelet", "1.34.2") }),
  ...["name", "namespace", "kubeletConfigKey", "uid", "resourceVersion"].map((name) => ({
    field: `${configMapPath}.${name}`,
    one: at(configMapPath, { ...configMap, [name]: "a" }),
    other: at(configMapPath, { ...configMap, [name]: "b" }),
  })),
];

/** How long the deletion of a Machine takes that `steps` ask for. */
const deletions = (...steps: TrialStep[]) =>
  (
    [
      ["nodeDrainTimeoutSeconds", "pods", "how long pods may take to move"],
      ["nodeVolumeDetachTimeoutSeconds", "volumes", "how long volumes may take to be detached"],
      ["nodeDeletionTimeoutSeconds", "Nodes", "how long the deletion of the Node is tried for"],
    ] as const
  ).map(([name, keeps, decides]) => values(`deletion.${name}`, 1, 3, { keeps, decides, steps }));

/** The parts below a path of an object. */
function below(path: string, parts: readonly PartOfTrial[]): PartOfTrial[] {
  return parts.map(({ field, one, other, both, ...rest }) => ({
    ...rest,
    field: `${path}.${field}`,
    both: at(path, both ?? {}),
    one: at(path, one),
    other: at(path, other),
  }));
}

const anotherTemplate = at("spec.template.spec.providerSpec.value.size", "medium");
const change = (fields: JsonObject): TrialStep => ({ kind: "change", fields });
const replicas = (number: number) => at("spec.replicas", number);
const zone = (value: string) => ({ template: { metadata: { labels: { zone: value } } } });

const ofTools = {
  in: "both",
  because: "of the object itself, for selectors, people and tools",
} as const;
const labels = values("metadata.labels", {}, { tier: "a" }, { withoutEffect: ofTools });
const annotations = values(
  "metadata.annotations",
  {},
  { "example.com/note": "a" },
  { withoutEffect: ofTools },
);
const ofObjects = {
  in: "files",
  because: "shown on the Machines of an API server; files have no Machine objects of sets",
} as const;
const ofWatch = {
  in: "files",
  because: "read by `capstan watch`; whoever types `up` has seen the plan",
} as const;

function annotation(name: string, one: Json, other: Json, about: Partial<PartOfTrial> = {}) {
  const field = `metadata.annotations[${name}]`;
  const member = (value: Json) => (value === null ? {} : at(field, value));
  return { field, one: member(one), other: member(other), ...about };
}

const protect = annotation(protectAnnotation, "false", "true", {
  steps: [{ kind: "remove" }],
  decides: "whether the object may be removed",
});
const replacement = { decides: "whether hosts change in place or are replaced" };
const updatePolicy = (fields: JsonObject) =>
  annotation(updatePolicyAnnotation, "preferInPlace", "replaceOnly", {
    ...replacement,
    steps: [change(fields)],
  });
const disk = (path: string) => at(`${path}.diskGib`, 60);
const lost: TrialStep = { kind: "lose", hosts: 1 };
const policy = annotation(driftAnnotations.policy, "correct", "ignore", {
  steps: [lost],
  decides: "what becomes of drift",
});

/** Whose marks count is one of the things that differ. */
const profile = (marked: string) =>
  annotation(profileAnnotation, "v1alpha1", "modern", {
    both: {
      spec: { replicas: 3 },
      metadata: { annotations: { "cluster.k8s.io/delete-machine": marked } },
    },
    steps: [change(replicas(2))],
    decides: "whose arithmetic counts, that of the first Cluster API or of today's",
  });

const ofSets: readonly PartOfTrial[] = [
  labels,
  annotations,
  protect,
  policy,
  values("spec.replicas", 1, 3, { decides: "how many Machines there are" }),
  values("spec.minReadySeconds", 0, 2, {
    steps: [change(anotherTemplate), change(replicas(1))],
    decides: "when a new Machine counts as available",
  }),
  {
    field: "spec.selector.matchLabels",
    both: { spec: zone("a") },
    one: at("spec.selector.matchLabels", { zone: "a" }),
    other: at("spec.selector.matchLabels", { zone: "b" }),
    decides: "which Machines are the set's: its template has to match",
  },
  ...(
    [
      ["key", { operator: "In", values: ["a"] }, "zone", "other"],
      ["operator", { key: "zone", values: ["a"] }, "In", "NotIn"],
      ["values", { key: "zone", operator: "In" }, ["a"], ["b"]],
    ] as const
  ).map(([name, beside, one, other]): PartOfTrial => ({
    ...inItem(
      "spec.selector.matchExpressions",
      name,
      beside as JsonObject,
      one as Json,
      other as Json,
    ),
    both: { spec: zone("a") },
    decides: "which Machines are the set's: its template has to match",
  })),
  values(
    "spec.template.metadata.labels",
    {},
    { tier: "a" },
    { withoutEffect: ofObjects, isShown: true },
  ),
  values(
    "spec.template.metadata.annotations",
    {},
    { "example.com/note": "a" },
    { withoutEffect: ofObjects, isShown: true },
  ),
  ...below("spec.template.spec", [...ofMachineSpecs, ...deletions(change(replicas(1)))]),
];

const drained = {
  keeps: "pods that go",
  steps: [{ kind: "fewerOthers" }],
} as const satisfies Partial<PartOfTrial>;
const onlyA = at("spec.pods", [{ selector: { matchLabels: { app: "a" } } }]);
/** Whether a selector of a rule that skips pods fits, by each of its members. Any value fits a key that is not there. */
const ofSelector = (list: string, name: string, fitting: string): PartOfTrial[] => {
  const selecting = (selector: JsonObject) => at(`spec.${list}`, [{ [name]: selector }]);
  const of = (member: string, one: JsonObject, other: JsonObject): PartOfTrial => ({
    ...drained,
    field: `spec.${list}.${name}.${member}`,
    one: selecting(one),
    other: selecting(other),
    decides: `for which ${list} the rule is`,
  });
  const requirement = (more: JsonObject) => ({ matchExpressions: [more] });
  return [
    of("matchLabels", { matchLabels: {} }, { matchLabels: { [fitting]: "elsewhere" } }),
    of(
      "matchExpressions.key",
      requirement({ key: fitting, operator: "Exists" }),
      requirement({ key: "nothing", operator: "Exists" }),
    ),
    of(
      "matchExpressions.operator",
      requirement({ key: fitting, operator: "Exists" }),
      requirement({ key: fitting, operator: "DoesNotExist" }),
    ),
    of(
      "matchExpressions.values",
      requirement({ key: fitting, operator: "NotIn", values: ["elsewhere"] }),
      requirement({ key: fitting, operator: "In", values: ["elsewhere"] }),
    ),
  ];
};
const ofDrainRules: readonly PartOfTrial[] = [
  values("spec.drain.behavior", "Drain", "WaitCompleted", {
    ...drained,
    decides: "what is done with the pods",
  }),
  values("spec.drain.order", 0, 5, {
    ...drained,
    both: { spec: { ...(onlyA["spec"] as JsonObject), drain: { behavior: "Drain" } } },
    decides: "which pods go first",
  }),
  ...ofSelector("machines", "selector", "set"),
  ...ofSelector("machines", "clusterSelector", "tier"),
  ...ofSelector("pods", "selector", "app"),
  ...ofSelector("pods", "namespaceSelector", "kubernetes.io/metadata.name"),
];

/** A worker says that it is not ready, and five minutes pass. */
const sick = (about: Partial<PartOfTrial> = {}): Partial<PartOfTrial> => ({
  keeps: "nothing",
  steps: [
    { kind: "ail", hosts: 1, says: { type: "Ready", status: "False" } },
    { kind: "wait", ms: 300_000 },
  ],
  ...about,
});
const notReady = { type: "Ready", status: "False", timeoutSeconds: 200 };
const conditions = "spec.checks.unhealthyNodeConditions";
const ofCheckSelector = (member: string, one: Json, other: Json): PartOfTrial => ({
  ...sick({ decides: "which Machines are looked at" }),
  field: `spec.selector.${member}`,
  one: at("spec.selector", one),
  other: at("spec.selector", other),
});
const whichSet = (more: JsonObject): JsonObject => ({
  matchLabels: null,
  matchExpressions: [{ key: "set", ...more }],
});
const ofHealthChecks: readonly PartOfTrial[] = [
  values(
    "spec.clusterName",
    "prod",
    "elsewhere",
    sick({ decides: "whose Machines are looked at" }),
  ),
  ofCheckSelector(
    "matchLabels",
    { matchLabels: { set: "pool" } },
    { matchLabels: { set: "none" } },
  ),
  ofCheckSelector(
    "matchExpressions.key",
    whichSet({ operator: "Exists" }),
    whichSet({ key: "nothing", operator: "Exists" }),
  ),
  ofCheckSelector(
    "matchExpressions.operator",
    whichSet({ operator: "Exists" }),
    whichSet({ operator: "DoesNotExist" }),
  ),
  ofCheckSelector(
    "matchExpressions.values",
    whichSet({ operator: "In", values: ["pool"] }),
    whichSet({ operator: "In", values: ["none"] }),
  ),
  values("spec.checks.nodeStartupTimeoutSeconds", 100, 0, {
    keeps: "nothing",
    steps: [
      { kind: "ail", hosts: 1, says: "noNode" },
      { kind: "wait", ms: 300_000 },
    ],
    decides: "how long a host may be without its Node",
  }),
  ...(
    [
      ["type", "Ready", "DiskPressure", "which condition makes a Machine unhealthy"],
      ["status", "False", "Unknown", "which status of it does"],
      ["timeoutSeconds", 200, 3_600, "how long it may last"],
    ] as const
  ).map(([name, one, other, decides]) => ({
    ...inItem(conditions, name, notReady, one, other),
    ...sick({ decides }),
  })),
  values(
    "spec.remediation.triggerIf.unhealthyLessThanOrEqualTo",
    1,
    0,
    sick({ decides: "how many may be unhealthy for any of them to be replaced" }),
  ),
  values(
    "spec.remediation.triggerIf.unhealthyInRange",
    "[1-2]",
    "[2-3]",
    sick({ decides: "how many have to be unhealthy at least, and may be at most" }),
  ),
];

const budget = (bound: string) =>
  at(`metadata.annotations[${driftAnnotations.maxUnhealthy}]`, bound);
const believing = budget("100%");
const suspicious = budget("0");
const network = "spec.clusterNetwork";
const clusterValue = "spec.providerSpec.value";
const threeReplicas = { both: replicas(4) };

const byKind: Readonly<Record<Kind, readonly PartOfTrial[]>> = {
  Cluster: [
    labels,
    annotations,
    annotation(allowRemovalAnnotation, null, "workers", {
      steps: [{ kind: "removeOthers" }],
      decides: "what may be lost at once",
    }),
    policy,
    annotation(driftAnnotations.maxUnhealthy, "100%", "0", {
      steps: [lost],
      decides: "how much may be wrong before nothing is corrected any more",
    }),
    annotation(driftAnnotations.maxInFlight, "1", "2", {
      both: believing,
      steps: [{ kind: "lose", hosts: 2 }],
      decides: "how many machines are corrected at once",
      withoutEffect: ofWatch,
    }),
    annotation(driftAnnotations.freeze, "never", "1m", {
      both: suspicious,
      steps: [lost, { kind: "wait", ms: 120_000 }],
      decides: "how long nothing is corrected then",
      withoutEffect: ofWatch,
    }),
    {
      field: `metadata.annotations[${driftAnnotations.thaw}]`,
      one: {},
      other: {},
      steps: [{ kind: "lose", hosts: 9 }, { kind: "thaw" }],
      decides: "whether what looks implausible is believed",
    },
    protect,
    values(`${network}.services.cidrBlocks`, ["10.96.0.0/12"], ["10.112.0.0/16"]),
    values(`${network}.pods.cidrBlocks`, ["192.168.0.0/16"], ["172.16.0.0/16"]),
    values(`${network}.serviceDomain`, "cluster.local", "example.org"),
    ...[
      values("networkCidr", "10.0.0.0/16", "10.1.0.0/16"),
      values("failureDomains", ["local-a"], ["local-b"]),
      values("nodes", "simulated", "processes"),
      values("machineQuota", 5, 6),
      values("bootMs", 5, 6),
      values("joinMs", 5, 6),
      values("registersHosts", false, true, {
        decides: "whether members have a `LocalTarget` of their own",
      }),
      values("faults", [], [{ call: "terminate", mode: "throttle" }]),
    ].map(({ field, one, other, ...rest }) => ({
      ...rest,
      field: `${clusterValue}.${field}`,
      one: at(clusterValue, one),
      other: at(clusterValue, other),
    })),
    {
      field: `${clusterValue}.network`,
      one: {},
      other: at(`${clusterValue}.network`, "net-none"),
      decides: "whose network hosts are in",
    },
    {
      field: "spec.providerSpec.valueFrom.machineClass.name",
      one: at("spec.providerSpec", fromClass("network")),
      other: at("spec.providerSpec", fromClass("wide")),
    },
    {
      field: "spec.providerSpec.valueFrom.machineClass.provider",
      one: at("spec.providerSpec", fromClass("network", { provider: "local" })),
      other: at("spec.providerSpec", fromClass("network", { provider: "elsewhere" })),
    },
  ],
  Machine: [
    labels,
    annotations,
    protect,
    policy,
    updatePolicy(disk("spec.providerSpec.value")),
    ...below("spec", [
      ...ofMachineSpecs,
      ...deletions(change(at("spec.providerSpec.value.size", "medium"))),
    ]),
  ],
  MachineSet: [
    ...ofSets,
    values("spec.deletePolicy", "Oldest", "Newest", {
      steps: [change(replicas(4)), change(replicas(1))],
      decides: "which Machines go first",
    }),
    profile("s-1"),
  ],
  MachineDeployment: [
    ...ofSets,
    updatePolicy(disk("spec.template.spec.providerSpec.value")),
    profile("d-af5f5222-1"),
    values("spec.strategy.type", "RollingUpdate", "OnDelete", {
      steps: [change(anotherTemplate)],
      decides: "whether old Machines are replaced when the template changes",
    }),
    values("spec.strategy.rollingUpdate.maxSurge", 1, 3, {
      ...threeReplicas,
      steps: [change(anotherTemplate)],
      decides: "how many Machines more there may be",
    }),
    values("spec.strategy.rollingUpdate.maxUnavailable", 0, 2, {
      ...threeReplicas,
      steps: [change(anotherTemplate)],
      decides: "how many Machines less may be available",
    }),
    values("spec.revisionHistoryLimit", 1, 0, {
      steps: [change(anotherTemplate)],
      isShown: true,
      decides:
        "how many old MachineSets an API server keeps; in files it is warned of (`NO_EFFECT`)",
    }),
    values("spec.paused", false, true, {
      steps: [change(anotherTemplate)],
      decides: "whether a changed template is rolled out",
    }),
    values("spec.progressDeadlineSeconds", 1, 3, {
      steps: [{ kind: "changeBadly", fields: anotherTemplate, boot: "never" }],
      decides: "when a rollout without progress fails",
    }),
  ],
  MachineClass: [labels, annotations, values("providerSpec.size", "small", "large")],
  MachineDrainRule: [labels, annotations, ...ofDrainRules],
  MachineHealthCheck: [labels, annotations, ...ofHealthChecks],
};

/** For each field that users write, a trial of it. */
export const fieldTrials: readonly FieldTrial[] = Object.entries(byKind).flatMap(([kind, parts]) =>
  parts.map((part) => ({ ...part, kind: kind as Kind })),
);
