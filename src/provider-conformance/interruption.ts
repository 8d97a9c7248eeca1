import { CapstanError, expectDefined } from "../api/error.js";
import { type JsonObject, sameJson } from "../api/json.js";
import type { Clock } from "../provider/port.js";
import { timingOf } from "../provider/timing.js";
import { type ChangingCall, rehearsals } from "./calls.js";
import { inTime } from "./limit.js";
import { startedAgain } from "./outside.js";
import { partsOf } from "./parts.js";
import { errorOf, seenOf } from "./seen.js";
import type { Rig } from "./rig.js";
import { harnessMust, must, offered, type WorldPowers } from "./subject.js";

/** A call that still makes changes after so many never comes to its end. */
const mostChanges = 20;

/** How long a call may go on after it was interrupted, while this process has its turn. */
export const patienceMs = 1_000;

const untilInterruptMs = 20;

/** "makes sure that its engine lives before each further change of a call" */
export async function checksEngine(rig: Rig): Promise<void> {
  const world = rig.able("beforeChange");
  for (const { call, set } of await rehearsals(rig)) {
    const { run } = await set();
    // The caller has looked right before; what follows a change or a wait comes later than that.
    let isOld = false;
    let unchecked = 0;
    let changes = 0;
    world.beforeChange(() => {
      changes += 1;
      if (isOld) unchecked += 1;
      isOld = true;
    });
    const { clock } = rig.context;
    const sleep: Clock["sleep"] = async (ms, signal) => {
      isOld = true;
      await clock.sleep(ms, signal);
    };
    // It answers later, as a backend does that is asked: a change that does not wait for it comes before.
    const assertEngineAlive = async () => {
      await Promise.resolve();
      isOld = false;
    };
    const ctx = { ...rig.context, clock: { now: () => clock.now(), sleep }, assertEngineAlive };
    const error = await errorOf(run(ctx));
    world.beforeChange();
    must(error === undefined, `be able to ${call} what it has just made`, seenOf(error));
    mustHaveSeen(call, changes);
    must(
      unchecked === 0,
      `await ctx.assertEngineAlive() before a change that comes after another one, or after a wait (${call})`,
      `${unchecked} of its changes came without`,
    );
  }
}

/** "begins no further change after an interrupt" */
export async function stopsChanging(rig: Rig): Promise<void> {
  const world = rig.able("beforeChange");
  for (const { call, set } of await rehearsals(rig)) {
    const { run } = await set();
    const interrupt = new AbortController();
    let changes = 0;
    world.beforeChange(() => {
      changes += 1;
      interrupt.abort(interrupted());
    });
    await errorOf(run({ ...rig.context, signal: interrupt.signal }));
    world.beforeChange();
    mustHaveSeen(call, changes);
    must(
      changes <= 1,
      `look at ctx.signal before a change that comes after another one (${call})`,
      `interrupted in its first change, it made ${changes}`,
    );
  }
}

/** A create changes something: a world that does not tell of it would let every provider pass. */
function mustHaveSeen(call: ChangingCall["call"], changes: number): void {
  harnessMust(
    call !== "create" || changes > 0,
    "call the hook of beforeChange: a create made none",
  );
}

/** A call in words. */
interface Named extends Pick<ChangingCall, "run"> {
  readonly call: string;
}

/** "gives up at once when it is interrupted while the cloud does not answer" */
export async function endsAtOnce(rig: Rig): Promise<void> {
  const world = rig.able("hang");
  const calls: Named[] = [];
  for (const { set } of await rehearsals(rig)) calls.push(await set());
  const inputs = await rig.prepare();
  const { id } = await rig.make(inputs);
  const { cluster, clusterUid } = inputs.who;
  const { handler, provider } = rig;
  calls.push(
    { call: "locate with an id", run: (ctx) => handler.locate(ctx, inputs.who, id) },
    { call: "locate", run: (ctx) => handler.locate(ctx, inputs.who) },
    { call: "inventory", run: (ctx) => provider.inventory(ctx, { cluster, clusterUid }) },
  );
  await world.hang(true);
  const slow: string[] = [];
  let hung = 0;
  await Promise.all(
    calls.map(async ({ call, run }) => {
      const interrupt = new AbortController();
      const ended = errorOf(run({ ...rig.context, signal: interrupt.signal })).then(() => true);
      if ((await inTime(untilInterruptMs, ended)) === undefined) hung += 1;
      interrupt.abort(interrupted());
      if ((await inTime(patienceMs, ended)) === undefined) slow.push(call);
    }),
  );
  await world.hang(false);
  harnessMust(hung > 0, "leave calls without an answer (hang): each was answered");
  must(
    slow.length === 0,
    "pass ctx.signal to every request and every wait, so that an interrupt ends it",
    `${patienceMs} ms after one it still waits: ${slow.join(", ")}`,
  );
}

/** "leaves nothing that nobody finds, whenever it is killed" */
export async function survivesKill(rig: Rig): Promise<void> {
  const world = rig.able("alive", "beforeChange");
  for (const { set } of await rehearsals(rig)) {
    for (let changes = 1; changes <= mostChanges; changes += 1) {
      const before = new Set(await world.alive());
      const rehearsed = await set();
      const died = await dyingAfter(changes, world, (die) =>
        rehearsed.run({ ...rig.context, assertEngineAlive: die }),
      );
      if (!died) break;
      await rig.context.clock.sleep(timingOf(rig.provider).listingLagMs);
      const left = (await world.alive()).filter((id) => !before.has(id));
      await mustBeFound(rig, rehearsed, left);
      await mustEnd(rig, rehearsed);
    }
  }
}

