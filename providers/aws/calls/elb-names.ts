import type { CallContext, Identity, Observed } from "../../../src/provider/port.js";
import { awsNameOf } from "./errors.js";
import { type AskElb, type ElbKind, nameOf, tagsOf } from "./elb-kind.js";
import { whoOf } from "./marks.js";

/** What bears the name that is made of this token: an earlier create has made it. A second create may be accepted. */
export async function madeByName<Resource>(
  ask: AskElb,
  kind: ElbKind<Resource>,
  ctx: CallContext,
  who: Identity,
): Promise<Observed | undefined> {
  try {
    const [resource] = (await kind.byName?.(ctx, nameOf(who))) ?? [];
    if (resource === undefined) return undefined;
    const arn = kind.arnOf(resource);
    const tags = (await tagsOf(ask, ctx, [arn])).get(arn) ?? [];
    if (whoOf(tags)?.token !== who.token) return undefined;
    return { ...(await kind.shown(ctx, resource, tags, true)), who };
  } catch (error) {
    if (awsNameOf(error).endsWith("NotFound")) return undefined;
    throw error;
  }
}
