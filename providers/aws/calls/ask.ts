import type { CallContext } from "../../../src/provider/port.js";
import { awsNameOf, isExpired, translated } from "./errors.js";

/** What goes with each request. */
interface RequestOptions {
  readonly abortSignal: AbortSignal;
}

/** Makes one request with a client. `call` is what AWS calls it, e.g. "CreateVpc". */
export type Ask<Client> = <Answer>(
  ctx: Pick<CallContext, "signal" | "assertEngineAlive">,
  call: string,
  request: (client: Client, options: RequestOptions) => Promise<Answer>,
) => Promise<Answer>;

/**
 * Asks AWS, unless whoever asked for it was interrupted or has died. Throws errors in our codes, and what may have taken
 * effect as `ambiguous`. `service` is its prefix in policies of IAM. A session that is over before its time, as a clock that
 * goes wrong makes it, is opened anew once: what was refused for it has done nothing.
 */
export function asker<Client>(
  service: string,
  open: () => Promise<Client>,
  renew?: (signal: CallContext["signal"]) => Promise<void>,
): Ask<Client> {
  return async (ctx, call, request) => {
    const changes = !/^(Describe|Get|List)/.test(call);
    const action = `${service}:${call}`;
    const once = async () => {
      const client = await open();
      ctx.signal.throwIfAborted();
      if (changes) ctx.assertEngineAlive();
      return request(client, { abortSignal: ctx.signal });
    };
    try {
      return await once().catch(async (error: unknown) => {
        if (renew === undefined || !isExpired(error)) throw error;
        await renew(ctx.signal);
        return once();
      });
    } catch (error) {
      throw translated(error, { action, changes });
    }
  };
}

/** What is not there any more needs no removal. */
export async function ifThere(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!awsNameOf(error).endsWith("NotFound")) throw error;
  }
}

/** The pages of a listing, one after the other. No token ends it, and an empty one. */
export async function* eachPage<Page extends { readonly next?: string | undefined }>(
  pageFrom: (next: string | undefined) => Promise<Page>,
): AsyncGenerator<Page, void> {
  let next: string | undefined;
  do {
    const page = await pageFrom(next);
    yield page;
    ({ next } = page);
  } while (next !== undefined && next !== "");
}
