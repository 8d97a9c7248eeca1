import { type Static, type TSchema, Type } from "typebox";
import {
  deploymentRules,
  labelValueRules,
  machineSpecRules,
  networkRules,
  providerSpecRules,
  selectorRules,
  setRules,
  taintKeyRules,
  versionsRules,
} from "./rules.js";
import { machineDeletion } from "./machine-deletion.js";
import { machineDrainRuleSpec } from "./machine-drain-rule.js";
import { machineHealthCheckSpec } from "./machine-health-check.js";
import { matchExpressions } from "./label-requirement.js";
import { dnsLabel, dnsSubdomain, maxLabelLength, maxSubdomainLength } from "./name-forms.js";
import {
  closed,
  labelMap,
  mapList,
  marks,
  semver,
  stringEnum,
  stringMap,
  cidr,
  intOrPercent,
} from "./schema-parts.js";

/** Group and version of every object that users write. */
export const apiVersion = "cluster.k8s.io/v1alpha1";

/** The label that says which Cluster an object belongs to. Source: docs/cluster-api.md#machine. */
export const clusterNameLabel = "cluster.k8s.io/cluster-name";

const labels = Type.Optional(stringMap("Labels of the object, for selectors and tools."));
const annotations = Type.Optional(
  stringMap(
    'Annotations of the object, for tools. capstan.dev/protect: "true" keeps an object of a cluster from being removed; capstan.dev/allow-removal on a Cluster lets it lose its control-plane, its workers, or both.',
  ),
);

/** What an API server adds to an object: accepted from files and ignored there. */
const serverFields = {
  uid: Type.Optional(Type.String({ description: "Given by an API server; ignored in files." })),
  resourceVersion: Type.Optional(
    Type.String({ description: "Given by an API server; ignored in files." }),
  ),
  generation: Type.Optional(
    Type.Integer({ description: "Given by an API server; ignored in files." }),
  ),
  creationTimestamp: Type.Optional(
    Type.Union([Type.String(), Type.Null()], {
      description: "Given by an API server; ignored in files.",
    }),
  ),
  finalizers: Type.Optional(
    Type.Array(Type.String(), { description: "Kept by controllers; ignored in files." }),
  ),
  ownerReferences: Type.Optional(
    Type.Array(Type.Unknown(), { description: "Kept by controllers; ignored in files." }),
  ),
};

/**
 * A Machine's name becomes a host name. That of a set's is "<set>-<number>", and a set of a deployment
 * is called "<deployment>-<hash>", perhaps with a number: both have to leave room for that.
 */
const longestNames = {
  Cluster: 63,
  Machine: 63,
  MachineSet: 57,
  MachineDeployment: 44,
  MachineClass: 63,
  MachineDrainRule: 63,
  MachineHealthCheck: 63,
} as const;

const objectMeta = (longestName: number) =>
  closed(
    {
      name: Type.String({
        pattern: dnsLabel,
        maxLength: longestName,
        description: `Name, unique for its kind in the namespace, of up to ${longestName} lower-case letters, digits and dashes. It cannot change later.`,
      }),
      namespace: Type.String({
        pattern: dnsLabel,
        maxLength: 63,
        default: "default",
        description: "Namespace. It cannot change later.",
      }),
      labels,
      annotations,
      ...serverFields,
    },
    "Name, namespace, labels and annotations.",
  );

const templateMeta = closed(
  {
    labels: Type.Optional(marks("labels", "Labels of each Machine; the selector must match them.")),
    annotations: Type.Optional(marks("annotations", "Annotations of each Machine.")),
  },
  "Labels and annotations of each Machine that is made from the template.",
);

const nodeMeta = closed(
  {
    labels: Type.Optional(
      marks("labels", "Labels that the Node gets and keeps, beside those of others."),
    ),
    annotations: Type.Optional(
      marks("annotations", "Annotations that the Node gets and keeps, beside those of others."),
    ),
  },
  "What the provider marks the Node with that this Machine becomes.",
);

const taint = closed(
  {
    key: Type.String({
      minLength: 1,
      maxLength: maxSubdomainLength + 1 + maxLabelLength,
      description: "Key of the taint, e.g. dedicated.",
      ...taintKeyRules,
    }),
    value: Type.Optional(
      Type.String({
        maxLength: maxLabelLength,
        description: "Value of the taint.",
        ...labelValueRules,
      }),
    ),
    effect: stringEnum(["NoSchedule", "PreferNoSchedule", "NoExecute"], {
      description: "What happens to pods that do not tolerate the taint.",
    }),
    timeAdded: Type.Optional(
      Type.String({ description: "When a Node got it. Given by an API server; ignored." }),
    ),
  },
  "A taint of the Node.",
);

const machineClassRef = closed(
  {
    name: Type.String({
      minLength: 1,
      description: "Name of a MachineClass in the same namespace.",
    }),
    provider: Type.Optional(
      Type.String({
        description: "Name of the provider that the class is of, e.g. local. It may be left out.",
      }),
    ),
  },
  "The MachineClass whose providerSpec is used.",
);

