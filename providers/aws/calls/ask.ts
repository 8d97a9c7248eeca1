import { isCapstanError } from "../../../src/api/error.js";
import type { CallContext } from "../../../src/provider/port.js";
import { awsNameOf, isExpired, translated } from "./errors.js";
import type { AdaptivePace } from "./request-pace.js";

/** What goes with each request. */
interface RequestOptions {
  readonly abortSignal: AbortSignal;
}

/** What a request needs of whoever it is made for. */
type Asking = Pick<CallContext, "clock" | "signal" | "assertEngineAlive">;

/** Makes one request with a client. `call` is what AWS calls it, e.g. "CreateVpc". */
export type Ask<Client> = <Answer>(
  ctx: Asking,
  call: string,
  request: (client: Client, options: RequestOptions) => Promise<Answer>,
) => Promise<Answer>;

/** What an asker does beside asking. */
export interface AskerTerms {
  /** Opens another session. */
  readonly renew?: (ctx: Asking) => Promise<void>;
  /** The pace of a request; without, it begins at once. */
  readonly pace?: (ctx: Asking, call: string) => Promise<AdaptivePace>;
}

/** A throttled request is made again after so long, each time twice as long, milliseconds: half a minute in all. */
const pausesMs = [1_000, 2_000, 4_000, 8_000, 16_000] as const;

/**
 * Asks AWS, unless whoever asked for it was interrupted or has died. Throws errors in our codes, and what may have taken
 * effect as `ambiguous`. `service` is its prefix in policies of IAM. A session that is over before its time, as a clock that
 * goes wrong makes it, is opened anew once: what was refused for it has done nothing. Neither has what was throttled: that
 * request alone is made again, however many others it is one of, and slows down all that share its pace.
 */
export function asker<Client>(
  service: string,
  open: () => Promise<Client>,
  { renew, pace }: AskerTerms = {},
): Ask<Client> {
  return async (ctx, call, request) => {
    const changes = !/^(Describe|Get|List)/.test(call);
    const action = `${service}:${call}`;
    const made = async () => {
      const client = await open();
      const own = await pace?.(ctx, call);
      const begunAtMs = await own?.turn(ctx);
      ctx.signal.throwIfAborted();
      if (changes) await ctx.assertEngineAlive();
      try {
        return await request(client, { abortSignal: ctx.signal });
      } catch (error) {
        const thrown = translated(error, { action, changes });
        if (isThrottled(thrown)) own?.refused(begunAtMs ?? 0, ctx.clock.now());
        throw thrown;
      }
    };
    const inSession = () =>
      made().catch(async (error: unknown) => {
        if (renew === undefined || !isExpired(error)) throw error;
        await renew(ctx);
        return made();
      });
    for (const pauseMs of pausesMs) {
      try {
        return await inSession();
      } catch (error) {
        if (!isThrottled(error)) throw translated(error, { action, changes });
      }
      await ctx.clock.sleep(pauseMs, ctx.signal);
    }
    return inSession().catch((error: unknown) => {
      throw translated(error, { action, changes });
    });
  };
}

function isThrottled(error: unknown): boolean {
  return isCapstanError(error) && error.code === "CLOUD_THROTTLED";
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
