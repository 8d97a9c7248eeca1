import { type Static, type TSchema, Type } from "typebox";
import type { JsonObject } from "./json.js";
import { closed, mapList } from "./schema-parts.js";

/** What a Cluster as a whole is doing, in one word. */
const clusterPhases = {
  Pending: "nothing was done for it yet",
  Provisioning: "it is made for the first time",
  Running: "all is as it was asked for",
  Updating: "a change is under way",
  Correcting: "drift is being corrected",
  RollingBack: "a failed change is being taken back",
  Frozen: "its drift is implausible, so nothing is touched",
  Paused: "a person paused it",
  Deleting: "everything that it has is being deleted",
  Failed: "a person is needed",
} as const;
export type ClusterPhase = keyof typeof clusterPhases;

/** What a Machine is doing, in one word. Source: docs/cluster-api.md#machine. */
const machinePhases = {
  Pending: "no host was asked for yet",
  Provisioning: "its host is being made or boots",
  Provisioned: "its host runs, its Node is not there yet",
  Running: "its Node is there and ready",
  Updating: "it is changed in place, or by another host",
  Terminating: "its host is deleted",
  Failed: "its host failed, or a person is needed",
  Unknown: "the cloud does not tell",
} as const;
export type MachinePhase = keyof typeof machinePhases;

/** Problems that do not heal by themselves. Source: docs/cluster-api.md#cluster. */
const clusterErrors = [
  "InvalidConfiguration",
  "UnsupportedChange",
  "CreateError",
  "UpdateError",
  "DeleteError",
  "PermissionDenied",
] as const;
const machineErrors = [
  ...clusterErrors,
  "UnsupportedConfiguration",
  "InsufficientResources",
  "JoinClusterTimeoutError",
] as const;
/** Of a set itself, or of the first of its Machines that has one. */
const machineSetErrors = machineErrors;
export type ErrorReason = (typeof machineErrors)[number];

const text = (description: string) => Type.Optional(Type.String({ description }));
const count = (description: string) => Type.Optional(Type.Integer({ description }));
/** RFC 3339, e.g. 2026-05-04T10:11:12Z. */
const time = (description: string) =>
  Type.Optional(Type.String({ format: "date-time", description }));

/** A word of a known list. Not an enum: a release must be able to read what a newer one wrote. */
function word<W extends string>(words: readonly W[], description: string) {
  return Type.Unsafe<W>({ type: "string", description: `${description}: ${words.join(", ")}.` });
}

function phase<W extends string>(phases: Readonly<Record<W, string>>, of: string) {
  const meanings = Object.entries(phases).map(([name, meaning]) => `${name} (${String(meaning)})`);
  const description = `What the ${of} is doing: ${meanings.join(", ")}.`;
  return Type.Optional(Type.Unsafe<W>({ type: "string", description }));
}

function terminal<W extends string>(reasons: readonly W[]) {
  const why = "Why a person is needed, in one word; absent otherwise";
  return {
    errorReason: Type.Optional(word(reasons, why)),
    errorMessage: text("Why a person is needed, in full. Absent for what may heal by itself."),
  };
}

const providerStatus = Type.Optional(
  Type.Unsafe<JsonObject>({
    type: "object",
    additionalProperties: true,
    description: "The provider's own status object.",
  }),
);

const conditions = Type.Optional(
  Type.Array(
    closed(
      {
        type: Type.String({
          description:
            "Ready, or Progressing; of a Cluster also CertificatesValid and CertificatesAvailable; of a MachineHealthCheck RemediationAllowed.",
        }),
        status: Type.String({ description: "True, False or Unknown." }),
        observedGeneration: count("The generation of the object that this is about."),
        lastTransitionTime: time("When the status last changed."),
        reason: text("Why, in one word."),
        message: text("Why, in full."),
      },
      "A condition.",
    ),
    {
      ...mapList("type"),
      description:
        "Ready: all that is asked for is there. Progressing: work on it is under way. For kubectl wait. Those of other controllers stay.",
    },
  ),
);

