import { type JsonSchema, jsonSchemaOf } from "./json-schema.js";
import { type Kind, schemas } from "./schema.js";
import { type StructuralSchema, structuralOf } from "./structural.js";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description: string;
  /** Above 0: shown by `kubectl get -o wide` only. */
  readonly priority?: number;
}

/** What an API server holds of a kind beyond what users write. */
export interface KindStatus {
  readonly status: StructuralSchema;
  readonly columns: readonly PrinterColumn[];
  /** `kubectl scale` works on it. */
  readonly scalable: boolean;
}

const text = (description: string): StructuralSchema => ({ type: "string", description });
const count = (description: string): StructuralSchema => ({ type: "integer", description });
const time = (description: string): StructuralSchema => ({
  type: "string",
  format: "date-time",
  description,
});
const listOf = (items: StructuralSchema, description: string): StructuralSchema => ({
  type: "array",
  items,
  description,
});
const object = (
  properties: Readonly<Record<string, StructuralSchema>>,
  description: string,
  required: readonly string[] = [],
): StructuralSchema => ({
  type: "object",
  description,
  properties,
  ...(required.length > 0 && { required }),
});

const terminal = (reasons: string) => ({
  errorReason: text(`Why a person is needed, in one word: ${reasons}. Absent otherwise.`),
  errorMessage: text("Why a person is needed, in full. Absent for what may heal by itself."),
});

const providerStatus: StructuralSchema = {
  type: "object",
  description: "The provider's own status object.",
  "x-kubernetes-preserve-unknown-fields": true,
};

const replicaCounts = {
  observedGeneration: count("The generation of the object that this status is about."),
  replicas: count("How many Machines there are."),
  readyReplicas: count("How many of them have a Node that is ready."),
  availableReplicas: count("How many of them have been ready for minReadySeconds."),
  labelSelector: text("The selector as text, for autoscalers."),
};

/** The kubelet's and the control plane's versions, in the shape in which they are asked for. */
function versionsSchema(): StructuralSchema {
  const spec: JsonSchema | undefined = jsonSchemaOf(schemas.Machine).properties?.["spec"];
  const versions = structuralOf(spec?.properties?.["versions"] ?? { type: "object" });
  return { ...versions, description: "Versions that run, as far as they were seen." };
}

const nodeCondition = object(
  {
    type: text("Type of the condition, e.g. Ready."),
    status: text("True, False or Unknown."),
    lastHeartbeatTime: time("When the Node last said so."),
    lastTransitionTime: time("When the status last changed."),
    reason: text("Why, in one word."),
    message: text("Why, in full."),
  },
  "A condition of the Node.",
  ["type", "status"],
);

const machineStatus = object(
  {
    phase: text("What the Machine is doing: Pending, Running, Terminating, Failed and the like."),
    nodeRef: object(
      {
        apiVersion: text("Group and version of the Node."),
        kind: text("Node."),
        name: text("Name of the Node."),
        uid: text("UID of the Node."),
      },
      "The Node that this Machine became.",
    ),
    lastUpdated: time("When this status last changed."),
    versions: versionsSchema(),
    ...terminal(
      "InvalidConfiguration, UnsupportedChange, InsufficientResources, CreateError, UpdateError, DeleteError or JoinClusterTimeoutError",
    ),
    addresses: listOf(
      object(
        {
          type: text("InternalIP, ExternalIP, Hostname and the like."),
          address: text("The address."),
        },
        "An address of the host.",
        ["type", "address"],
      ),
      "Addresses of the host.",
    ),
    conditions: listOf(nodeCondition, "Conditions of the Node, copied."),
    lastOperation: object(
      {
        type: text("Create, Update, Delete and the like."),
        state: text("Processing, Successful or Failed."),
        description: text("What it does."),
        lastUpdated: time("When it last made progress."),
      },
      "The last thing that was done to the host.",
    ),
    providerStatus,
  },
  "What is the case.",
);

const age: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since the object was created.",
};

const integerColumn = (name: string, jsonPath: string, description: string): PrinterColumn => ({
  name,
  type: "integer",
  jsonPath,
  description,
});
const textColumn = (name: string, jsonPath: string, description: string): PrinterColumn => ({
  name,
  type: "string",
  jsonPath,
  description,
});

const replicaColumns = [
  integerColumn("Desired", ".spec.replicas", "How many Machines there shall be."),
  integerColumn("Current", ".status.replicas", "How many Machines there are."),
  integerColumn("Ready", ".status.readyReplicas", "How many of them are ready."),
];

/** Status and columns by kind; a kind that is not here has none. Source: reference/cluster-api.md 1. */
export const kindStatus: Readonly<Partial<Record<Kind, KindStatus>>> = {
  Cluster: {
    status: object(
      {
        apiEndpoints: listOf(
          object({ host: text("Host name or address."), port: count("Port.") }, "An address.", [
            "host",
            "port",
          ]),
          "Where the API servers answer.",
        ),
        ...terminal(
          "InvalidConfiguration, UnsupportedChange, CreateError, UpdateError or DeleteError",
        ),
        providerStatus,
      },
      "What is the case.",
    ),
    columns: [
      textColumn("Endpoint", ".status.apiEndpoints[0].host", "Where the API servers answer."),
      textColumn("Error", ".status.errorReason", "Why a person is needed."),
      age,
    ],
    scalable: false,
  },
  Machine: {
    status: machineStatus,
    columns: [
      textColumn("ProviderID", ".spec.providerID", "The host, as its provider names it."),
      textColumn("Phase", ".status.phase", "What the Machine is doing."),
      { ...textColumn("NodeName", ".status.nodeRef.name", "The Node it became."), priority: 1 },
      textColumn("Version", ".spec.versions.kubelet", "Version of the kubelet that is wanted."),
      age,
    ],
    scalable: false,
  },
  MachineSet: {
    status: object(
      {
        ...replicaCounts,
        fullyLabeledReplicas: count("How many of them carry all labels of the template."),
        ...terminal("InvalidConfiguration"),
      },
      "What is the case.",
      ["replicas"],
    ),
    columns: [...replicaColumns, age],
    scalable: true,
  },
  MachineDeployment: {
    status: object(
      {
        ...replicaCounts,
        updatedReplicas: count("How many of them follow the present template."),
        unavailableReplicas: count("How many are missing until all are available."),
      },
      "What is the case.",
    ),
    columns: [
      ...replicaColumns,
      integerColumn("UpToDate", ".status.updatedReplicas", "How many follow the present template."),
      age,
    ],
    scalable: true,
  },
};
