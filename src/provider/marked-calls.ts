import { CapstanError } from "../api/error.js";
import { omitUndefined } from "../api/omit-undefined.js";
import type { MachineCalls } from "./definition.js";
import type {
  CallContext,
  Found,
  Identity,
  InventoryScope,
  Observed,
  Presence,
  Wanted,
} from "./port.js";

/**
 * What is looked for: resources that have one of the values of each key, an `id` or a mark; of an empty query, all
 * that bear marks.
 */
export type MarkQuery = Readonly<
  Partial<Record<"id" | "cluster" | "clusterUid" | "token", readonly string[]>>
>;

/** A part of an answer, and where the next one begins. */
export interface MarkedPage {
  /** By id also what bears no marks of ours, and then has no `who`. */
  readonly resources: readonly Found[];
  readonly next?: string | undefined;
}

/** Resources of one kind in a cloud that keeps marks as tags, or labels, and can be asked for them. */
export interface MarkedKind {
  /** Throws what it cannot find out. `next` is that of the page before. */
  page(ctx: CallContext, query: MarkQuery, next?: string): Promise<MarkedPage>;
  /** Puts the marks on; what else it bears stays. */
  tag(ctx: CallContext, id: string, who: Identity): Promise<unknown>;
  /** Takes the marks off. Success also when it is gone, or has none. */
  untag(ctx: CallContext, id: string, who: Identity): Promise<unknown>;
  /** So many values of a key are asked for at once. 100 without. */
  readonly mostValues?: number;
  /** What was just made is not shown by its id for so long, milliseconds: what is missing is asked for again. 0 without. */
  readonly shownWithinMs?: number;
}

type LookingCalls = Required<
  Pick<MachineCalls, "locate" | "locateMany" | "list" | "find" | "mark" | "disown">
>;

/** The calls that look for resources and mark them; beside them a provider writes create, remove, and update. */
export function markedCalls(kind: MarkedKind): LookingCalls {
  const { mostValues = 100 } = kind;
  const having = async (ctx: CallContext, key: "id" | "token", values: readonly string[]) => {
    const found: Found[] = [];
    for (let from = 0; from < values.length; from += mostValues) {
      const query = { [key]: values.slice(from, from + mostValues) };
      for await (const page of pagesOf(kind, ctx, query)) found.push(...page);
    }
    return found;
  };
  const withIds = async (ctx: CallContext, ids: readonly string[]) => {
    const found = await having(ctx, "id", ids);
    const missing = ids.filter((id) => !found.some((one) => one.id === id));
    if (missing.length === 0 || kind.shownWithinMs === undefined) return found;
    await ctx.clock.sleep(kind.shownWithinMs, ctx.signal);
    return [...found, ...(await having(ctx, "id", missing))];
  };
  const find = async (ctx: CallContext, id: string) => (await withIds(ctx, [id]))[0];
  const locateMany = async (ctx: CallContext, wanted: readonly Wanted[]) => {
    const known = await withIds(
      ctx,
      wanted.flatMap(({ id }) => id ?? []),
    );
    const tokens = wanted.flatMap(({ who, id }) => (id === undefined ? who.token : []));
    const marked = await having(ctx, "token", tokens);
    return wanted.map(({ who, id }) => {
      if (id !== undefined) return presenceOf(known.filter((one) => one.id === id));
      const bearers = marked.filter((one) => one.who?.token === who.token);
      return presenceOf(bearers.filter(({ phase }) => phase !== "gone"));
    });
  };
  return {
    find,
    locateMany,
    locate: async (ctx, who, id) => {
      const [presence] = await locateMany(ctx, [id === undefined ? { who } : { who, id }]);
      return presence ?? { found: "none" };
    },
    list: (ctx, scope) => listed(kind, ctx, scope),
    mark: async (ctx, { id }, who) => {
      const owner = (await find(ctx, id))?.who;
      if (owner !== undefined && owner.token !== who.token) throw ownedBy(owner, id);
      await kind.tag(ctx, id, who);
    },
    disown: async (ctx, { id, who }) => {
      await kind.untag(ctx, id, who);
    },
  };
}

async function* pagesOf(
  kind: MarkedKind,
  ctx: CallContext,
  query: MarkQuery,
): AsyncGenerator<readonly Found[], void> {
  let next: string | undefined;
  do {
    const page = await kind.page(ctx, query, next);
    yield page.resources;
    ({ next } = page);
  } while (next !== undefined && next !== "");
}

async function* listed(
  kind: MarkedKind,
  ctx: CallContext,
  { cluster, clusterUid }: Partial<InventoryScope> = {},
): AsyncGenerator<readonly Observed[], void> {
  const query = omitUndefined({
    cluster: cluster === undefined ? undefined : [cluster],
    clusterUid: clusterUid === undefined ? undefined : [clusterUid],
  });
  for await (const page of pagesOf(kind, ctx, query)) yield page.filter(isMarked);
}

function isMarked(found: Found): found is Observed {
  return found.who !== undefined;
}

/** What bears no marks of ours is nothing to us, whatever its id. */
function presenceOf(found: readonly Found[]): Presence {
  const [one, ...others] = found.filter(isMarked);
  if (one === undefined) return { found: "none" };
  if (others.length === 0) return { found: "one", resource: one };
  return { found: "many", ids: [one, ...others].map(({ id }) => id) };
}

function ownedBy({ cluster, name }: Identity, id: string): CapstanError {
  return new CapstanError({
    code: "NOT_OURS",
    source: "cloud",
    message: `cannot mark ${id}: it bears the marks of ${cluster} ${name}`,
    hint: "it was left as it is; remove its marks by hand if it is yours",
  });
}