/** The provider's own object, or where to find it. Checked against that provider's schema. */
const providerSpec = closed(
  {
    value: Type.Optional(
      Type.Object(
        {
          apiVersion: Type.String({ description: "Group and version of the provider's object." }),
          kind: Type.String({ description: "Kind of the provider's object." }),
        },
        {
          additionalProperties: true,
          description:
            "The provider's own configuration object; its apiVersion names the provider.",
        },
      ),
    ),
    valueFrom: Type.Optional(
      closed({ machineClass: machineClassRef }, "Takes the object from elsewhere."),
    ),
  },
  "The provider's part: either value or valueFrom, never both.",
  providerSpecRules,
);

const containerRuntime = closed(
  {
    name: Type.Optional(
      Type.String({ minLength: 1, description: "Name of the runtime, e.g. containerd." }),
    ),
    version: Type.Optional(semver("Version of the runtime, e.g. 2.1.4.")),
  },
  "Container runtime of the Node, e.g. containerd 2.1.4 (from the KEP; the shipped API dropped it). A name or a version that is left out is the one that the provider recommends.",
);

const machineVersions = closed(
  {
    kubelet: Type.Optional(
      semver(
        "Version of the kubelet, e.g. 1.34.2: never newer than the control plane, at most three minors older. It may be raised and lowered.",
      ),
    ),
    controlPlane: Type.Optional(
      semver(
        "Version of the control plane, e.g. 1.34.2. With it the Machine is a control-plane member; leave it out for workers.",
      ),
    ),
    containerRuntime: Type.Optional(containerRuntime),
  },
  "Versions to install. A kubelet that is left out is chosen when the Machine is first planned (the control plane's version, else this release's default), recorded, and kept. A container runtime that never was named is the one of the image.",
  versionsRules,
);

const configMapReference = closed(
  {
    name: Type.String({ minLength: 1, description: "Name of the ConfigMap." }),
    namespace: Type.String({ minLength: 1, description: "Namespace of the ConfigMap." }),
    kubeletConfigKey: Type.String({
      minLength: 1,
      description: "Key with the kubelet's configuration.",
    }),
    uid: Type.Optional(Type.String({ description: "UID of the ConfigMap." })),
    resourceVersion: Type.Optional(Type.String({ description: "Version of the ConfigMap." })),
  },
  "A ConfigMap with the kubelet's configuration.",
);

const machineSpec = closed(
  {
    metadata: Type.Optional(nodeMeta),
    taints: Type.Optional(
      Type.Array(taint, {
        ...mapList("key", "effect"),
        maxItems: 64,
        description:
          "Taints that the Node gets and keeps, beside those of others, one for each key and effect.",
      }),
    ),
    providerSpec,
    versions: Type.Optional(machineVersions),
    roles: Type.Optional(
      Type.Array(stringEnum(["Master", "Node"]), {
        minItems: 1,
        maxItems: 2,
        description:
          "Roles (from the KEP), each once. Master makes the Machine a control-plane member, as versions.controlPlane does; Master and Node one that takes pods as workers do; Node alone a worker.",
      }),
    ),
    configSource: Type.Optional(
      closed(
        { configMap: configMapReference },
        "Where the provider finds the kubelet's configuration. The kubelet itself reads none from there since Kubernetes 1.24.",
      ),
    ),
    deletion: Type.Optional(machineDeletion),
    providerID: Type.Optional(
      Type.String({
        description:
          "Identification of the host by its provider. Set by Capstan; ignored in files.",
      }),
    ),
  },
  "What is wanted of the Machine.",
  machineSpecRules,
);

const machineTemplate = closed(
  { metadata: Type.Optional(templateMeta), spec: machineSpec },
  "The Machine that is made for each replica.",
);

const selector = closed(
  {
    matchLabels: Type.Optional(labelMap("Labels that a Machine of this set carries.")),
    matchExpressions,
  },
  "Which Machines belong to the set. Its template's labels must match it, other Machines of the cluster must not. It cannot change later.",
  selectorRules,
);

const replicas = Type.Integer({
  minimum: 0,
  maximum: 10_000,
  default: 1,
  description: "How many Machines there shall be.",
});

/** How many old MachineSets are kept where nobody says otherwise. Source: docs/cluster-api.md#machinedeployment. */
export const defaultRevisionHistoryLimit = 1;
export const defaultProgressDeadlineSeconds = 600;

const minReadySeconds = Type.Integer({
  minimum: 0,
  default: 0,
  description: "Seconds that a Node has to be ready before its Machine counts as available.",
});

function kindOf<K extends keyof typeof longestNames, P extends Record<string, TSchema>>(
  kind: K,
  body: P,
  description: string,
) {
  return closed(
    {
      apiVersion: Type.Literal(apiVersion, { description: "Group and version of the object." }),
      kind: Type.Literal(kind, { description: "Kind of the object." }),
      metadata: objectMeta(longestNames[kind]),
      ...body,
      status: Type.Optional(
        Type.Unknown({ description: "What is the case. Written by Capstan; ignored in files." }),
      ),
    },
    description,
  );
}

