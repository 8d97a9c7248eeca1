import { type Static, type TSchema, Type } from "typebox";

/** Group and version of every object that users write. */
export const apiVersion = "cluster.k8s.io/v1alpha1";

/** The label that says which Cluster an object belongs to. Source: reference/cluster-api.md 1.2. */
export const clusterNameLabel = "cluster.k8s.io/cluster-name";

/** An object whose fields are all known: anything else in it is an error with a suggestion. */
function closed<P extends Record<string, TSchema>>(properties: P, description?: string) {
  return Type.Object(properties, {
    additionalProperties: false,
    ...(description !== undefined && { description }),
  });
}

function stringMap(description: string) {
  return Type.Record(Type.String(), Type.String(), { description });
}

function stringEnum<const V extends readonly string[]>(values: V, options: object = {}) {
  return Type.Unsafe<V[number]>({ type: "string", enum: [...values], ...options });
}

const dnsLabel = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
const cidr = Type.String({
  pattern: "^(\\d{1,3}\\.){3}\\d{1,3}/\\d{1,2}$|^[0-9a-fA-F:]+/\\d{1,3}$",
  description: "An address range such as 10.0.0.0/16.",
});
const semver = Type.String({
  pattern: "^v?(0|[1-9]\\d*)\\.(0|[1-9]\\d*)\\.(0|[1-9]\\d*)(-[0-9A-Za-z.-]+)?(\\+[0-9A-Za-z.-]+)?$",
  description: "A version such as 1.34.2.",
});

const objectMeta = closed({
  name: Type.String({ pattern: dnsLabel, maxLength: 63, description: "Name; cannot change later." }),
  namespace: Type.String({ pattern: dnsLabel, maxLength: 63, default: "default" }),
  labels: Type.Optional(stringMap("Labels of the object itself.")),
  annotations: Type.Optional(stringMap("Annotations of the object itself.")),
});

const templateMeta = closed({
  labels: Type.Optional(stringMap("Labels of each Machine.")),
  annotations: Type.Optional(stringMap("Annotations of each Machine.")),
});

const nodeMeta = closed(
  {
    labels: Type.Optional(stringMap("Labels meant for the Node.")),
    annotations: Type.Optional(stringMap("Annotations meant for the Node.")),
  },
  "What the Node that this Machine becomes is created with.",
);

const taint = closed({
  key: Type.String({ minLength: 1 }),
  value: Type.Optional(Type.String()),
  effect: stringEnum(["NoSchedule", "PreferNoSchedule", "NoExecute"]),
});

/** The provider's own object; its apiVersion says which provider. Checked against that provider's schema. */
const providerSpec = closed({
  value: Type.Object(
    { apiVersion: Type.String(), kind: Type.String() },
    { additionalProperties: true, description: "The provider's own configuration object." },
  ),
});

const machineVersions = closed(
  {
    kubelet: semver,
    controlPlane: Type.Optional(semver),
  },
  "Versions to install. With controlPlane set, the Machine is a control-plane member.",
);

const machineSpec = closed({
  metadata: Type.Optional(nodeMeta),
  taints: Type.Optional(Type.Array(taint, { description: "Added to the Node's other taints." })),
  providerSpec,
  versions: machineVersions,
});

const machineTemplate = closed({ metadata: Type.Optional(templateMeta), spec: machineSpec });

const selector = closed({ matchLabels: stringMap("Labels that a Machine of this set carries.") });

const replicas = Type.Integer({ minimum: 0, default: 1, description: "How many Machines." });

const intOrPercent = Type.Unsafe<number | string>({
  anyOf: [
    { type: "integer", minimum: 0 },
    { type: "string", pattern: "^\\d+%$" },
  ],
});

function kindOf<K extends string, S extends TSchema>(kind: K, spec: S, description: string) {
  return closed(
    {
      apiVersion: Type.Literal(apiVersion),
      kind: Type.Literal(kind),
      metadata: objectMeta,
      spec,
    },
    description,
  );
}

const addressBlocks = closed({ cidrBlocks: Type.Array(cidr, { minItems: 1 }) });

/**
 * The one source of types, validators and, later, CRDs. Shapes and defaults follow the API as
 * shipped (reference/cluster-api.md 1.1 to 1.5).
 */
export const schemas = {
  Cluster: kindOf(
    "Cluster",
    closed({
      clusterNetwork: closed({
        services: addressBlocks,
        pods: addressBlocks,
        serviceDomain: Type.String({ minLength: 1, description: "Domain name for Services." }),
      }),
      providerSpec,
    }),
    "A Kubernetes cluster: its networks and the provider that carries it.",
  ),
  Machine: kindOf("Machine", machineSpec, "One Node, whatever host runs it."),
  MachineSet: kindOf(
    "MachineSet",
    closed({
      replicas,
      minReadySeconds: Type.Integer({ minimum: 0, default: 0 }),
      deletePolicy: stringEnum(["Random", "Newest", "Oldest"], { default: "Random" }),
      selector,
      template: machineTemplate,
    }),
    "A number of equal Machines. A changed template is for new Machines only.",
  ),
  MachineDeployment: kindOf(
    "MachineDeployment",
    closed({
      replicas,
      selector,
      template: machineTemplate,
      strategy: Type.Optional(
        closed({
          type: stringEnum(["RollingUpdate"], { default: "RollingUpdate" }),
          rollingUpdate: Type.Optional(
            closed({
              maxSurge: Type.Optional(intOrPercent),
              maxUnavailable: Type.Optional(intOrPercent),
            }),
          ),
        }),
      ),
      minReadySeconds: Type.Integer({ minimum: 0, default: 0 }),
      revisionHistoryLimit: Type.Integer({ minimum: 0, default: 1 }),
      paused: Type.Boolean({ default: false }),
      progressDeadlineSeconds: Type.Integer({ minimum: 0, default: 600 }),
    }),
    "Equal Machines that follow their template: in place where the provider can, else by new ones.",
  ),
} as const;

export type Kind = keyof typeof schemas;
export type ObjectOf<K extends Kind> = Static<(typeof schemas)[K]>;
export type MachineSpec = Static<typeof machineSpec>;
export type MachineTemplate = Static<typeof machineTemplate>;

export function isKind(value: unknown): value is Kind {
  return typeof value === "string" && Object.hasOwn(schemas, value);
}
