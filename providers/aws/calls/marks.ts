import type { JsonObject } from "../../../src/api/json.js";
import type { Identity } from "../../../src/provider/port.js";

/** A tag as both EC2 and Elastic Load Balancing have it. */
export interface Tag {
  readonly Key?: string | undefined;
  readonly Value?: string | undefined;
}

/** A tag that is to be put on. */
export interface NewTag {
  readonly Key: string;
  readonly Value: string;
}

const prefix = "capstan:";
const marks = ["cluster", "clusterUid", "kind", "name", "token"] as const;

/** Which tags are a user's: others may add more, and these are theirs. */
const ownTagsKey = `${prefix}tags`;
/** In which order a list was given that AWS keeps in its own. */
const orderKey = `${prefix}order`;
/** What an instance may be instead: nothing else of it tells. */
const alternativesKey = `${prefix}alternatives`;
/** A member that has left its control plane, or is about to. */
const leftKey = `${prefix}left`;
const longestValue = 256;

/** The key of a mark, as filters name it. */
export function markKey(mark: (typeof marks)[number]): string {
  return `${prefix}${mark}`;
}

/** The tags that say who a resource is. */
export function markTags(who: Identity): NewTag[] {
  return marks.map((mark) => ({ Key: markKey(mark), Value: who[mark] }));
}

/** Whose secret it is, as policies of roles tell members of the control plane from workers. Pure. */
export function roleTag(isControlPlane: boolean): NewTag {
  return { Key: `${prefix}role`, Value: isControlPlane ? "control-plane" : "worker" };
}

/** The tag of a member that leaves its control plane for good. */
export const leftTag: NewTag = { Key: leftKey, Value: "control plane" };

/** Whether it bears that tag. Pure. */
export function isLeft(tags: readonly Tag[] = []): boolean {
  return valueOf(tags, leftKey) !== undefined;
}

/** Who a resource is by its tags; undefined of one that does not bear all marks. Pure. */
export function whoOf(tags: readonly Tag[] = []): Identity | undefined {
  const values = new Map(tags.map(({ Key, Value }) => [Key, Value]));
  const [cluster, clusterUid, kind, name, token] = marks.map((mark) => values.get(markKey(mark)));
  if (cluster === undefined || clusterUid === undefined || kind === undefined) return undefined;
  if (name === undefined || token === undefined) return undefined;
  return { cluster, clusterUid, kind, name, token };
}

/** Whether it bears any mark of ours, of whatever cluster. Pure. */
export function isMarked(tags: readonly Tag[]): boolean {
  return tags.some(({ Key = "" }) => Key.startsWith(prefix));
}

/** What a create call bears: marks, a name for people, tags for controllers in the cluster, and those of the user. Pure. */
export function tagsFor(who: Identity, { tags, order, more = {} }: TagsWanted): NewTag[] {
  return [
    ...Object.entries({ ...userTagsIn(tags), ...more }).map(([Key, Value]) => ({ Key, Value })),
    { Key: "Name", Value: `${clusterName(who)}-${who.name}` },
    ...ownTags(tags),
    ...orderTags(order),
    ...markTags(who),
  ];
}

/** The tags of a create call beside marks and name. */
export interface TagsWanted {
  /** The user's, as the spec has them. */
  readonly tags?: unknown;
  /** Ids in the order of the spec. */
  readonly order?: readonly string[];
  /** Those of Kubernetes. */
  readonly more?: Readonly<Record<string, string>>;
}

/** Controllers of the cloud in the cluster find by it what they may use. */
export function clusterTag(who: Identity): Readonly<Record<string, string>> {
  return { [`kubernetes.io/cluster/${clusterName(who)}`]: "owned" };
}

/** "<namespace>/<name>" is too much for a name that people read. */
export function clusterName({ cluster }: Pick<Identity, "cluster">): string {
  return cluster.split("/").at(-1) ?? cluster;
}

/** The user's tags as they are now; undefined where the resource was asked for none. Pure. */
export function shownTags(tags: readonly Tag[] = []): JsonObject | undefined {
  const keys = (valueOf(tags, ownTagsKey) ?? "").split(",");
  const shown = tags.flatMap(({ Key = "", Value = "" }) =>
    keys.includes(Key) ? [[Key, Value] as const] : [],
  );
  return shown.length === 0 ? undefined : Object.fromEntries(shown);
}

/** Tags to put on and keys to take off, so that the user's become what is wanted. Pure. */
export function tagChanges(
  from: unknown,
  to: unknown,
): { readonly put: NewTag[]; readonly drop: string[] } {
  const [before, wanted] = [userTagsIn(from), userTagsIn(to)];
  const drop = Object.keys(before).filter((key) => wanted[key] === undefined);
  const changed = Object.entries(wanted).filter(([key, value]) => before[key] !== value);
  const put = changed.map(([Key, Value]) => ({ Key, Value }));
  if (put.length + drop.length === 0) return { put, drop };
  const own = ownTags(to);
  return { put: [...put, ...own], drop: own.length === 0 ? [...drop, ownTagsKey] : drop };
}

/** Ids in the order that the resource was asked for, others last by their text. Pure. */
export function inOrder(ids: readonly string[], tags: readonly Tag[] = []): string[] {
  const order = (valueOf(tags, orderKey) ?? "").split(",");
  const placeOf = (id: string) => {
    const place = order.indexOf(shortId(id));
    return place < 0 ? order.length : place;
  };
  return [...ids].sort((one, other) => placeOf(one) - placeOf(other) || (one < other ? -1 : 1));
}

/** The tag that keeps an order; none of a list that needs none. Pure. */
export function orderTags(ids: readonly string[] = []): NewTag[] {
  if (ids.length < 2) return [];
  const Value = ids.map(shortId).join(",");
  // A value that is cut in the middle of an id would be another id.
  const end = Value.length <= longestValue ? Value.length : Value.lastIndexOf(",", longestValue);
  return [{ Key: orderKey, Value: Value.slice(0, end) }];
}

function shortId(id: string): string {
  return id.split("-").at(-1) ?? id;
}

function ownTags(tags: unknown): NewTag[] {
  const keys = Object.keys(userTagsIn(tags));
  return keys.length === 0 ? [] : [{ Key: ownTagsKey, Value: keys.join(",") }];
}

function userTagsIn(tags: unknown): Readonly<Record<string, string>> {
  if (typeof tags !== "object" || tags === null) return {};
  return Object.fromEntries(Object.entries(tags).map(([key, value]) => [key, String(value)]));
}

/** The value of a tag. Pure. */
export function valueOf(tags: readonly Tag[], key: string): string | undefined {
  return tags.find(({ Key }) => Key === key)?.Value;
}

/** The tag that keeps what an instance may be instead; none of one that is what it is. Pure. */
export function alternativesTags(text: string | undefined): Readonly<Record<string, string>> {
  return text === undefined ? {} : { [alternativesKey]: text };
}

/** What that tag says. Pure. */
export function alternativesIn(tags: readonly Tag[] = []): string | undefined {
  return valueOf(tags, alternativesKey);
}
