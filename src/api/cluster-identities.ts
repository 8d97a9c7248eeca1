import type { TSchema } from "typebox";
import type { Violation } from "./diagnostic-codes.js";
import type { JsonObject } from "./json.js";

/** Where a Cluster is that names credentials, and what can be named there. */
export interface IdentityPlace {
  /** Of the Cluster. */
  readonly namespace: string;
  /** Labels of that namespace, as far as anybody knows them: its name at least. */
  readonly namespaceLabels: Readonly<Record<string, string>>;
  /** Whoever may write a Cluster in an API server is not whoever owns the credentials of the process that reads it. */
  readonly holder: "files" | "apiServer";
  /** `spec` of the object of that kind and name; undefined where there is none. */
  readonly find: (kind: string, name: string) => JsonObject | undefined;
}

/** What becomes of a Cluster that names credentials. */
export type ResolvedIdentity =
  /** The provider's object of the Cluster, with what the reference stands for in its place. */
  | { readonly kind: "resolved"; readonly spec: JsonObject }
  /** Paths lead from the provider's object. */
  | { readonly kind: "refused"; readonly violation: Violation };

/** Objects of a provider by which Clusters name credentials. They have no namespace, and hold no secret. */
export interface ClusterIdentities {
  /** Schemas of their `spec`, by kind. Their apiVersion is the provider's storage version. */
  readonly kinds: Readonly<Record<string, TSchema>>;
  /** Pure. Asked of every valid Cluster of the provider, in the storage version. */
  readonly resolve: (clusterSpec: JsonObject, place: IdentityPlace) => ResolvedIdentity;
}

/** What these objects are, for people who ask what a kind is. */
export const identityDescription = "Credentials that Clusters name, and who may name them.";
