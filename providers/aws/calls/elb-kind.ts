import type { ElasticLoadBalancing } from "@aws-sdk/client-elastic-load-balancing";
import type { ElasticLoadBalancingV2 } from "@aws-sdk/client-elastic-load-balancing-v2";
import { omitUndefined } from "../../../src/api/omit-undefined.js";
import {
  markedCalls,
  type MarkedPage,
  type MarkQuery,
} from "../../../src/provider/marked-calls.js";
import type { CallContext, Found, Identity, Observed } from "../../../src/provider/port.js";
import { type Ask, ifThere } from "./ask.js";
import type { AskEc2 } from "./ec2-kind.js";
import { awsNameOf } from "./errors.js";
import { markTags, type NewTag, type Tag, tagChanges, whoOf } from "./marks.js";

export type AskElb = Ask<ElasticLoadBalancingV2>;
/** The older API of the same service, which alone has classic load balancers. */
export type AskClassicElb = Ask<ElasticLoadBalancing>;

/** All whose things stand in the way of one another's. */
export interface AskAws {
  readonly ec2: AskEc2;
  readonly elb: AskElb;
  readonly classicElb: AskClassicElb;
}

/** A part of what an account has of a kind. */
interface ElbPage<Resource> {
  readonly items: readonly Resource[];
  readonly next?: string | undefined;
}

/** A kind of Elastic Load Balancing: it has no filters, so that tags are asked for and compared here. */
export interface ElbKind<Resource> {
  /** Every resource of the kind. */
  readonly page: (ctx: CallContext, next?: string) => Promise<ElbPage<Resource>>;
  /** By its ARN. Throws what AWS calls "not found". */
  readonly byArn: (ctx: CallContext, arn: string) => Promise<readonly Resource[]>;
  readonly arnOf: (resource: Resource) => string;
  /** `isWhole`: it bears marks, or was asked for itself, so that what only further calls tell is to be shown as well. */
  readonly shown: (
    ctx: CallContext,
    resource: Resource,
    tags: readonly Tag[],
    isWhole: boolean,
  ) => Promise<Found>;
  /** By its name, which is made of the token, of kinds that have names: it never lags. */
  readonly byName?: (ctx: CallContext, name: string) => Promise<readonly Resource[]>;
}

/** One call tells the tags of so many. Source: DescribeTags of both APIs. */
const taggedAtOnce = 20;

/** The name of a load balancer or target group: unique in account and region, 32 characters at most. Pure. */
export function nameOf({ token }: Pick<Identity, "token">): string {
  return `capstan-${token.slice(0, 24)}`;
}

/** The calls that look for resources of a kind and mark them. */
export function lookingElbCalls<Resource>(ask: AskElb, kind: ElbKind<Resource>) {
  return markedCalls({
    shownWithinMs: 2_000,
    page: (ctx, query, next) => pageOf(ask, kind, ctx, { query, next }),
    tag: (ctx, arn, who) => addTags(ask, ctx, arn, markTags(who)),
    untag: (ctx, arn, who) =>
      removeTags(
        ask,
        ctx,
        arn,
        markTags(who).map(({ Key }) => Key),
      ),
  });
}

async function pageOf<Resource>(
  ask: AskElb,
  kind: ElbKind<Resource>,
  ctx: CallContext,
  { query, next }: { readonly query: MarkQuery; readonly next: string | undefined },
): Promise<MarkedPage> {
  const { id, token } = query;
  if (id !== undefined) {
    const items = await each(id, (arn) => kind.byArn(ctx, arn));
    return { resources: await shownAll(ask, kind, ctx, { items, isAsked: true }) };
  }
  const page = await kind.page(ctx, next);
  const listed = new Set(page.items.map(kind.arnOf));
  const { byName } = kind;
  // Names do not lag; what bears the marks and another name is in the listing.
  const named =
    token === undefined || byName === undefined || next !== undefined
      ? []
      : await each(token, (one) => byName(ctx, nameOf({ token: one })));
  const items = [...page.items, ...named.filter((one) => !listed.has(kind.arnOf(one)))];
  const all = await shownAll(ask, kind, ctx, { items });
  return omitUndefined<MarkedPage>({
    resources: all.filter((one) => fits(one, query)),
    next: page.next,
  });
}