const addressBlocks = (whose: string) =>
  closed(
    {
      cidrBlocks: Type.Array(cidr, {
        minItems: 1,
        maxItems: 8,
        description: `Address ranges of ${whose}, e.g. [10.96.0.0/12]. Services and Pods must not overlap.`,
      }),
    },
    `Addresses of ${whose}.`,
  );

/**
 * The one source of types, validators and CRDs. Shapes and defaults follow the API as shipped, plus
 * roles and containerRuntime of the KEP (docs/cluster-api.md#types).
 */
export const schemas = {
  Cluster: kindOf(
    "Cluster",
    {
      spec: closed(
        {
          clusterNetwork: closed(
            {
              services: addressBlocks("Services"),
              pods: addressBlocks("Pods"),
              serviceDomain: Type.String({
                pattern: dnsSubdomain,
                maxLength: maxSubdomainLength,
                description:
                  "Domain name for Services, e.g. cluster.local: lower-case letters, digits and dashes, with dots between.",
              }),
            },
            "Networks of the cluster. They cannot change while the cluster lives.",
            networkRules,
          ),
          providerSpec,
        },
        "What is wanted of the cluster.",
      ),
    },
    "A Kubernetes cluster: its networks and the provider that carries it.",
  ),
  Machine: kindOf("Machine", { spec: machineSpec }, "One Node, whatever host runs it."),
  MachineSet: kindOf(
    "MachineSet",
    {
      spec: closed(
        {
          replicas,
          minReadySeconds,
          deletePolicy: stringEnum(["Random", "Newest", "Oldest"], {
            default: "Random",
            description: "Which Machines go first when there are too many.",
          }),
          selector,
          template: machineTemplate,
        },
        "What is wanted of the set.",
        setRules,
      ),
    },
    "A number of equal Machines. A changed template is for new Machines only.",
  ),
  MachineDeployment: kindOf(
    "MachineDeployment",
    {
      spec: closed(
        {
          replicas,
          selector,
          template: machineTemplate,
          strategy: Type.Optional(
            closed(
              {
                type: stringEnum(["RollingUpdate", "OnDelete"], {
                  default: "RollingUpdate",
                  description: "How Machines are replaced when the template changes.",
                }),
                rollingUpdate: Type.Optional(
                  closed(
                    {
                      maxSurge: Type.Optional(
                        intOrPercent(
                          "How many Machines more than replicas there may be: a number or a percentage such as 25%, rounded up; default 1.",
                        ),
                      ),
                      maxUnavailable: Type.Optional(
                        intOrPercent(
                          "How many Machines less may be available: a number or a percentage such as 25%, rounded down; default 0.",
                        ),
                      ),
                    },
                    "Bounds of a rolling update; without effect under OnDelete and on control-plane members.",
                  ),
                ),
              },
              "How Machines are replaced when the template changes.",
            ),
          ),
          minReadySeconds,
          revisionHistoryLimit: Type.Integer({
            minimum: 0,
            default: defaultRevisionHistoryLimit,
            description:
              "How many empty MachineSets of earlier templates an API server keeps; none in profile modern. Without effect in files: capstan history keeps every revision.",
          }),
          paused: Type.Boolean({ default: false, description: "No rollout while this is true." }),
          progressDeadlineSeconds: Type.Integer({
            minimum: 0,
            default: defaultProgressDeadlineSeconds,
            description:
              "Seconds without progress after which a rollout counts as failed; 0 for no limit.",
          }),
        },
        "What is wanted of the deployment.",
        deploymentRules,
      ),
    },
    "Equal Machines that follow their template: in place where the provider can, else by new ones.",
  ),
  MachineClass: kindOf(
    "MachineClass",
    {
      providerSpec: Type.Object(
        {
          apiVersion: Type.String({ description: "Group and version of the provider's object." }),
          kind: Type.String({ description: "Kind of the provider's object." }),
        },
        { additionalProperties: true, description: "The provider's own configuration object." },
      ),
    },
    "A providerSpec under a name, for valueFrom of Machines, sets and Clusters.",
  ),
  MachineDrainRule: kindOf(
    "MachineDrainRule",
    { spec: machineDrainRuleSpec },
    "How pods leave Machines of the namespace before their hosts go.",
  ),
  MachineHealthCheck: kindOf(
    "MachineHealthCheck",
    { spec: machineHealthCheckSpec },
    "Which Machines of a Cluster are unhealthy, and when they get new hosts.",
  ),
} as const;

export type Kind = keyof typeof schemas;

/** What the clusters of a namespace have in common: it belongs to none of them. */
export type SharedKind = Extract<Kind, "MachineClass" | "MachineDrainRule">;

export function isSharedKind(kind: Kind): kind is SharedKind {
  return kind === "MachineClass" || kind === "MachineDrainRule";
}
export type ObjectOf<K extends Kind> = Static<(typeof schemas)[K]>;
export type WrittenMachineSpec = Static<typeof machineSpec>;
export type WrittenVersions = Static<typeof machineVersions>;
export type LabelSelector = Static<typeof selector>;

export function isKind(value: unknown): value is Kind {
  return typeof value === "string" && Object.hasOwn(schemas, value);
}
