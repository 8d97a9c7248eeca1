import type { JsonObject } from "../api/json.js";
import type { Kind } from "../api/schema.js";
import { conditionsBeside } from "./field-owners.js";
import { isDeleting, type LiveObject } from "./live-object.js";
import { mergePatch } from "./merge-patch.js";
import type { Redacted } from "./redaction.js";

/** Kept on a Cluster until nothing of it is left. Source: docs/cluster-api.md#cluster. */
export const clusterFinalizer = "cluster.cluster.k8s.io";
/** Kept on a Machine until its hosts are gone. Source: docs/cluster-api.md#machine. */
export const machineFinalizer = "machine.cluster.k8s.io";

/** An object before an API server has it. */
export interface NewObject {
  readonly apiVersion: string;
  readonly kind: Kind;
  readonly metadata: JsonObject & { readonly name: string; readonly namespace: string };
  readonly spec: JsonObject;
}

/** One write to an API server. What has to be as it was read carries its resourceVersion. */
export type ApiWrite =
  | { readonly kind: "create"; readonly object: NewObject }
  | { readonly kind: "patch"; readonly on: LiveObject; readonly patch: JsonObject }
  | { readonly kind: "status"; readonly on: LiveObject; readonly patch: JsonObject }
  /** Of this very object: another of its name stays. */
  | { readonly kind: "delete"; readonly on: LiveObject };

/** Its finalizers and that one; an API server takes no new ones for what is being deleted. Pure. */
export function withFinalizer(on: LiveObject, finalizer: string): readonly string[] | undefined {
  const { finalizers = [] } = on.metadata;
  if (isDeleting(on) || finalizers.includes(finalizer)) return on.metadata.finalizers;
  return [...finalizers, finalizer];
}

/** The write that takes finalizers of ours away, bound to what was read; none when it has none of them. Pure. */
export function released(on: LiveObject, own: readonly string[]): ApiWrite[] {
  const finalizers = on.metadata.finalizers?.filter((one) => !own.includes(one));
  return patched(on, { metadata: { ...on.metadata, finalizers } });
}

/** Metadata as API servers store it: without lists and maps that are empty. */
function stored(metadata: object): Record<string, unknown> {
  const entries = Object.entries(metadata).filter(
    ([, value]) => typeof value !== "object" || Object.keys(value as object).length > 0,
  );
  return Object.fromEntries(entries);
}

/** The write that brings metadata and spec to what is wanted, bound to what was read; none when they are. Pure. */
export function patched(
  on: LiveObject,
  wanted: { readonly metadata?: object; readonly spec?: object },
): ApiWrite[] {
  const { metadata, spec = {} } = on;
  const patch = mergePatch(
    { metadata: stored(metadata), spec },
    { metadata: stored(wanted.metadata ?? metadata), spec: wanted.spec ?? spec },
  );
  if (patch === undefined) return [];
  const bound = { ...(patch["metadata"] as JsonObject), resourceVersion: metadata.resourceVersion };
  return [{ kind: "patch", on, patch: { ...patch, metadata: bound } }];
}

/**
 * The one way to write a status. The write makes an object's status this one, without what is not in it, but for
 * conditions of other controllers; none when it is. A list is written as a whole: bound to what was read, so that no
 * condition is lost that came meanwhile. Pure.
 */
export function statusPatch(on: LiveObject, status: Redacted<object>): ApiWrite[] {
  const { resourceVersion, managedFields } = on.metadata;
  const shown = on.status ?? {};
  const { conditions: present = [] } = shown as Conditions;
  const { conditions: own = [] } = status as Conditions;
  const conditions = conditionsBeside(own, present, managedFields);
  const all = conditions.length === 0 ? status : { ...status, conditions };
  const patch = mergePatch(shown, all);
  if (patch === undefined) return [];
  const bound = "conditions" in patch ? { metadata: { resourceVersion } } : {};
  return [{ kind: "status", on, patch: { ...bound, status: patch } }];
}

interface Conditions {
  readonly conditions?: readonly { readonly type: string }[];
}

/** Kinds whose statuses sum up those of the kinds before them. */
const fromPartsToSums: readonly Kind[] = ["Machine", "MachineSet", "MachineDeployment", "Cluster"];

/**
 * Writes in the order that keeps every sum behind its parts: objects first, then statuses from Machines up
 * to the Cluster. Who reads that a Cluster runs may then read the same of its Machines. No stage is empty. Pure.
 */
export function writeStages(writes: readonly ApiWrite[]): ApiWrite[][] {
  const stageOf = (write: ApiWrite) =>
    write.kind === "status" ? fromPartsToSums.indexOf(write.on.kind) : -1;
  const stages = new Map<number, ApiWrite[]>();
  for (const write of writes) {
    const stage = stageOf(write);
    stages.set(stage, [...(stages.get(stage) ?? []), write]);
  }
  return [...stages].sort(([left], [right]) => left - right).map(([, stage]) => stage);
}
