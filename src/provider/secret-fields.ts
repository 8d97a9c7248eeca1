import { isJsonObject, type Json, type JsonObject } from "../api/json.js";
import { secretFieldsIn, withoutSecretFields } from "../api/secret-fields.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { type GraphNode, keyOf, type NodeKey, refsIn, type SecretFields } from "../graph/graph.js";
import type { InfrastructureProvider } from "./port.js";

/** What tells which fields of a provider's resources are secret. */
type SecretMarks = Pick<InfrastructureProvider, "handlers" | "hostKind" | "machineSpec">;

/** People keep in annotations what no plan shows. */
const alwaysSecretOfHosts = ["nodeAnnotations"];

/** The inputs of a kind that are secret. Pure. */
export function secretInputsOf(provider: SecretMarks, kind: string): readonly string[] {
  const own = provider.handlers.get(kind)?.secretInputs ?? [];
  if (kind !== provider.hostKind) return own;
  const written = secretFieldsIn(provider.machineSpec.schema);
  return [...new Set([...own, ...written, ...alwaysSecretOfHosts])];
}

/** The members of a kind's status that are secret. Pure. */
export function secretOutputsOf(
  { handlers }: Pick<InfrastructureProvider, "handlers">,
  kind: string,
): readonly string[] {
  return handlers.get(kind)?.secretOutputs ?? [];
}

/** A status as everybody may see it. Pure. */
export function shownStatus(
  provider: Pick<InfrastructureProvider, "handlers">,
  kind: string,
  status: JsonObject,
): JsonObject {
  return withoutSecretFields(status, secretOutputsOf(provider, kind));
}

/**
 * The same graph, each node with what of it is secret: fields that the provider has marked, fields that take a secret output of
 * another node (rule 5.5: what is derived from a secret is one), and what was recorded as secret before. Pure, idempotent.
 */
export function withSecretFields(
  nodes: readonly GraphNode[],
  provider: SecretMarks,
): readonly GraphNode[] {
  const outputs = new Map<NodeKey, readonly string[]>(
    nodes.map((node) => [keyOf(node), secretOutputsOf(provider, node.kind)]),
  );
  const takesSecret = (value: Json) =>
    refsIn(value).some(({ $ref, output }) => outputs.get($ref)?.includes(output) === true);
  return nodes.map((node) => {
    if (node.type !== "resource") return node;
    const marked = new Set([
      ...secretInputsOf(provider, node.kind),
      ...(node.secret?.inputs ?? []),
    ]);
    const inputs = Object.keys(node.spec).filter(
      (field) => marked.has(field) || takesSecret(node.spec[field] ?? null),
    );
    const secret = secretFieldsOf(inputs, [
      ...new Set([...(outputs.get(keyOf(node)) ?? []), ...(node.secret?.outputs ?? [])]),
    ]);
    const { secret: _before, ...plain } = node;
    return omitUndefined({ ...plain, secret });
  });
}

function secretFieldsOf(
  inputs: readonly string[],
  outputs: readonly string[],
): SecretFields | undefined {
  if (inputs.length + outputs.length === 0) return undefined;
  // In one order, whatever the order of the fields: a target read from a state has another one than its manifests.
  return omitUndefined({
    inputs: inputs.length > 0 ? inputs.toSorted() : undefined,
    outputs: outputs.length > 0 ? outputs.toSorted() : undefined,
  });
}

/** Secret fields that objects of such a provider have, where `objects` have them. Pure. */
export function secretObjectFields(
  { machineSpec, clusterSpec }: Pick<InfrastructureProvider, "machineSpec" | "clusterSpec">,
  objects: readonly object[],
): string[] {
  const marked = [
    ...new Set([...secretFieldsIn(machineSpec.schema), ...secretFieldsIn(clusterSpec.schema)]),
  ];
  const values = objects.flatMap((object) => providerValuesIn(object as Json));
  return marked.filter((field) => values.some((value) => value[field] !== undefined)).sort();
}

/** Every providerSpec.value inside an object, templates' too. */
function providerValuesIn(value: Json): JsonObject[] {
  if (Array.isArray(value)) return value.flatMap((item: Json) => providerValuesIn(item));
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([name, member]) => {
    const own = name === "providerSpec" && isJsonObject(member) ? member["value"] : undefined;
    return isJsonObject(own) ? [own] : providerValuesIn(member);
  });
}
