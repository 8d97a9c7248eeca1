import type { EC2, Filter, ResourceType, Tag } from "@aws-sdk/client-ec2";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import { CapstanError, isCapstanError } from "../../../src/api/error.js";
import {
  markedCalls,
  type MarkedPage,
  type MarkQuery,
} from "../../../src/provider/marked-calls.js";
import type { CallContext, Found, Identity, Observed } from "../../../src/provider/port.js";
import type { AwsKind } from "../kinds/kinds.js";
import { createProtocols } from "../kinds/protocols.js";
import { type Ask, eachPage, ifThere } from "./ask.js";
import { markKey, markTags, type NewTag, tagChanges, tagsFor, type TagsWanted } from "./marks.js";

export type AskEc2 = Ask<EC2>;

/** What one page of a Describe call is asked for. */
interface Ec2Query {
  readonly Filters?: Filter[];
  readonly NextToken?: string;
}

/** A kind of EC2 that keeps marks as tags. */
export interface Ec2Kind {
  /** Its filter by id, e.g. "vpc-id". */
  readonly idFilter: string;
  page(ctx: CallContext, query: Ec2Query): Promise<MarkedPage>;
}

/** A filter value takes so many values at once. Source: EC2 API reference, "Filter". */
const mostValues = 200;
/** What was just made is shown by its id after so long, milliseconds. */
const shownWithinMs = 2_000;

/** The calls that look for resources of a kind and mark them. */
export function lookingCalls(ask: AskEc2, kind: Ec2Kind) {
  return markedCalls({
    mostValues,
    shownWithinMs,
    page: (ctx, query, next) =>
      kind.page(ctx, omitUndefined({ Filters: filtersOf(kind, query), NextToken: next })),
    tag: (ctx, id, who) => putTags(ask, ctx, id, markTags(who)),
    untag: (ctx, id, who) => ifThere(dropTags(ask, ctx, id, markTags(who))),
  });
}

function filtersOf({ idFilter }: Ec2Kind, { id, ...marks }: MarkQuery): Filter[] {
  if (id !== undefined) return filters({ [idFilter]: id });
  const wanted = Object.entries(marks).map(
    ([mark, values]) => [`tag:${markKey(mark as keyof typeof marks)}`, values] as const,
  );
  return filters(Object.fromEntries([["tag-key", [markKey("token")]], ...wanted]));
}

/** Filters as Describe calls take them. Pure. */
export function filters(values: Readonly<Record<string, readonly string[]>>): Filter[] {
  return Object.entries(values).map(([Name, Values]) => ({ Name, Values: [...Values] }));
}

/** Puts tags on a resource; what else it bears stays. */
export async function putTags(
  ask: AskEc2,
  ctx: CallContext,
  id: string,
  tags: readonly NewTag[],
): Promise<void> {
  if (tags.length === 0) return;
  await ask(ctx, "CreateTags", (ec2, options) =>
    ec2.createTags({ Resources: [id], Tags: [...tags] }, options),
  );
}

/** Takes tags off a resource: by their keys, or only as long as they have these values. */
export async function dropTags(
  ask: AskEc2,
  ctx: CallContext,
  id: string,
  tags: readonly Tag[],
): Promise<void> {
  await ask(ctx, "DeleteTags", (ec2, options) =>
    ec2.deleteTags({ Resources: [id], Tags: [...tags] }, options),
  );
}

/** Makes the user's tags of a resource what they are to be. */
export async function updateTags(
  ask: AskEc2,
  ctx: CallContext,
  { id, spec }: Observed,
  wanted: Observed["spec"],
): Promise<void> {
  const { put, drop } = tagChanges(spec["tags"], wanted["tags"]);
  const dropped = drop.map((Key) => ({ Key }));
  if (dropped.length > 0) await dropTags(ask, ctx, id, dropped);
  await putTags(ask, ctx, id, put);
}

/** The tags of a create call, on the resource that it makes. Pure. */
export function tagged(
  ResourceType: ResourceType,
  who: Identity,
  wanted: TagsWanted,
): { TagSpecifications: { ResourceType: ResourceType; Tags: NewTag[] }[] } {
  return { TagSpecifications: [{ ResourceType, Tags: tagsFor(who, wanted) }] };
}

/**
 * What a create with this token has made, of a kind whose creates take no token: everything of the kind is looked through, not
 * what an index of tags shows by now. Gone ones are left out.
 */
export async function madeBefore(
  kind: Ec2Kind,
  ctx: CallContext,
  { token }: Identity,
  among: Ec2Query = {},
): Promise<Observed | undefined> {
  const pages = eachPage((next) => kind.page(ctx, omitUndefined({ ...among, NextToken: next })));
  for await (const { resources } of pages) {
    const made = resources.find(
      (one): one is Observed => one.who?.token === token && one.phase !== "gone",
    );
    if (made !== undefined) return made;
  }
  return undefined;
}

/**
 * Makes what AWS has once: a range in a VPC, a name of a group. What has taken it may be what an earlier create with this
 * token made.
 */
export async function madeOnce(
  kind: AwsKind,
  made: Promise<Observed>,
  taken: () => Promise<Observed | undefined>,
): Promise<Observed> {
  try {
    return await made;
  } catch (cause) {
    if (!isCapstanError(cause) || cause.code !== "INVALID_INPUT") throw cause;
    const one = await taken();
    if (one !== undefined) return one;
    const { code, source, message } = cause;
    const hint = `AWS has each ${createProtocols[kind].key ?? ""} once: this one is somebody else's, or wrong`;
    throw new CapstanError({ code, source, message, hint, cause });
  }
}

/** An answer without what AWS always has, which its types do not promise. */
export function must<T>(value: T | undefined, what: string): T {
  if (value === undefined) throw new Error(`AWS has answered without ${what}`);
  return value;
}

/** A text input of a spec. */
export function text(spec: Observed["spec"], field: string): string {
  return String(spec[field]);
}

/** Text inputs of a spec; none of one that it does not have. */
export function texts(spec: Observed["spec"], field: string): string[] {
  const value = spec[field];
  return Array.isArray(value) ? value.map(String) : [];
}

/** The state of a resource as a phase; one that is not named does not come up by itself. */
export function phaseOf(
  state: string | undefined,
  phases: Readonly<Record<string, Found["phase"]>>,
): Found["phase"] {
  return phases[state ?? ""] ?? "failed";
}
