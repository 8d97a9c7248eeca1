import type { TSchema } from "typebox";
import type { MemberPath } from "../api/diagnostic-codes.js";
import { bootstrapFieldName } from "../api/host-additions.js";
import type { Json, JsonObject } from "../api/json.js";
import { kubeadmFieldName } from "../api/kubeadm-patch.js";
import type { ProviderSpecs, ServedVersion } from "../api/provider-specs.js";
import { type ProviderObject, toStorageVersion } from "../api/served-versions.js";
import type { MachineSpec } from "../api/types.js";
import type { MachineToCompile } from "./port.js";
import type { FieldChange } from "./fields.js";
import { fieldsOf } from "./spec-schema.js";

/** The fields of a host's spec that Capstan keeps on the Node itself, once it has joined: nothing on it runs otherwise. */
const nodeMarkFields = ["schedulable", "nodeLabels", "nodeAnnotations", "taints"] as const;

/** Whether a field of a host's spec is one of those. Pure. */
export function isNodeMark(field: string): boolean {
  return nodeMarkFields.some((mark) => mark === field);
}

/** What a change of each of `userDataFields` takes: a host reads them once, at its first start. */
export const userDataRules = {
  [kubeadmFieldName]: {
    kind: "replace",
    reason: "a host keeps the configuration that kubeadm has read",
  },
  [bootstrapFieldName]: {
    kind: "replace",
    reason: "a host keeps what its first start has brought",
  },
} as const satisfies Readonly<Record<string, FieldChange>>;

/** The fields of a host's spec that say what its node is to be. */
export const nodeFields = [
  "role",
  "kubelet",
  "controlPlane",
  "containerRuntime",
  "configSource",
  ...nodeMarkFields,
] as const;

/**
 * The usual inputs of a machine's host: its role, the fields of its providerSpec in the order of
 * their schema, and what its node is to be (nodeFields). What the machine does not say is left out;
 * `schedulable` is there, and true, for control-plane members that take pods like a worker.
 * Pure; a function of this machine alone.
 */
export function hostSpecOf(machine: MachineToCompile, schema: TSchema): JsonObject {
  const { providerSpec, controlPlane, spec } = machine;
  const known = fieldsOf(schema);
  const others = Object.keys(providerSpec).filter(
    (field) => !known.includes(field) && field !== "apiVersion" && field !== "kind",
  );
  return present({
    role: controlPlane ? "controlPlane" : "worker",
    ...Object.fromEntries([...known, ...others].map((field) => [field, providerSpec[field]])),
    kubelet: spec.versions.kubelet,
    controlPlane: spec.versions.controlPlane,
    containerRuntime: spec.versions.containerRuntime,
    configSource: spec.configSource,
    schedulable: controlPlane && spec.roles?.includes("Node") ? true : undefined,
    nodeLabels: spec.metadata?.labels,
    nodeAnnotations: spec.metadata?.annotations,
    taints: spec.taints,
  });
}

/** The inputs that `hostSpecOf` can give a host. Pure. */
export function hostFieldsOf(schema: TSchema): string[] {
  return [...new Set([...nodeFields, ...fieldsOf(schema)])];
}

/**
 * What a host's spec tells of its machine: the opposite of `hostSpecOf`, as far as a provider's hosts have
 * its fields. Pure.
 */
export function machineSpecOf(host: JsonObject, provider: ProviderSpecs): MachineSpec {
  const { kubelet, controlPlane, containerRuntime, configSource, schedulable, taints } = host;
  const metadata = present({ labels: host["nodeLabels"], annotations: host["nodeAnnotations"] });
  const isMember = host["role"] === "controlPlane" || controlPlane !== undefined;
  const version = typeof kubelet === "string" ? kubelet : "";
  // As JSON: it was a validated machine's before it was a host's.
  return present({
    providerSpec: { value: providerObjectOf(host, provider) },
    versions: present({
      kubelet: version,
      controlPlane: isMember ? (controlPlane ?? version) : undefined,
      containerRuntime,
    }),
    roles: schedulable === true ? ["Master", "Node"] : undefined,
    configSource,
    taints,
    metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
  }) as unknown as MachineSpec;
}

/** A host's inputs keep the names that they had, so they are read in the version that knows most of them. */
function providerObjectOf(host: JsonObject, provider: ProviderSpecs): JsonObject {
  const newest = inVersion(host, provider);
  const older = (provider.olderVersions ?? []).map((version) => inVersion(host, version));
  const best = older.reduce((most, one) => (sizeOf(one) > sizeOf(most) ? one : most), newest);
  const stored = toStorageVersion([provider], best);
  return stored.kind === "stored" ? stored.object : newest;
}

function inVersion(host: JsonObject, { apiVersion, machineSpec }: ServedVersion): ProviderObject {
  const known = fieldsOf(machineSpec.schema);
  const fields = Object.entries(host).filter(([field]) => known.includes(field));
  return { ...Object.fromEntries(fields), apiVersion, kind: machineSpec.kind };
}

function sizeOf(object: ProviderObject): number {
  return Object.keys(object).length;
}

/** Where a machine's spec says what `hostSpecOf` puts into a field: ["versions", "kubelet"]. Pure. */
export function memberOfHostField(field: string): MemberPath {
  switch (field) {
    case "kubelet":
    case "controlPlane":
    case "containerRuntime":
      return ["versions", field];
    case "nodeLabels":
      return ["metadata", "labels"];
    case "nodeAnnotations":
      return ["metadata", "annotations"];
    case "schedulable":
      return ["roles"];
    case "configSource":
    case "taints":
      return [field];
    default:
      return ["providerSpec", "value", field];
  }
}

/** Without the members that are undefined, as JSON would have it. */
export function present(members: Readonly<Record<string, Json | undefined>>): JsonObject {
  return Object.fromEntries(
    Object.entries(members).filter((entry): entry is [string, Json] => entry[1] !== undefined),
  );
}
