import type { ClusterIdentities } from "../api/cluster-identities.js";
import type { FailureDomains } from "../api/failure-domains.js";
import type { JsonObject } from "../api/json.js";
import type { ClusterNetwork } from "../api/types.js";
import type { NodeKey, Ref } from "../graph/graph.js";
import type { FieldRules } from "./fields.js";
import type { OlderVersionDefinition } from "./older-versions.js";
import type {
  ApiEndpoint,
  CallContext,
  CallRate,
  CloudIdentity,
  CloudTiming,
  InfrastructureProvider,
  InventoryScope,
  LookupInputs,
  LookupQuestion,
  MachineToCompile,
  LeftoverCalls,
  Observed,
  PlannedResource,
  PlannedStep,
  PreflightFinding,
  ResourceHandler,
  Satellite,
  UserDataTerms,
} from "./port.js";
import type { ClusterSpecDefinition, MachineSpecDefinition } from "./spec-schema.js";

/** The calls of a cloud on its machines, or on another kind of resource: those of a handler, and a listing. */
export interface MachineCalls extends ResourceHandler {
  /**
   * The resources in the scope, without one those of every cluster (`capstan sweep` asks for them);
   * gone ones included while the cloud shows them. It may answer more: what does not carry the
   * scope's marks is left out. A property, so that the compiler refuses a list that needs a scope.
   */
  readonly list: (ctx: CallContext, scope?: InventoryScope) => Listing;
}

/** All at once, or page by page, as an async generator yields them. A page that cannot be had fails the whole. */
type Listing = Promise<readonly Observed[]> | AsyncIterable<readonly Observed[]>;

/** A kind of resource that the machines of a cluster share: a network, a group, a load balancer. */
export interface KindDefinition {
  readonly calls: MachineCalls;
  /** What changes in place, by field of the spec. Without it every change needs a new one. */
  readonly rules?: FieldRules;
  /** Inputs that plans show of each new one. None without. */
  readonly keyInputs?: readonly string[];
}

/** What the machines of a cluster share: a resource of ours, or one that is there and stays as it is. */
export type SharedPart = SharedResource | ExternalResource;

/** A resource that somebody else has made: it is read by `find` and never changed, marked or deleted. */
export interface ExternalResource {
  /** One of `kinds`, with `find`. */
  readonly kind: string;
  /** Unique among those of its kind in the cluster, and the same for ever. */
  readonly name: string;
  /** The cloud's id for it. */
  readonly external: string;
}

/** A resource that the machines of a cluster share. */
export interface SharedResource {
  /** One of `kinds`. */
  readonly kind: string;
  /** Unique among those of its kind in the cluster, and the same for ever. */
  readonly name: string;
  /** May hold Refs to others (`refTo`) at any depth: these are made before it, and go after it. */
  readonly spec: JsonObject;
  /** What else has to be there before it. */
  readonly dependsOn?: readonly NodeKey[];
}

/** A provider from plain calls; without `kinds` its clusters need machines and nothing else. */
export interface ProviderDefinition extends Partial<LeftoverCalls> {
  /** Unique among providers, e.g. "folder". */
  readonly name: string;
  /** apiVersion of its objects, e.g. "folder.example.dev/v1alpha1"; its group names the provider in manifests. */
  readonly apiVersion: string;
  /** Other versions that manifests and records may be written in, newest first. None without. */
  readonly olderVersions?: readonly OlderVersionDefinition[];
  /** providerSpec.value of Machines. */
  readonly machineSpec: MachineSpecDefinition;
  /** providerSpec.value of the Cluster. Without it: an object without fields, named like machineSpec. */
  readonly clusterSpec?: ClusterSpecDefinition;
  /** Kind of a machine's host in the graph. "FolderHost" for a "FolderMachineProviderSpec". */
  readonly hostKind?: string;
  /** Inputs of a host that plans show of each new one: what it costs and where it is. None without. */
  readonly keyInputs?: readonly string[];
  /** Kinds of what machines share, by name of the kind. None without. */
  readonly kinds?: Readonly<Record<string, KindDefinition>>;
  /**
   * What the machines of a cluster share, from the provider's object of the Cluster, its networks, and what `resolve`
   * has answered for it. Pure.
   */
  readonly infrastructure?: (
    clusterSpec: JsonObject,
    clusterNetwork: ClusterNetwork,
    lookedUp: JsonObject,
  ) => readonly SharedPart[];
  /** What changes in place, by field of the host's spec. Without it every change needs a new host. */
  readonly rules?: FieldRules;
  /**
   * Inputs of a machine's host, from the machine, the provider's object of its Cluster, and the Cluster's
   * networks; may hold Refs to what machines share. `machine.lookedUp` is what `resolve` has answered for it, `lookedUp`
   * for the cluster. `hostSpecOf` without it. Pure; must not depend on other machines.
   */
  readonly hostSpec?: (
    machine: MachineToCompile,
    clusterSpec: JsonObject,
    clusterNetwork: ClusterNetwork,
    lookedUp: JsonObject,
  ) => JsonObject;
  /**
   * What belongs to one machine alone: made after its host, ready before that counts, gone before it. `host` stands for
   * the host's id, or for a key of its status. None without. Pure; must not depend on other machines.
   */
  readonly satellites?: (
    machine: MachineToCompile,
    host: (output?: string) => Ref,
    clusterSpec: JsonObject,
  ) => readonly Satellite[];
  /** What a host may be instead where the cloud has no room for it, best first. None without. Pure. */
  readonly alternatives?: (hostSpec: JsonObject) => readonly JsonObject[];
  /** Over what Machines are spread that do not say where they are to be. Nothing is placed without. */
  readonly failureDomains?: FailureDomains;
  readonly machine: MachineCalls;
  /** What its hosts take at their first start: machineSpec then has a field more, `kubeadm`. No user data without. */
  readonly userData?: UserDataTerms;
  /**
   * Pure. Where the API servers of a cluster answer, as the provider's object of its Cluster says, or what machines
   * share as the cloud shows it: an address that is there before its hosts. Hosts that take user data join there.
   */
  readonly apiEndpoint?: (
    clusterSpec: JsonObject,
    shared: readonly Observed[],
  ) => ApiEndpoint | undefined;
  /** How fast the cloud is at its slowest. `defaultTiming` without. */
  readonly timing?: CloudTiming;
  /** How many calls the account takes. As many as there are without. */
  readonly calls?: CallRate;
  /** Which cloud the credentials lead to. Without it a wrong cloud cannot be told from an empty one. */
  identity?(ctx: CallContext): Promise<CloudIdentity>;
  /** What stands against a plan before anything is changed. Without it, the first call that fails says so. */
  preflight?(
    ctx: CallContext,
    steps: readonly PlannedStep[],
    clusterSpec: JsonObject,
    planned: readonly PlannedResource[],
  ): Promise<readonly PreflightFinding[]>;
  /** What no manifest says, asked before anything is compiled. Without it nothing is looked up. */
  resolve?(ctx: CallContext, question: LookupQuestion): Promise<JsonObject>;
  /** What of the specs the questions hold; all of both without. */
  readonly lookupInputs?: LookupInputs;
  /** Objects by which Clusters name credentials. None without. */
  readonly identities?: ClusterIdentities;
  /** The provider with the credentials that a Cluster names. Without it all clusters have those of the process. */
  forCluster?(clusterSpec: JsonObject): InfrastructureProvider | undefined;
  close?(): void;
}
