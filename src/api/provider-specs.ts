import type { TSchema } from "typebox";

/** What a provider's own objects look like: enough to validate manifests, nothing to act with. */
export interface ProviderSpecs {
  readonly name: string;
  /** apiVersion of the provider's objects, e.g. "local.capstan.dev/v1alpha1". */
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
}