/** Lets so many changes through; nothing that follows reaches the cloud. Whether there was any to be stopped. */
async function dyingAfter(
  changes: number,
  world: Required<Pick<WorldPowers, "beforeChange">>,
  work: (die: () => void) => Promise<unknown>,
): Promise<boolean> {
  let done = 0;
  let died = false;
  const refuse = () => {
    if (done < changes) return;
    died = true;
    throw dead();
  };
  world.beforeChange(() => {
    refuse();
    done += 1;
  });
  await errorOf(
    work(() => {
      if (died) throw dead();
    }),
  );
  world.beforeChange();
  return died;
}

/** A resource without marks has no owner, and never goes, unless it is a part of one with marks. Disowned resources lose them on purpose. */
async function mustBeFound(rig: Rig, { call, who }: ChangingCall, ids: string[]): Promise<void> {
  if (call === "disown" || call === "mark") return;
  const { cluster, clusterUid } = who;
  const listed = await rig.provider.inventory(rig.context, { cluster, clusterUid });
  const found = ids.filter((id) => listed.some((one) => one.id === id && sameJson(one.who, who)));
  const parts = await partsOf(rig, found);
  const lost = ids.filter((id) => !found.includes(id) && !parts.includes(id));
  must(
    lost.length === 0,
    call === "create"
      ? "give a resource its marks in the call that makes it, not in a later one (create)"
      : `keep the marks on a resource for as long as it is there (${call})`,
    `killed in a ${call}, it leaves ${lost.join(", ")}, which inventory does not show`,
  );
}

/** Whoever comes after finishes it by the same call, as the product does. */
async function mustEnd(rig: Rig, { call, who, current, wanted }: ChangingCall): Promise<void> {
  const resource = rig.resource();
  const inputs = { who, spec: wanted };
  const about = `finish a ${call} that was killed between its calls`;
  if (call === "create") {
    const error = await errorOf(resource.create(inputs));
    const alive = await rig.world.countAlive(who);
    must(error === undefined && alive === 1, about, `${seenOf(error)}, and ${alive} are alive`);
  } else if (current !== undefined && call === "remove") {
    const error = await errorOf(resource.delete(current.id, inputs));
    const alive = await rig.world.countAlive(who);
    must(error === undefined && alive === 0, about, `${seenOf(error)}, and ${alive} are alive`);
  } else if (current !== undefined && call === "update") {
    const { spec } = rig.recordedAs(current, wanted);
    const error = await errorOf(resource.update(current.id, { who, spec }, inputs));
    await mustRun(rig, { about, error, who, id: current.id, spec: wanted });
  } else if (current !== undefined && call === "start") {
    const error = await errorOf(startedAgain(rig, current));
    await mustRun(rig, { about, error, who, id: current.id, spec: current.spec });
  }
}

/** What an update leaves that was gone on with: the wanted inputs, on a resource that runs. */
async function mustRun(
  rig: Rig,
  left: Pick<ChangingCall, "who"> & {
    readonly about: string;
    readonly error: Error | undefined;
    readonly id: string;
    readonly spec: JsonObject;
  },
): Promise<void> {
  const { about, error, who, id, spec } = left;
  const presence = await rig.handler.locate(rig.context, who, id);
  const isDone =
    error === undefined &&
    presence.found === "one" &&
    presence.resource.phase === "ready" &&
    rig.isShownAs(presence.resource, spec);
  must(isDone, about, `${seenOf(error)}: ${JSON.stringify(presence)}`);
}

/** "finishes a change in place that was killed, toward what was wanted and back" */
export async function resumesUpdates(rig: Rig): Promise<void> {
  const world = rig.able("beforeChange");
  const update = (await rehearsals(rig)).find(({ call }) => call === "update");
  offered(update !== undefined, `${rig.kind} changes nothing in place`);
  for (const way of ["wanted", "back"] as const) {
    for (let changes = 1; changes <= mostChanges; changes += 1) {
      const { who, current, wanted, run } = await update.set();
      const { id, spec: before } = rig.recordedAs(
        expectDefined(current, "what is changed"),
        wanted,
      );
      const died = await dyingAfter(changes, world, (die) =>
        run({ ...rig.context, assertEngineAlive: die }),
      );
      if (!died) break;
      await rig.context.clock.sleep(timingOf(rig.provider).listingLagMs);
      const spec = way === "wanted" ? wanted : before;
      const resumed = rig.resource().update(id, { who, spec: before }, { who, spec });
      const about = `go on with an update that was killed until the resource runs (update, ${way})`;
      await mustRun(rig, { about, error: await errorOf(resumed), who, id, spec });
    }
  }
}

/** "says so when the cloud refuses a change" */
export async function tellsRefusals(rig: Rig): Promise<void> {
  const world = rig.able("beforeChange");
  for (const { call, set } of await rehearsals(rig)) {
    const { run } = await set();
    let refused = 0;
    world.beforeChange(() => {
      refused += 1;
      throw new Error("the cloud refuses it");
    });
    const error = await errorOf(run(rig.context));
    world.beforeChange();
    mustHaveSeen(call, refused);
    must(
      refused === 0 || error !== undefined,
      `throw when the cloud refuses a change (${call})`,
      "it succeeded",
    );
  }
}

function dead(): CapstanError {
  return new CapstanError({
    code: "ENGINE_DEAD",
    source: "engine",
    message: "the engine that asked for this call no longer lives",
  });
}

export function interrupted(): CapstanError {
  return new CapstanError({ code: "CANCELLED", source: "user", message: "interrupted" });
}
