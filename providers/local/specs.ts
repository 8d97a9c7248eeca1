import { Type } from "typebox";
import type { FailureDomains } from "../../src/api/failure-domains.js";
import { userDataFields } from "../../src/api/user-data-fields.js";
import type { MachineOffers } from "../../src/api/provider-specs.js";
import { knownKubernetes } from "../../src/api/versions.js";
import { faultModes } from "./faults.js";
import { runtimeOfImages } from "./file/node.js";

export const localProviderName = "local";
export const localApiVersion = "local.capstan.dev/v1alpha1";

const declaredCalls = ["create", "get", "update", "terminate"] as const;

/** One of some words, as a schema whose violations name them. */
function oneOf<T extends string>(words: readonly T[], description: string) {
  return Type.Union(
    words.map((word) => Type.Literal(word)),
    { description },
  );
}

/** A fault that an object declares. The same words as `capstan local fault`. */
const fault = Type.Object(
  {
    call: oneOf(declaredCalls, "The call that goes wrong."),
    mode: oneOf(faultModes, "How it goes wrong; docs/local-cloud.md tells them."),
    name: Type.Optional(
      Type.String({ minLength: 1, description: "Only for resources whose name begins so." }),
    ),
    exact: Type.Optional(
      Type.Boolean({
        description: "The name is the whole name; without one, only calls about no one resource.",
      }),
    ),
    skip: Type.Optional(
      Type.Integer({ minimum: 0, description: "How many calls go well first; 0 without." }),
    ),
    ms: Type.Optional(
      Type.Integer({ minimum: 0, description: "Milliseconds, for the modes that take time." }),
    ),
    times: Type.Optional(
      Type.Integer({ minimum: 1, description: "How many calls go wrong; 1 without." }),
    ),
    probability: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 1,
        description: "Share of calls that go wrong; 1 without.",
      }),
    ),
    seed: Type.Optional(
      Type.Integer({ description: "Decides, with probability, which calls go wrong; 0 without." }),
    ),
  },
  { additionalProperties: false, description: "A fault of the simulated cloud." },
);

function faults(description: string) {
  return Type.Optional(Type.Array(fault, { description }));
}

export const localZones = ["local-a", "local-b", "local-c"] as const;

/** Where hosts of the simulated cloud are whose Machines do not say so. */
export const localFailureDomains: FailureDomains = {
  field: "zone",
  of: ({ failureDomains = [] }) =>
    Array.isArray(failureDomains) ? failureDomains.map(String) : [],
  otherwise: "local-a",
};

/** What the simulated cloud has for the fields that all Machines share. */
export const localOffers: MachineOffers = {
  kubernetes: knownKubernetes,
  containerRuntimes: [
    {
      name: runtimeOfImages.name,
      versions: "1.6 - 1.7 || 2",
      recommended: runtimeOfImages.version,
    },
    { name: "cri-o", versions: knownKubernetes, recommended: "1.34.2" },
  ],
};

/** providerSpec.value of a Cluster. */
export const localClusterSpec = Type.Object(
  {
    apiVersion: Type.Literal(localApiVersion),
    kind: Type.Literal("LocalClusterProviderSpec"),
    networkCidr: Type.String({
      default: "10.0.0.0/16",
      pattern: "^(\\d{1,3}\\.){3}\\d{1,3}/\\d{1,2}$",
      description:
        "Address range of the cluster's network, apart from those of Services and Pods. Changing it needs a new network.",
    }),
    network: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "Id of a network that is there and not the cluster's own: it is used as it is, and networkCidr, machineQuota, bootMs, joinMs and faults are what it has. Changing it needs new hosts.",
      }),
    ),
    failureDomains: Type.Optional(
      Type.Array(Type.Union(localZones.map((zone) => Type.Literal(zone))), {
        uniqueItems: true,
        description:
          "Zones over which Capstan spreads the Machines that name none. Without any, those are all in local-a.",
      }),
    ),
    nodes: Type.Optional(
      oneOf(
        ["simulated", "processes", "kubeadm"],
        "What hosts run: nothing, which is simulated, processes of this machine, which are a real control plane, or all that kubeadm makes of a host, in namespaces of this machine, for root on Linux. Changing it needs new hosts.",
      ),
    ),
    machineQuota: Type.Optional(
      Type.Integer({ minimum: 0, description: "How many hosts may be alive at once." }),
    ),
    bootMs: Type.Integer({
      default: 200,
      minimum: 0,
      description: "Milliseconds from a host's creation until it runs.",
    }),
    joinMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          "Milliseconds that nodes take to join, after boot and after another version; without it nobody waits for a join.",
      }),
    ),
    registersHosts: Type.Optional(
      Type.Boolean({
        description:
          "Whether members of the control plane are registered with the load balancer by resources of their own.",
      }),
    ),
    faults: faults("Faults of everything in the cluster, to see how it fares. Change in place."),
  },
  { additionalProperties: false, description: "The simulated cloud's part of a Cluster." },
);

