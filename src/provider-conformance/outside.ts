import { type Json, type JsonObject, sameJson } from "../api/json.js";
import type { Observed, Phase } from "../provider/port.js";
import { timingOf } from "../provider/timing.js";
import { unobservableOf } from "../provider/unobservable.js";
import { asProduct } from "./calls.js";
import { otherValues } from "./other-values.js";
import type { Inputs, Rig } from "./rig.js";
import { errorOf, seenOf } from "./seen.js";
import { checkable, isStepping, must } from "./subject.js";

// What happens in the cloud without the provider: it has to show it.

/** More than any host takes to start. */
const hourMs = 3_600_000;

/** "never shows a stopped host as ready" */
export async function showsStopped(rig: Rig): Promise<void> {
  const world = rig.able("stop");
  const { inputs, made } = await ready(rig);
  await world.stop(made.id);
  for (const [how, phase] of await phasesOf(rig, inputs, made.id)) {
    must(
      phase === "pending" || phase === "failed" || phase === "stopped",
      "show a host that somebody has stopped as stopped or failed, or as pending where it starts by itself",
      `${how} shows it ${phase ?? "not at all"}`,
    );
  }
  if (await startsWhatItShowsStopped(rig, made)) await world.stop(made.id);
  if (!isStepping(world.clock)) {
    rig.exceptions.push(
      "a host that was stopped an hour ago: the clock of the world is a real one",
    );
    return;
  }
  world.clock.advance(hourMs);
  for (const [how, phase] of await phasesOf(rig, inputs, made.id)) {
    must(
      phase !== "pending",
      "show a host that does not start by itself as failed: one that is pending is waited for, and never replaced",
      `an hour after it was stopped ${how} shows it pending`,
    );
  }
}

/** A host that is shown as stopped is started instead of replaced. Answers whether this one was. */
async function startsWhatItShowsStopped(rig: Rig, { id, who }: Observed): Promise<boolean> {
  const { handler, context } = rig;
  const presence = await handler.locate(context, who, id);
  if (presence.found !== "one" || presence.resource.phase !== "stopped") return false;
  must(
    handler.start !== undefined,
    "have a start where it shows hosts as stopped, or show them as failed",
    `${id} is stopped, and there is no start`,
  );
  for (const how of ["start a host that it shows as stopped", "succeed in starting what runs"]) {
    const error = await errorOf(startedAgain(rig, presence.resource));
    const now = await handler.locate(context, who, id);
    must(
      error === undefined && now.found === "one" && now.resource.phase === "ready",
      `${how} (start)`,
      `${seenOf(error)}, and it answers ${JSON.stringify(now)}`,
    );
  }
  return true;
}

/** Starts a host as the product does, and waits as long as it is pending. */
export async function startedAgain(rig: Rig, { id, who, spec }: Observed): Promise<void> {
  const { handler, context } = rig;
  await asProduct(context, async () => {
    const presence = await handler.locate(context, who, id);
    if (presence.found === "one") await handler.start?.(context, presence.resource);
  });
  // What is there already is waited for as a create waits.
  await rig.resource().create({ who, spec });
}

/** "shows as gone what somebody has deleted" */
export async function showsKilled(rig: Rig): Promise<void> {
  const world = rig.able("kill");
  const { inputs, made } = await ready(rig);
  await world.kill(made.id);
  await rig.context.clock.sleep(timingOf(rig.provider).listingLagMs);
  for (const [how, phase] of await phasesOf(rig, inputs, made.id)) {
    must(
      phase === undefined || phase === "gone",
      "show what somebody has deleted as gone, or not at all",
      `${how} shows it ${phase ?? ""}`,
    );
  }
}

/** "shows what somebody has changed in the cloud" */
export async function showsChanged(rig: Rig): Promise<void> {
  const world = rig.able("mutate");
  const { inputs, made } = await ready(rig);
  const wanted = await changedFields(rig, inputs);
  const unchanged: string[] = [];
  const unseen = unobservableOf(rig.provider, rig.kind);
  for (const [field, value] of wanted) {
    if (unseen.includes(field) || !(await world.mutate(made.id, { [field]: value }))) {
      unchanged.push(field);
      continue;
    }
    for (const [how, shown] of await shownBy(rig, inputs, made.id)) {
      must(
        shown !== undefined && sameJson(shown.spec[field] ?? null, value),
        "show a spec as the cloud has it, not as it was asked for or as marks tell of it",
        `${field} is ${JSON.stringify(value)} by now, and ${how} shows ${JSON.stringify(shown?.spec[field])}`,
      );
    }
    await world.mutate(made.id, { [field]: inputs.spec[field] ?? null });
  }
  checkable(unchanged.length < wanted.size, `the world can change no field of a ${rig.kind}`);
  if (unchanged.length > 0) {
    rig.exceptions.push(`the world cannot change ${unchanged.join(", ")}`);
  }
}

/** Fields with other values: first those of the sample, which the cloud knows. */
async function changedFields(rig: Rig, { spec }: Inputs): Promise<Map<string, Json>> {
  const fields = new Map<string, Json>();
  const { replacing, inPlace = {} } = rig.subject;
  for (const change of rig.isHost ? [replacing, inPlace] : []) {
    const { spec: other } = await rig.prepare("web", change);
    for (const [field, value] of Object.entries(other)) {
      if (!sameJson(value, spec[field] ?? null)) fields.set(field, value);
    }
  }
  for (const [field, value] of Object.entries(spec)) {
    const [other] = otherValues(value);
    if (!fields.has(field) && other !== undefined) fields.set(field, other);
  }
  return fields;
}

async function ready(rig: Rig): Promise<{ readonly inputs: Inputs; readonly made: Observed }> {
  const inputs = await rig.prepare();
  const made = await rig.make(inputs);
  must(made.phase === "ready", "show a resource that was waited for as ready", made.phase);
  return { inputs, made };
}

async function phasesOf(
  rig: Rig,
  inputs: Inputs,
  id: string,
): Promise<[string, Phase | undefined][]> {
  return (await shownBy(rig, inputs, id)).map(([how, observed]) => [how, observed?.phase]);
}

/** How each way to look at a resource shows it. */
async function shownBy(
  rig: Rig,
  { who }: { readonly who: Inputs["who"]; readonly spec: JsonObject },
  id: string,
): Promise<[string, Observed | undefined][]> {
  const { handler, context, provider } = rig;
  const byId = await handler.locate(context, who, id);
  const byMarks = await handler.locate(context, who);
  const { cluster, clusterUid } = who;
  const listed = await provider.inventory(context, { cluster, clusterUid });
  return [
    ["locate with its id", byId.found === "one" ? byId.resource : undefined],
    ["locate without an id", byMarks.found === "one" ? byMarks.resource : undefined],
    ["inventory", listed.find((one) => one.id === id)],
  ];
}
