import type { JsonObject } from "../api/json.js";
import type { NodeKey } from "../graph/graph.js";

/** Type token of a component kind, e.g. a Machine around its hosts. */
export function componentToken(kind: string): string {
  return `capstan:index:${kind}`;
}

/**
 * One resource as a pass hands it to Pulumi. The list of a pass is in dependency order, and it holds
 * every resource of the state except those whose deletion is allowed.
 */
export interface Registration {
  readonly key: NodeKey;
  readonly type: "component" | "resource";
  readonly kind: string;
  readonly name: string;
  readonly parent?: NodeKey;
  /** Complete inputs; Refs at any depth stand for outputs of earlier registrations. */
  readonly inputs: JsonObject;
  /** Names of inputs that Pulumi has to encrypt. */
  readonly secretInputs: readonly string[];
  /** Names of outputs that Pulumi has to encrypt, whatever the inputs are; absent: none. */
  readonly secretOutputs?: readonly string[];
  /** Everything that must be done before, Refs and parent included. */
  readonly dependsOn: readonly NodeKey[];
}

/** What a pass publishes as stack outputs: facts of the Revision only (architecture rule 5.10). */
export interface PassProgram {
  readonly registrations: readonly Registration[];
  readonly stackOutputs: JsonObject;
}
