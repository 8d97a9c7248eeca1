import { type CapstanError, isCapstanError } from "../api/error.js";
import type { JsonObject } from "../api/json.js";
import { mayBeAskedAgain } from "../dynamic/call-failures.js";
import type { CreateContext, Identity, Observed } from "../provider/port.js";
import type { Inputs, Rig } from "./rig.js";

/** One call of a provider that changes something, and what it is about. */
export interface ChangingCall {
  readonly call: "create" | "update" | "start" | "remove" | "disown" | "mark";
  readonly who: Identity;
  /** Absent before a create. */
  readonly current?: Observed;
  /** The spec that it leads to, where it leaves anything. */
  readonly wanted: JsonObject;
  readonly run: (ctx: CreateContext) => Promise<unknown>;
}

/** A call that can be set up anew, each time about a resource of its own. */
interface Rehearsal {
  readonly call: ChangingCall["call"];
  readonly set: () => Promise<ChangingCall>;
}

/** After so many retryable refusals a call counts as refused. */
const mostAttempts = 60;
const betweenAttemptsMs = 1_000;

/**
 * Makes a change as the product does: a retryable refusal leads to another attempt, on the resource as the cloud shows it by then.
 * Each further attempt asserts first that the engine is alive.
 */
export async function asProduct<T>(
  ctx: CreateContext,
  attempt: (isFirst: boolean) => Promise<T>,
): Promise<T> {
  let refusal: CapstanError | undefined;
  for (let attempts = 0; attempts < mostAttempts; attempts += 1) {
    if (attempts > 0) await ctx.assertEngineAlive();
    try {
      return await attempt(attempts === 0);
    } catch (error) {
      if (!isCapstanError(error) || !mayBeAskedAgain(error)) throw error;
      refusal = error;
    }
    await ctx.clock.sleep(betweenAttemptsMs, ctx.signal);
  }
  throw refusal ?? new Error("no attempt was made");
}

/** Every call of the case's kind that changes something and that the provider offers. */
export async function rehearsals(rig: Rig): Promise<Rehearsal[]> {
  const { handler } = rig;
  const { who: ours, spec } = await rig.prepare();
  const inPlace = await rig.changedInPlace();
  let lives = 0;
  const fresh = (): Inputs => {
    lives += 1;
    const who = rig.stranger(ours, { uid: `${rig.world.clusterUid}-life-${lives}` });
    return { who, spec: rig.beside(spec, lives) };
  };
  const create: Rehearsal = {
    call: "create",
    set: async () => {
      const { who, spec: wanted } = fresh();
      return { call: "create", who, wanted, run: (ctx) => handler.create(ctx, who, wanted) };
    },
  };
  const on = (
    call: Exclude<ChangingCall["call"], "create">,
    change: (ctx: CreateContext, current: Observed, wanted: JsonObject) => Promise<unknown>,
    before: (current: Observed) => Promise<void> = async () => {},
  ): Rehearsal => ({
    call,
    set: async () => {
      const inputs = fresh();
      const made = await rig.make(inputs);
      const { who } = inputs;
      await before(made);
      const now = await handler.locate(rig.context, who, made.id);
      const current = now.found === "one" ? now.resource : made;
      const wanted = inPlace ?? inputs.spec;
      const run = (ctx: CreateContext) =>
        asProduct(ctx, async (isFirst) => {
          const latest = isFirst ? undefined : await handler.locate(ctx, who, current.id);
          const from = latest?.found === "one" ? latest.resource : current;
          return change(ctx, from, wanted);
        });
      return { call, who, current, wanted, run };
    },
  });
  const bare = ({ who: _who, ...found }: Observed) => found;
  const all = [
    create,
    on("remove", (ctx, current) => handler.remove(ctx, current)),
    on("update", async (ctx, current, wanted) => handler.update?.(ctx, current, wanted)),
    on(
      "start",
      async (ctx, current) => handler.start?.(ctx, current),
      async ({ id }) => rig.world.stop?.(id),
    ),
    on("disown", async (ctx, current) => handler.disown?.(ctx, current)),
    on(
      "mark",
      async (ctx, current) => handler.mark?.(ctx, bare(current), current.who),
      async (current) => handler.disown?.(rig.context, current),
    ),
  ];
  const isThere: Readonly<Partial<Record<ChangingCall["call"], boolean>>> = {
    update: inPlace !== undefined,
    start: rig.isHost && rig.world.stop !== undefined,
  };
  return all.filter(({ call }) => handler[call] !== undefined && isThere[call] !== false);
}