/** What is not found is not there. */
async function each<Resource>(
  keys: readonly string[],
  find: (key: string) => Promise<readonly Resource[]>,
): Promise<Resource[]> {
  const found: Resource[] = [];
  for (const key of keys) {
    try {
      found.push(...(await find(key)));
    } catch (error) {
      if (!awsNameOf(error).endsWith("NotFound")) throw error;
    }
  }
  return found;
}

function fits({ who }: Found, { id: _id, ...marks }: MarkQuery): boolean {
  if (who === undefined) return false;
  return Object.entries(marks).every(([mark, values]) => values.includes(String(who[mark])));
}

async function shownAll<Resource>(
  ask: AskElb,
  kind: ElbKind<Resource>,
  ctx: CallContext,
  { items, isAsked = false }: { readonly items: readonly Resource[]; readonly isAsked?: boolean },
): Promise<Found[]> {
  const shown: Found[] = [];
  const tags = await tagsOfAll(ask, ctx, items.map(kind.arnOf));
  for (const one of items) {
    const own = tags.get(kind.arnOf(one)) ?? [];
    shown.push(await kind.shown(ctx, one, own, isAsked || whoOf(own) !== undefined));
  }
  return shown;
}

/** By what calls name a resource with. */
type TagsById = ReadonlyMap<string, readonly Tag[]>;

/** The tags of however many resources, by ARN. */
export async function tagsOfAll(
  ask: AskElb,
  ctx: CallContext,
  arns: readonly string[],
): Promise<TagsById> {
  return inParts(arns, (some) => tagsOf(ask, ctx, some));
}

/** The tags of however many classic load balancers, by name. */
export async function classicTagsOfAll(
  ask: AskClassicElb,
  ctx: CallContext,
  names: readonly string[],
): Promise<TagsById> {
  return inParts(names, async (LoadBalancerNames) => {
    const { TagDescriptions = [] } = await ask(ctx, "DescribeTags", (elb, options) =>
      elb.describeTags({ LoadBalancerNames }, options),
    );
    return new Map(
      TagDescriptions.map(({ LoadBalancerName = "", Tags = [] }) => [LoadBalancerName, Tags]),
    );
  });
}

async function inParts(
  ids: readonly string[],
  tagsOfSome: (some: string[]) => Promise<TagsById>,
): Promise<TagsById> {
  const all = new Map<string, readonly Tag[]>();
  for (let from = 0; from < ids.length; from += taggedAtOnce) {
    const some = await tagsOfSome(ids.slice(from, from + taggedAtOnce));
    for (const [id, tags] of some) all.set(id, tags);
  }
  return all;
}

/** The tags of up to twenty resources, by ARN. */
export async function tagsOf(
  ask: AskElb,
  ctx: CallContext,
  ResourceArns: string[],
): Promise<TagsById> {
  const { TagDescriptions = [] } = await ask(ctx, "DescribeTags", (elb, options) =>
    elb.describeTags({ ResourceArns }, options),
  );
  return new Map(TagDescriptions.map(({ ResourceArn = "", Tags = [] }) => [ResourceArn, Tags]));
}

/** Puts tags on; what else it bears stays. */
export async function addTags(
  ask: AskElb,
  ctx: CallContext,
  arn: string,
  tags: readonly NewTag[],
): Promise<void> {
  if (tags.length === 0) return;
  await ask(ctx, "AddTags", (elb, options) =>
    elb.addTags({ ResourceArns: [arn], Tags: [...tags] }, options),
  );
}

/** Takes tags off. Success also when it is gone, or has none. */
export async function removeTags(
  ask: AskElb,
  ctx: CallContext,
  arn: string,
  keys: readonly string[],
): Promise<void> {
  if (keys.length === 0) return;
  await ifThere(
    ask(ctx, "RemoveTags", (elb, options) =>
      elb.removeTags({ ResourceArns: [arn], TagKeys: [...keys] }, options),
    ),
  );
}

/** Makes the user's tags of a resource what they are to be. */
export async function updateElbTags(
  ask: AskElb,
  ctx: CallContext,
  { id, spec }: Observed,
  wanted: Observed["spec"],
): Promise<void> {
  const { put, drop } = tagChanges(spec["tags"], wanted["tags"]);
  await removeTags(ask, ctx, id, drop);
  await addTags(ask, ctx, id, put);
}
