import semver from "semver";
import type { TSchema } from "typebox";
import type { ClusterIdentities } from "./cluster-identities.js";
import type { MemberPath } from "./diagnostic-codes.js";
import type { FailureDomains } from "./failure-domains.js";
import type { JsonObject } from "./json.js";

/** A container runtime that a provider's hosts can have. */
export interface RuntimeOffer {
  /** As versions.containerRuntime.name has it, e.g. "containerd". */
  readonly name: string;
  /** The versions that there are, as a range of semantic versions: "1.6 - 1.7 || 2". */
  readonly versions: string;
  /** The version that is chosen where a Machine names none, e.g. "2.1.5". */
  readonly recommended: string;
}

/**
 * What a provider has for the fields that Machines of every provider share. What it does not have is
 * refused before anything is planned; without a declaration it is asked nothing.
 */
export interface MachineOffers {
  /** Versions of kubelets and control planes, as a range of semantic versions: "1.24 - 1.35". */
  readonly kubernetes?: string;
  /** The first is what is chosen where a Machine names a version alone. */
  readonly containerRuntimes?: readonly RuntimeOffer[];
}

/** Fields that Machines of every provider share, and that a provider may have no use for. */
export const ignorableFields = [
  "versions.containerRuntime",
  "roles",
  "configSource",
  "metadata.labels",
  "metadata.annotations",
  "taints",
] as const;
export type IgnorableField = (typeof ignorableFields)[number];

/** What a provider's own objects look like: enough to read manifests, nothing to act with. */
/** Values of fields, for members of the control plane and for workers. */
export type InitialFields = Readonly<
  Record<"controlPlane" | "worker", Readonly<Record<string, string>>>
>;

export interface ProviderSpecs {
  readonly name: string;
  /**
   * The storage version of the provider's objects, e.g. "local.capstan.dev/v1alpha1": the newest, and the only
   * one that anybody sees behind the place where manifests and records are read.
   */
  readonly apiVersion: string;
  readonly clusterSpec: {
    readonly kind: string;
    readonly schema: TSchema;
    /** Fields with an address range of the hosts' networks: none may overlap Services or Pods. */
    readonly networks?: readonly string[];
    /** What the environment of a command says of fields that have to be written. `capstan init` writes it. */
    readonly fromEnvironment?: Readonly<Record<string, string>>;
  };
  readonly machineSpec: {
    readonly kind: string;
    readonly schema: TSchema;
    /** Fields by which control-plane members are kept apart, with values to choose from: zones. `capstan init` does. */
    readonly spread?: Readonly<Record<string, readonly string[]>>;
    /** What `capstan init` writes into fields that have no default, by what a machine is. */
    readonly initial?: InitialFields;
    readonly offers?: MachineOffers;
    /**
     * Fields that have no effect on this provider: who sets one is warned. "roles" means the pods that a
     * control-plane member takes, and nothing else of them.
     */
    readonly ignores?: readonly IgnorableField[];
  };
  /** Where its hosts can be, for Machines that do not say. Nothing is placed without. */
  readonly failureDomains?: FailureDomains;
  /** The other served versions, newest first. None without. */
  readonly olderVersions?: readonly ServedVersion[];
  /** Objects by which Clusters name credentials. Without them all have those of the process. */
  readonly identities?: ClusterIdentities;
}

/** A version that manifests and records may be written in. */
export interface ServedVersion {
  /** Of the same API group as every other version. */
  readonly apiVersion: string;
  /** What it was called while its API group had another name: read as `apiVersion`, with a warning. None without. */
  readonly formerly?: readonly string[];
  /** Whether who writes it is warned. */
  readonly deprecated?: boolean;
  readonly clusterSpec: ProviderSpecs["clusterSpec"] & Convertible;
  readonly machineSpec: ProviderSpecs["machineSpec"] & Convertible;
}

interface Convertible {
  /**
   * The fields of a valid object, defaults filled in, as those of the next newer version; apiVersion and kind are
   * not among them. Pure. Without it the fields are the same.
   */
  readonly convert?: (fields: JsonObject) => JsonObject;
  /** What of a valid object has no effect here, and why: who sets it is warned. Pure. Nothing without. */
  readonly idle?: (fields: JsonObject) => readonly IdleMember[];
}

/** A member of a provider's object that changes nothing. */
export interface IdleMember {
  readonly path: MemberPath;
  /** What says it instead, or why nothing does. */
  readonly reason: string;
}

/** Whether a range of versions holds this one; a pre-release counts as what it leads to. Pure. */
export function isInRange(version: string, range: string): boolean {
  return semver.satisfies(version, range, { includePrerelease: true });
}
