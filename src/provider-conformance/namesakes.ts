import { sameJson } from "../api/json.js";
import type { Identity, Observed, Presence } from "../provider/port.js";
import { timingOf } from "../provider/timing.js";
import type { Inputs, Rig } from "./rig.js";
import { codeOf, errorOf, seenOf } from "./seen.js";
import { harnessMust, must, offered } from "./subject.js";

// Where names, or other keys, identify resources, another owner may take the name of a resource of ours at any time.

/** "leaves another owner's resource of the same name alone" */
export async function leavesNamesakes(rig: Rig): Promise<void> {
  rig.able("plantNamesake", "alive");
  rig.partNeeds("kill", "a name that is taken between a look and a removal");
  const { clusterUid } = rig.world;
  const inputs = await rig.prepare();
  const strangerOf = (index: number) =>
    rig.stranger(inputs.who, { cluster: "elsewhere", uid: `${clusterUid}-else-${index}` });
  for (const [index, bears] of [strangerOf(1), undefined].entries()) {
    const { who } = inputs;
    await namesakeIsFirst(
      rig,
      { who: lifeOf(rig, who, `first-${index}`), spec: inputs.spec },
      bears,
    );
    await namesakeIsSecond(
      rig,
      { who: lifeOf(rig, who, `second-${index}`), spec: inputs.spec },
      bears,
    );
  }
}

function lifeOf(rig: Rig, who: Identity, life: string): Identity {
  return rig.stranger(who, { uid: `${rig.world.clusterUid}-${life}` });
}

/** The namesake is there before ours is made. */
async function namesakeIsFirst(rig: Rig, inputs: Inputs, bears?: Identity): Promise<void> {
  const { handler, context } = rig;
  const { who, spec } = inputs;
  const namesake = await plant(rig, inputs, bears);
  await rig.context.clock.sleep(timingOf(rig.provider).listingLagMs);
  for (const id of [undefined, namesake]) {
    const presence = await located(rig, who, id);
    must(
      !showsAsOurs(presence, who),
      `compare all marks of what it finds by ${id === undefined ? "its name" : "an id"} (locate)`,
      `${textOf(bears)} has the name that is looked for, and it answers ${JSON.stringify(presence)}`,
    );
  }
  // The namesake may appear between a look and the create, so that the create alone meets it.
  const attempts = [
    ["create", () => handler.create(context, who, spec)],
    ["create after a look", () => rig.resource().create(inputs)],
  ] as const;
  for (const [how, attempt] of attempts) {
    let id: string | undefined;
    const error = await errorOf(
      attempt().then((made: { readonly id: string }) => void ({ id } = made)),
    );
    must(
      error !== undefined || id !== namesake,
      `never take another owner's resource for its own because of its name (${how})`,
      `it answers ${namesake}, which is ${textOf(bears)}`,
    );
    await mustLive(rig, namesake, how);
  }
  must(
    bears === undefined || (await rig.world.countAlive(bears)) === 1,
    "leave the marks of another owner's resource as they are (create)",
    `${namesake} does not bear them any more`,
  );
  const error = await errorOf(rig.resource().delete(namesake, inputs));
  must(
    error === undefined || codeOf(error) === "NOT_OURS",
    "show whose a resource is that is looked for by its id (locate)",
    seenOf(error),
  );
  await mustLive(rig, namesake, "deleted");
}

/** The namesake takes the name once ours is gone, between a look at ours and its change or removal. */
async function namesakeIsSecond(rig: Rig, inputs: Inputs, bears?: Identity): Promise<void> {
  const { handler, context, world } = rig;
  if (world.kill === undefined) return;
  const current = await rig.make(inputs);
  await world.kill(current.id);
  await rig.context.clock.sleep(timingOf(rig.provider).listingLagMs);
  const namesake = await plant(rig, inputs, bears);
  harnessMust(
    namesake !== current.id,
    "give a namesake an id of its own: ids are never used twice",
  );
  const wanted = await rig.changedInPlace();
  const before = await shownTo(rig, namesake, bears);
  if (wanted !== undefined) {
    await errorOf(Promise.resolve(handler.update?.(context, current, wanted)));
    await context.clock.sleep(timingOf(rig.provider).longestCallMs);
  }
  const after = await shownTo(rig, namesake, bears);
  must(
    sameJson(before?.spec ?? null, after?.spec ?? null),
    "change a resource by an id that is never used twice, not by a name that is free again (update)",
    `${textOf(bears)} took the name of what was looked at, and was changed`,
  );
  await errorOf(handler.remove(context, current));
  await mustLive(rig, namesake, "removed by its name");
}

async function plant(rig: Rig, { who, spec }: Inputs, bears?: Identity): Promise<string> {
  const id = await rig.able("plantNamesake").plantNamesake(who, spec, bears);
  offered(id !== undefined, `a ${rig.kind} has no name, and no other key that the cloud has once`);
  return id;
}

async function located(rig: Rig, who: Identity, id?: string): Promise<Presence> {
  try {
    return await rig.handler.locate(rig.context, who, id);
  } catch (error) {
    return { found: "unknown", reason: seenOf(error) };
  }
}

/** A resource with marks as its owner finds it; one without as `find` shows it. */
async function shownTo(
  rig: Rig,
  id: string,
  bears?: Identity,
): Promise<Pick<Observed, "spec"> | undefined> {
  const { handler, context } = rig;
  if (bears === undefined) return handler.find?.(context, id);
  const presence = await located(rig, bears, id);
  return presence.found === "one" ? presence.resource : undefined;
}

function showsAsOurs(presence: Presence, who: Identity): boolean {
  if (presence.found === "many") return true;
  return presence.found === "one" && sameJson(presence.resource.who, who);
}

/** Operations that the cloud has accepted may end later, so it waits for them first. */
async function mustLive(rig: Rig, id: string, done: string): Promise<void> {
  const { world, context, provider } = rig;
  await context.clock.sleep(timingOf(provider).longestCallMs);
  must(
    (await world.alive?.())?.includes(id) === true,
    "leave another owner's resource of the same name alone (create, update, remove)",
    `${id} was to be left, and is gone: ${done}`,
  );
}

function textOf(bears: Identity | undefined): string {
  return bears === undefined ? "a resource without marks" : `a resource of ${bears.cluster}`;
}