const transactionStatus = closed(
  {
    number: Type.Integer({ description: "Number of the transaction." }),
    direction: word(["forward", "back"], "Toward what was asked for, or back to the revision"),
    phase: text("What it does now: Changing, Waiting, Committing, Verifying and the like."),
    wave: count("The wave that is under way, from 1."),
    waves: count("How many waves the plan has."),
    doing: Type.Optional(
      Type.Array(Type.String(), {
        description: "What this wave changes, or waits for, in a few words each.",
      }),
    ),
    reason: text("Why it does that now."),
    startedAt: time("When it began."),
    deadlineAt: time("When it is taken back unless it is done."),
  },
  "The transaction that is under way; absent when none is.",
);

const driftStatus = closed(
  {
    missing: count("Recorded resources that the cloud no longer has."),
    changed: count("Resources that the cloud shows otherwise than recorded."),
    failed: count("Hosts that will never run."),
    unhealthy: Type.Optional(count("Hosts that run, of Machines that are not healthy.")),
    expiring: Type.Optional(count("Members whose certificates expire soon.")),
    leaving: Type.Optional(count("Hosts that the cloud is to take away.")),
    extra: count("Resources with this cluster's marks that nobody recorded."),
    unknown: count("Resources that could not be read."),
    since: time("Since when there has been drift."),
    items: Type.Optional(
      Type.Array(Type.String(), { description: "What drifted and what is done about it." }),
    ),
    frozen: text("Why nothing is corrected; absent while it is."),
  },
  "The difference between what is recorded and what the cloud shows; absent when there is none.",
);

const machineCounts = closed(
  {
    desired: count("How many Machines there shall be."),
    current: count("How many Machines there are."),
    ready: count("How many of them run."),
    failed: count("How many of them failed."),
    summary: text('Ready of desired, e.g. "3/5".'),
  },
  "How many Machines the cluster has.",
);

const clusterStatus = closed(
  {
    phase: phase(clusterPhases, "cluster"),
    message: text("What is going on, in one line."),
    observedGeneration: count("The generation of the Cluster that this status is about."),
    revision: count("Number of the last transaction that was committed; 0 for none."),
    transaction: Type.Optional(transactionStatus),
    drift: Type.Optional(driftStatus),
    machines: Type.Optional(machineCounts),
    apiEndpoints: Type.Optional(
      Type.Array(
        closed(
          {
            host: Type.String({ description: "Host name or address." }),
            port: Type.Integer({ description: "Port." }),
          },
          "An address.",
        ),
        { description: "Where the API servers answer." },
      ),
    ),
    certificates: Type.Optional(
      Type.Array(
        closed(
          {
            name: Type.String({ description: "ca, etcd, frontProxy, or kubeconfig." }),
            expiresAt: Type.String({ format: "date-time", description: "Until when it counts." }),
          },
          "A certificate of the cluster.",
        ),
        {
          description:
            "Until when the cluster's authorities count, and the certificate in the Secret with its kubeconfig.",
        },
      ),
    ),
    ...terminal(clusterErrors),
    conditions,
    providerStatus,
  },
  "What is the case.",
);

const nodeRef = closed(
  {
    apiVersion: text("Group and version of the Node."),
    kind: text("Node."),
    name: text("Name of the Node."),
    uid: text("UID of the Node."),
  },
  "The Node that this Machine became.",
);

const nodeCondition = closed(
  {
    type: Type.String({ description: "Type of the condition, e.g. Ready." }),
    status: Type.String({ description: "True, False or Unknown." }),
    observedGeneration: count(
      "Of other controllers: the generation of the Machine that this is about.",
    ),
    lastHeartbeatTime: time("Not written, as it would move all the time."),
    lastTransitionTime: time("When the status last changed."),
    reason: text("Why, in one word."),
    message: text("Why, in full."),
  },
  "A condition of the Node.",
);

const address = closed(
  {
    type: Type.String({ description: "Type of the address: InternalIP." }),
    address: Type.String({ description: "The address." }),
  },
  "An address of the host.",
);

