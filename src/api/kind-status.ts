import { clusterNameLabel, type Kind } from "./schema.js";
import { statuses } from "./status.js";
import type { TSchema } from "typebox";

export interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "boolean" | "date";
  readonly jsonPath: string;
  readonly description: string;
  /** Above 0: shown by `kubectl get -o wide` only. */
  readonly priority?: number;
}

/** What an API server holds of a kind beyond what users write, and what kubectl shows of it. */
interface KindStatus {
  /** Undefined for a kind without a status. */
  readonly status?: TSchema;
  readonly columns: readonly PrinterColumn[];
  /** `kubectl scale` works on it. */
  readonly scalable: boolean;
}

const columnOf =
  (type: "string" | "integer") =>
  (name: string, jsonPath: string, description: string): PrinterColumn => ({
    name,
    type,
    jsonPath,
    description,
  });
const textColumn = columnOf("string");
const integerColumn = columnOf("integer");
const wide = (column: PrinterColumn): PrinterColumn => ({ ...column, priority: 1 });

const age: PrinterColumn = {
  name: "Age",
  type: "date",
  jsonPath: ".metadata.creationTimestamp",
  description: "Time since the object was created.",
};

const clusterOf = textColumn(
  "Cluster",
  `.metadata.labels.${clusterNameLabel.replaceAll(".", "\\.")}`,
  "The Cluster that it belongs to.",
);

const errorOf = textColumn("Error", ".status.errorReason", "Why a person is needed.");

const replicaColumns = [
  clusterOf,
  integerColumn("Desired", ".spec.replicas", "How many Machines there shall be."),
  integerColumn("Current", ".status.replicas", "How many Machines there are."),
  integerColumn("Ready", ".status.readyReplicas", "How many of them are ready."),
  integerColumn("Available", ".status.availableReplicas", "How many are ready for long enough."),
];

const templateColumns = [
  textColumn("Version", ".status.version", "The kubelets that run."),
  age,
  wide(textColumn("Wanted", ".spec.template.spec.versions.kubelet", "The kubelet that is wanted.")),
  wide(textColumn("Selector", ".status.labelSelector", "Which Machines belong to it.")),
];

/** Status and columns by kind. */
export const kindStatus: Readonly<Record<Kind, KindStatus>> = {
  Cluster: {
    status: statuses.Cluster,
    columns: [
      textColumn("Phase", ".status.phase", "What the cluster is doing."),
      textColumn("Machines", ".status.machines.summary", "Ready of desired."),
      integerColumn("Revision", ".status.revision", "The last change that was committed."),
      integerColumn("Transaction", ".status.transaction.number", "The change that is under way."),
      textColumn("Message", ".status.message", "What is going on."),
      age,
      wide(textColumn("Endpoint", ".status.apiEndpoints[0].host", "Where the API servers answer.")),
      wide(textColumn("Drift since", ".status.drift.since", "Since when there has been drift.")),
      wide(errorOf),
    ],
    scalable: false,
  },
  Machine: {
    status: statuses.Machine,
    columns: [
      clusterOf,
      textColumn("Phase", ".status.phase", "What the Machine is doing."),
      textColumn("Node", ".status.nodeRef.name", "The Node that it became."),
      textColumn("ProviderID", ".spec.providerID", "The host, as its provider names it."),
      textColumn("Version", ".status.versions.kubelet", "The kubelet that runs."),
      age,
      wide(textColumn("Wanted", ".spec.versions.kubelet", "The kubelet that is wanted.")),
      wide(
        textColumn("Control plane", ".spec.versions.controlPlane", "Its control plane, if any."),
      ),
      wide(textColumn("Address", ".status.addresses[0].address", "First address of the host.")),
      wide(textColumn("Domain", ".status.failureDomain", "The failure domain of the host.")),
      wide(textColumn("Operation", ".status.lastOperation.description", "What was done last.")),
      wide(errorOf),
    ],
    scalable: false,
  },
  MachineSet: {
    status: statuses.MachineSet,
    columns: [...replicaColumns, ...templateColumns, wide(errorOf)],
    scalable: true,
  },
  MachineDeployment: {
    status: statuses.MachineDeployment,
    columns: [
      ...replicaColumns,
      integerColumn("UpToDate", ".status.updatedReplicas", "How many follow the present template."),
      ...templateColumns,
      wide({ ...textColumn("Paused", ".spec.paused", "No rollout while true."), type: "boolean" }),
    ],
    scalable: true,
  },
  MachineClass: {
    columns: [
      textColumn("Provider", ".providerSpec.apiVersion", "Group and version of the provider."),
      textColumn("Holds", ".providerSpec.kind", "Kind of the provider's object."),
      age,
    ],
    scalable: false,
  },
  MachineDrainRule: {
    columns: [
      textColumn("Behavior", ".spec.drain.behavior", "What is done with the pods."),
      textColumn("Order", ".spec.drain.order", "Pods of lower orders go first."),
      age,
    ],
    scalable: false,
  },
  MachineHealthCheck: {
    status: statuses.MachineHealthCheck,
    columns: [
      textColumn("Cluster", ".spec.clusterName", "The Cluster whose Machines are looked at."),
      integerColumn("Expected", ".status.expectedMachines", "How many Machines are looked at."),
      integerColumn("Healthy", ".status.currentHealthy", "How many of them are healthy."),
      wide(
        integerColumn(
          "Allowed",
          ".status.remediationsAllowed",
          "How many more may become unhealthy and get new hosts all the same.",
        ),
      ),
      age,
    ],
    scalable: false,
  },
};
