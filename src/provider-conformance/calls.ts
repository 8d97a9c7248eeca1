import type { JsonObject } from "../api/json.js";
import type { CreateContext, Identity, Observed } from "../provider/port.js";
import type { Inputs, Rig } from "./rig.js";

/** One call of a provider that changes something, and what it is about. */
export interface ChangingCall {
  readonly call: "create" | "update" | "remove" | "disown" | "mark";
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
      const current = await rig.make(inputs);
      await before(current);
      const wanted = inPlace ?? inputs.spec;
      return { call, who: inputs.who, current, wanted, run: (ctx) => change(ctx, current, wanted) };
    },
  });
  const bare = ({ who: _who, ...found }: Observed) => found;
  const all = [
    create,
    on("remove", (ctx, current) => handler.remove(ctx, current)),
    on("update", async (ctx, current, wanted) => handler.update?.(ctx, current, wanted)),
    on("disown", async (ctx, current) => handler.disown?.(ctx, current)),
    on(
      "mark",
      async (ctx, current) => handler.mark?.(ctx, bare(current), current.who),
      async (current) => handler.disown?.(rig.context, current),
    ),
  ];
  return all.filter(
    ({ call }) => handler[call] !== undefined && (call !== "update" || inPlace !== undefined),
  );
}
