import { isJsonObject, type JsonObject, sameJson } from "../api/json.js";
import { revisionAnnotation, revisionHistoryAnnotation } from "../sets/revisions.js";

// Who has written which field of an object, as its API server keeps account of it.
// Source: https://kubernetes.io/docs/reference/using-api/server-side-apply/#field-management

/** The name of all our writes to objects, in every release. */
export const fieldManager = "capstan";

/** On a Cluster: its UID in the cloud's marks, written by us before the first call. */
export const clusterUidAnnotation = "capstan.dev/cluster-uid";

/**
 * On a Cluster: the `metadata.uid` of the object that the UID in the cloud was written on. No two objects have the
 * same, on whatever API servers, so what is copied with all annotations can be told from its original (ADR 32).
 */
export const boundToAnnotation = "capstan.dev/bound-to";

/** Annotations that Capstan writes on users' objects. */
export const writtenAnnotations: readonly string[] = [
  clusterUidAnnotation,
  boundToAnnotation,
  revisionAnnotation,
  revisionHistoryAnnotation,
];

/** An entry of `metadata.managedFields`: the fields that one manager has written. */
export interface ManagedFields {
  readonly manager?: string;
  /** "status"; absent of the object itself. */
  readonly subresource?: string;
  /** "f:<member>" for members, "k:<keys as JSON>" for items of lists by key. */
  readonly fieldsV1?: JsonObject;
}

type Entries = readonly ManagedFields[];

/**
 * The same entries, in which Capstan owns nothing on a user's object but what no user writes. A value that was left
 * out and written back, or that a move has brought, then belongs to the next user who applies it. Pure.
 */
export function releasedToUsers(entries: Entries | undefined): Entries | undefined {
  return entries?.flatMap((entry) => {
    if (entry.manager !== fieldManager || entry.subresource !== undefined) return [entry];
    const { "f:metadata": metadata, "f:spec": spec } = entry.fieldsV1 ?? {};
    const kept = withoutEmpty({
      "f:metadata": only(metadata, ["f:finalizers", "f:ownerReferences", "f:annotations"]),
      "f:spec": only(spec, ["f:providerID"]),
    });
    const annotations = isJsonObject(kept["f:metadata"]) ? kept["f:metadata"] : {};
    const own = writtenAnnotations.map((name) => `f:${name}`);
    const fieldsV1 = withoutEmpty({
      ...kept,
      "f:metadata": withoutEmpty({
        ...annotations,
        "f:annotations": only(annotations["f:annotations"], own),
      }),
    });
    return Object.keys(fieldsV1).length === 0 ? [] : [{ ...entry, fieldsV1 }];
  });
}

/** A condition as any controller writes it. */
interface AnyCondition {
  readonly type: string;
}

/**
 * The conditions that an object is to have: `own`, and those of other controllers as they are. What Capstan has
 * written and does not write any more goes. In the order in which they are, where they are all there. Pure.
 */
export function conditionsBeside(
  own: readonly AnyCondition[],
  present: readonly AnyCondition[],
  entries: Entries | undefined,
): readonly AnyCondition[] {
  const isOurs = ownedConditions(entries);
  const types = new Set(own.map(({ type }) => type));
  const foreign = present.filter(({ type }) => !types.has(type) && !isOurs(type));
  const wanted = [...own, ...foreign];
  const isThere = (one: AnyCondition) => present.some((other) => sameJson(one, other));
  return wanted.length === present.length && wanted.every(isThere) ? present : wanted;
}

/** Which conditions Capstan has written. Definitions of earlier releases keep account of the list as a whole. */
function ownedConditions(entries: Entries = []): (type: string) => boolean {
  const lists = entries.flatMap(({ manager, subresource, fieldsV1 }): JsonObject[] => {
    if (manager !== fieldManager || subresource !== "status") return [];
    const list = member(member(fieldsV1, "f:status"), "f:conditions");
    return list === undefined ? [] : [list];
  });
  const owned = new Set(lists.flatMap((list) => Object.keys(list)));
  const isWhole = lists.some((list) => Object.keys(list).length === 0);
  return (type) => isWhole || owned.has(`k:${JSON.stringify({ type })}`);
}

function member(value: JsonObject | undefined, name: string): JsonObject | undefined {
  const found = value?.[name];
  return isJsonObject(found) ? found : undefined;
}

function only(value: unknown, names: readonly string[]): JsonObject {
  if (!isJsonObject(value)) return {};
  return Object.fromEntries(Object.entries(value).filter(([name]) => names.includes(name)));
}

/** Without members that hold nothing, but those of which nothing can be told: "f:providerID" is such a leaf. */
function withoutEmpty(value: JsonObject): JsonObject {
  const maps = ["f:metadata", "f:spec", "f:annotations"];
  return Object.fromEntries(
    Object.entries(value).filter(
      ([name, held]) =>
        !maps.includes(name) || (isJsonObject(held) && Object.keys(held).length > 0),
    ),
  );
}