/** In the shape in which versions are asked for, but whatever they are: a status is never refused. */
const versionsSeen = closed(
  {
    kubelet: text("Version of the kubelet."),
    controlPlane: text("Version of the control plane."),
    containerRuntime: Type.Optional(
      closed(
        { name: text("Name of the runtime."), version: text("Version of the runtime.") },
        "Container runtime of the Node.",
      ),
    ),
  },
  "Versions that run, as far as they were seen.",
);

const lastOperation = closed(
  {
    type: text("Create, Update or Delete."),
    state: text("Processing, Successful or Failed."),
    description: text("What it does."),
    lastUpdated: time("When it last made progress."),
  },
  "The last thing that was done to the host.",
);

const machineStatus = closed(
  {
    phase: phase(machinePhases, "Machine"),
    nodeRef: Type.Optional(nodeRef),
    lastUpdated: time("When this status last changed."),
    versions: Type.Optional(versionsSeen),
    ...terminal(machineErrors),
    failureDomain: text("The failure domain of its host, where its cluster offers any."),
    addresses: Type.Optional(Type.Array(address, { description: "Addresses of the host." })),
    conditions: Type.Optional(
      Type.Array(nodeCondition, {
        ...mapList("type"),
        description:
          "Conditions of the Node, or the one that its provider tells: Ready. While the host goes, Deleting and DrainingSucceeded, too.",
      }),
    ),
    lastOperation: Type.Optional(lastOperation),
    providerStatus,
  },
  "What is the case.",
);

const replicaCounts = {
  observedGeneration: count("The generation of the object that this status is about."),
  readyReplicas: count("How many of the Machines have a Node that is ready."),
  availableReplicas: count("How many of them have been ready for minReadySeconds."),
  labelSelector: text("The selector as text, for autoscalers."),
  version: text(
    "The kubelets that run, e.g. 1.34.2, or 1.34.2, 1.35.0 while not all are the same.",
  ),
};

const machineSetStatus = closed(
  {
    replicas: Type.Integer({ description: "How many Machines there are." }),
    ...replicaCounts,
    fullyLabeledReplicas: count("How many of them carry all labels of the template."),
    ...terminal(machineSetErrors),
    conditions,
  },
  "What is the case.",
);

const machineDeploymentStatus = closed(
  {
    replicas: count("How many Machines there are."),
    ...replicaCounts,
    updatedReplicas: count("How many of them follow the present template."),
    unavailableReplicas: count("How many are missing until all are available."),
    conditions,
  },
  "What is the case.",
);

const machineHealthCheckStatus = closed(
  {
    observedGeneration: count("The generation of the object that this status is about."),
    expectedMachines: count("How many Machines are looked at."),
    currentHealthy: count("How many of them have a Node and none of the conditions."),
    remediationsAllowed: count(
      "How many more may become unhealthy and get new hosts all the same; 0 where too many are.",
    ),
    conditions,
  },
  "What is the case.",
);

/** The one source of the types and the CRDs' schemas of statuses. Source: docs/cluster-api.md#types. */
export const statuses = {
  Cluster: clusterStatus,
  Machine: machineStatus,
  MachineSet: machineSetStatus,
  MachineDeployment: machineDeploymentStatus,
  MachineHealthCheck: machineHealthCheckStatus,
} as const satisfies Readonly<Record<string, TSchema>>;

export type ClusterStatus = Shown<Static<typeof clusterStatus>>;
export type Condition = NonNullable<ClusterStatus["conditions"]>[number];
export type DriftStatus = Shown<Static<typeof driftStatus>>;
export type MachineStatus = Shown<Static<typeof machineStatus>>;
export type MachineSetStatus = Shown<Static<typeof machineSetStatus>>;
export type MachineHealthCheckStatus = Shown<Static<typeof machineHealthCheckStatus>>;
export type MachineDeploymentStatus = Shown<Static<typeof machineDeploymentStatus>>;

/** Read-only at every depth: a status is made at once, and then shown. */
type Shown<T> = T extends readonly (infer Item)[]
  ? readonly Shown<Item>[]
  : T extends object
    ? { readonly [Member in keyof T]: Shown<T[Member]> }
    : T;
