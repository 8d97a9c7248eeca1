import type { TSchema } from "typebox";
import type { JsonObject } from "./json.js";

/** What a provider's own objects look like: enough to read manifests, nothing to act with. */
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
  };
  readonly machineSpec: {
    readonly kind: string;
    readonly schema: TSchema;
    /** Fields by which control-plane members are kept apart, with values to choose from: zones. `capstan init` does. */
    readonly spread?: Readonly<Record<string, readonly string[]>>;
  };
  /** The other served versions, newest first. None without. */
  readonly olderVersions?: readonly ServedVersion[];
}

/** A version that manifests and records may be written in. */
export interface ServedVersion {
  /** Of the same API group as every other version. */
  readonly apiVersion: string;
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
}
