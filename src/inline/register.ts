import {
  all,
  ComponentResource,
  CustomResource,
  type CustomResourceOptions,
  type Input,
  type Inputs,
  type Output,
  type Resource,
  secret,
} from "@pulumi/pulumi";
import type { Json, JsonObject } from "../api/json.js";
import { omitUndefined } from "../api/omit-undefined.js";
import { providerProperty, providerText, typeTokenOf } from "../dynamic/protocol.js";
import { isRef, type NodeKey, type Ref } from "../graph/graph.js";
import { revisionKey, transactionKey } from "../transaction/pass.js";
import {
  componentToken,
  type PassProgram,
  type Registration,
} from "../transaction/registration.js";

/**
 * A resource that the stock dynamic host serves. Pulumi's own dynamic.Resource would serialise code
 * into the state; this one carries a constant line that loads the installed package (rule 5.1).
 */
export class ServedResource extends CustomResource {
  declare readonly spec: Output<Record<string, unknown>>;
  declare readonly status: Output<Record<string, unknown>>;
  declare readonly number: Output<number>;
  declare readonly cluster: Output<string>;
  declare readonly machines: Output<number>;
}

/** What stands around the resources of a pass. */
interface Around {
  /** What everything of it is made after, and goes before. */
  readonly after: readonly Resource[];
  /** What has to have come about once everything is made, before the Revision is. Absent: nothing. */
  readonly settled?: () => Promise<void>;
}

/**
 * Registers a pass in the running Pulumi program: the Node.js counterpart of src/engine/pulumi/language-server. Returns
 * its resources without the components.
 */
export function registerNodes(
  { registrations }: PassProgram,
  { after, settled }: Around,
): ReadonlyMap<NodeKey, ServedResource> {
  const known = new Map<NodeKey, Resource>();
  const before = (key: NodeKey): readonly Input<Resource>[] => {
    // Everything depends on the Transaction.
    if (key === transactionKey) return after;
    return key === revisionKey && settled !== undefined ? [settledOnes(known, settled)] : [];
  };
  for (const registration of registrations) {
    const { key } = registration;
    known.set(key, register(registration, known, before(key)));
  }
  return servedAmong(known);
}

function servedAmong(known: ReadonlyMap<NodeKey, Resource>): Map<NodeKey, ServedResource> {
  return new Map(
    [...known].flatMap(([key, resource]) =>
      resource instanceof ServedResource ? [[key, resource] as const] : [],
    ),
  );
}

/** Not known before all of them are made and what has to follow has come about. */
function settledOnes(
  known: ReadonlyMap<NodeKey, Resource>,
  settled: () => Promise<void>,
): Output<Resource> {
  const made = servedAmong(known);
  const transaction = made.get(transactionKey);
  if (transaction === undefined) throw new Error("a pass registers its Transaction");
  return all([...made.values()].map(({ id }) => id)).apply(async () => {
    await settled();
    return transaction;
  });
}

function register(
  registration: Registration,
  known: ReadonlyMap<NodeKey, Resource>,
  after: readonly Input<Resource>[],
): Resource {
  const { type, kind, name, parent } = registration;
  const parentResource = parent === undefined ? undefined : known.get(parent);
  const options: CustomResourceOptions = omitUndefined({
    dependsOn: [...after, ...registration.dependsOn.flatMap((key) => known.get(key) ?? [])],
    parent: parentResource,
    additionalSecretOutputs:
      registration.secretOutputs === undefined ? undefined : [...registration.secretOutputs],
  });
  if (type === "component") return new ComponentResource(componentToken(kind), name, {}, options);
  return new ServedResource(typeTokenOf(kind), name, propsOf(registration, known), options);
}

function propsOf(registration: Registration, known: ReadonlyMap<NodeKey, Resource>): Inputs {
  const { inputs, secretInputs, kind } = registration;
  const props = Object.fromEntries(
    Object.entries(inputs).map(([key, value]) => {
      const resolved = withOutputs(value, known);
      return [key, secretInputs.includes(key) ? secret(resolved) : resolved];
    }),
  );
  // Declared as outputs, so that they are unknown in a preview instead of absent.
  const outputs =
    kind === "Transaction" || kind === "Revision"
      ? { number: undefined, cluster: undefined, machines: undefined }
      : { status: undefined };
  return { ...outputs, ...props, [providerProperty]: providerText(kind) };
}

/** The value with each Ref replaced by the output that it stands for. */
function withOutputs(value: Json, known: ReadonlyMap<NodeKey, Resource>): unknown {
  if (isRef(value)) return outputOf(known.get(value.$ref) as ServedResource, value);
  if (Array.isArray(value)) return value.map((item: Json) => withOutputs(item, known));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value as JsonObject).map(([key, member]) => [key, withOutputs(member, known)]),
  );
}

function outputOf(resource: ServedResource, ref: Ref): Output<unknown> {
  if (ref.output === "id") return resource.id;
  return resource.status.apply((status) => status[ref.output]);
}
