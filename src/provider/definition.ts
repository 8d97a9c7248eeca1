import type { JsonObject } from "../api/json.js";
import type { ClusterNetwork } from "../api/types.js";
import type { FieldRules } from "./fields.js";
import type { OlderVersionDefinition } from "./older-versions.js";
import type {
  ApiEndpoint,
  CallContext,
  CloudIdentity,
  CloudTiming,
  InventoryScope,
  MachineToCompile,
  Observed,
  ResourceHandler,
  UserDataTerms,
} from "./port.js";
import type { ClusterSpecDefinition, MachineSpecDefinition } from "./spec-schema.js";

/** The calls of a cloud on its machines: those of a handler, and a listing. */
export interface MachineCalls extends ResourceHandler {
  /**
   * The machines in the scope, without one those of every cluster (`capstan sweep` asks for them);
   * gone ones included while the cloud shows them. It may answer more: what does not carry the
   * scope's marks is left out. A property, so that the compiler refuses a list that needs a scope.
   */
  readonly list: (ctx: CallContext, scope?: InventoryScope) => Promise<readonly Observed[]>;
}

/** A provider whose clusters need machines and nothing else. */
export interface ProviderDefinition {
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
  /** What changes in place, by field of the host's spec. Without it every change needs a new host. */
  readonly rules?: FieldRules;
  /**
   * Inputs of a machine's host, from the machine, the provider's object of its Cluster, and the Cluster's
   * networks. `hostSpecOf` without it. Pure; must not depend on other machines.
   */
  readonly hostSpec?: (
    machine: MachineToCompile,
    clusterSpec: JsonObject,
    clusterNetwork: ClusterNetwork,
  ) => JsonObject;
  readonly machine: MachineCalls;
  /** What its hosts take at their first start: machineSpec then has a field more, `kubeadm`. No user data without. */
  readonly userData?: UserDataTerms;
  /**
   * Pure. Where the API servers of a cluster answer, as the provider's object of its Cluster says: an address that is
   * there before its hosts. Hosts that take user data join there.
   */
  readonly apiEndpoint?: (clusterSpec: JsonObject) => ApiEndpoint | undefined;
  /** How fast the cloud is at its slowest. `defaultTiming` without. */
  readonly timing?: CloudTiming;
  /** Which cloud the credentials lead to. Without it a wrong cloud cannot be told from an empty one. */
  identity?(ctx: CallContext): Promise<CloudIdentity>;
  close?(): void;
}
