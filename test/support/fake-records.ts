import type { JsonObject } from "../../src/api/json.js";
import { type Properties, providerProperty } from "../../src/dynamic/protocol.js";
import type { NodeKey } from "../../src/graph/graph.js";
import type { RecordedResource } from "../../src/records/prior-state.js";
import type { Registration } from "../../src/transaction/registration.js";

/** What Pulumi keeps of a registration, without what only loads our provider. */
export function recordOf(
  { key, type, kind, name, parent, secretInputs, dependsOn }: Registration,
  made: {
    readonly id?: string;
    readonly inputs: JsonObject;
    readonly outputs: JsonObject;
    readonly unfinished?: boolean;
  },
): RecordedResource {
  return {
    urn: urnOf(key),
    key,
    type,
    kind,
    name,
    ...(parent !== undefined && { parent }),
    ...(made.id !== undefined && { id: made.id }),
    inputs: made.inputs,
    secretInputs,
    outputs: withoutProvider(made.outputs),
    dependsOn,
    unfinished: made.unfinished ?? false,
    deleting: false,
  };
}

export function urnOf(key: NodeKey): string {
  return `urn:pulumi:stack::capstan::${key.replace("/", "::")}`;
}

export function withoutProvider({
  [providerProperty]: _provider,
  ...properties
}: Properties): JsonObject {
  return properties;
}

export function sameOrder(
  left: readonly RecordedResource[],
  right: readonly RecordedResource[],
): boolean {
  return left.every((one, index) => one === right[index]);
}

/** A record as plain JSON, for comparing. */
export function plainly({ key, inputs, outputs, dependsOn, parent }: RecordedResource): JsonObject {
  return { key, inputs, outputs, dependsOn: [...dependsOn], parent: parent ?? null };
}
