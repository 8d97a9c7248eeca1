import type { Clock, CreateContext } from "../provider/port.js";
import { timingOf } from "../provider/timing.js";
import { rehearsals } from "./calls.js";
import { interrupted, patienceMs } from "./interruption.js";
import { inTime } from "./limit.js";
import type { Rig } from "./rig.js";
import { must } from "./subject.js";

// Calls return once the cloud has accepted them: an engine run lasts as long as each of its calls.

/** "answers a create as soon as there is an id" */
export async function createDoesNotWait(rig: Rig): Promise<void> {
  const world = rig.able("holdBoot");
  const { who, spec } = await rig.prepare();
  await world.holdBoot(true);
  const answer = await answerOf(rig, (ctx) => rig.handler.create(ctx, who, spec));
  await world.holdBoot(false);
  must(
    answer !== "waits" && answer !== "throws",
    "answer a create while the host still boots: who runs the passes waits for it",
    "it waits",
  );
  must(
    answer.phase === "pending",
    "show a host that still boots as pending",
    `the create answers ${answer.phase}`,
  );
}

/** "answers an update and a removal once the cloud has accepted them" */
export async function changesDoNotWait(rig: Rig): Promise<void> {
  const world = rig.able("holdOperations");
  const { handler } = rig;
  const calls = (await rehearsals(rig)).filter(
    ({ call }) => call === "update" || call === "remove",
  );
  for (const { call, set } of calls) {
    const { current, wanted } = await set();
    if (current === undefined) continue;
    await world.holdOperations(true);
    // One attempt: a retryable refusal is no waiting.
    const answer = await answerOf(rig, async (ctx) => {
      if (call === "remove") await handler.remove(ctx, current);
      else await handler.update?.(ctx, current, wanted);
    });
    await world.holdOperations(false);
    must(
      answer !== "waits",
      `return from ${call} once the cloud has accepted it, or refuse it for now (retryable): who runs the passes waits`,
      "it waits for the end of what the cloud has accepted",
    );
  }
}

/** The result of a call while the cloud ends no operation. By the cloud's clock it has more time than any call takes. */
async function answerOf<T>(
  rig: Rig,
  call: (ctx: CreateContext) => Promise<T>,
): Promise<T | "waits" | "throws"> {
  const over = new AbortController();
  const { clock } = rig.context;
  const { longestCallMs } = timingOf(rig.provider);
  const endMs = clock.now() + longestCallMs + 60_000;
  const sleep: Clock["sleep"] = async (ms, signal) => {
    over.signal.throwIfAborted();
    if (clock.now() > endMs) over.abort(interrupted());
    await clock.sleep(ms, signal ?? over.signal);
  };
  const ctx = { ...rig.context, signal: over.signal, clock: { now: () => clock.now(), sleep } };
  const ended = call(ctx).then(
    (value) => ({ value }),
    () => "throws" as const,
  );
  const result = await inTime(longestCallMs + patienceMs, ended);
  const hasWaited = over.signal.aborted || result === undefined;
  over.abort(interrupted());
  if (hasWaited) return "waits";
  return result === "throws" ? result : result.value;
}