const sizes = ["small", "medium", "large"].map((size) => Type.Literal(size));

/** providerSpec.value of a Machine. */
export const localMachineSpec = Type.Object(
  {
    apiVersion: Type.Literal(localApiVersion),
    kind: Type.Literal("LocalMachineProviderSpec"),
    size: Type.Union(sizes, {
      default: "small",
      description: "Size of the host. Changing it needs a new host, unless the host is resizable.",
    }),
    resizable: Type.Optional(
      Type.Boolean({
        description:
          "Whether a change of size stops the host, changes it and starts it again, instead of making a new one; only of simulated hosts. Change in place.",
      }),
    ),
    otherSizes: Type.Optional(
      Type.Array(Type.Union(sizes), {
        uniqueItems: true,
        description:
          "Sizes to take, best first, where the cloud has no room for a host of its size. Change in place.",
      }),
    ),
    spot: Type.Optional(
      Type.Boolean({
        description:
          "Whether the cloud may take the host away: it says beforehand when it does. Changing it needs a new host.",
      }),
    ),
    image: Type.String({
      default: "local/ubuntu-24.04",
      minLength: 1,
      description: "Image that the host boots from. Changing it needs a new host.",
    }),
    imageFamily: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          "Family of images whose newest the host boots from, instead of image. Looked up once; capstan up --refresh-lookups looks again.",
      }),
    ),
    zone: Type.Optional(
      Type.Union(
        localZones.map((zone) => Type.Literal(zone)),
        {
          description:
            "Zone that the host runs in. Without it, one of the cluster's failureDomains that Capstan chooses, or local-a where there are none. Changing it needs a new host.",
        },
      ),
    ),
    diskGib: Type.Integer({
      default: 20,
      minimum: 1,
      description: "Size of the disk in GiB. Grows in place; a smaller one needs a new host.",
    }),
    tags: Type.Record(Type.String(), Type.String(), {
      default: {},
      description: "Tags of the host. Change in place.",
    }),
    bootMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: "Milliseconds until the host runs; without it, the cluster's bootMs.",
      }),
    ),
    joinMs: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          "Milliseconds from then until its node is ready; without it, the cluster's joinMs.",
      }),
    ),
    dataVolume: Type.Optional(
      Type.Object(
        {
          gib: Type.Integer({
            minimum: 1,
            description: "Size in GiB. Grows in place; a smaller one needs a new volume.",
          }),
          whenHostGoes: Type.Optional(
            Type.Union([Type.Literal("delete"), Type.Literal("keep")], {
              description: "What becomes of it when its host goes; delete without.",
            }),
          ),
        },
        { additionalProperties: false, description: "A volume of its own beside the host's disk." },
      ),
    ),
    faults: faults("Faults of this machine's hosts, to see how it fares. Change in place."),
    kubeadm: Type.Optional(userDataFields.kubeadm),
    bootstrap: Type.Optional(userDataFields.bootstrap),
  },
  { additionalProperties: false, description: "The simulated cloud's part of a Machine." },
);
