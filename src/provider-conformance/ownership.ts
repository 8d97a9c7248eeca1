import type { Identity } from "../provider/port.js";
import { timingOf } from "../provider/timing.js";
import type { Rig } from "./rig.js";
import { must } from "./subject.js";

/** "finds by its marks what bears them, and nothing of the same name" */
export async function locateByMarks(rig: Rig): Promise<void> {
  const inputs = await rig.prepare();
  const { handler, context } = rig;
  const strangers = await plantStrangers(rig, inputs.who, inputs.spec);
  await afterLag(rig);
  const before = await handler.locate(context, inputs.who);
  must(
    before.found === "none",
    "find nothing where another cluster, or an earlier life of this one, has the same name (locate)",
    `it answers ${before.found}`,
  );
  const made = await rig.make(inputs);
  const found = await handler.locate(context, inputs.who);
  must(
    found.found === "one" && found.resource.id === made.id,
    "find by marks or token its own resource among those of the same name (locate)",
    found.found === "one" ? `it answers ${found.resource.id}` : `it answers ${found.found}`,
  );
  await mustLive(rig, strangers, "creating");
}

/** "deletes by id, and nothing of the same name" */
export async function deletesItsOwn(rig: Rig): Promise<void> {
  const inputs = await rig.prepare();
  const [first, ...others] = strangersOf(rig, inputs.who);
  const plant = (who: Identity) => rig.world.plant(who, inputs.spec);
  // Some are older than ours and some are younger: whichever a search by name comes upon first.
  await plant(first);
  const observed = await rig.make(inputs);
  for (const who of others) await plant(who);
  await rig.resource().delete(observed.id, inputs);
  await mustLive(rig, [first, ...others], "deleting");
  await rig.handler.remove(rig.context, observed);
  await mustLive(rig, [first, ...others], "deleting again");
}

/** "answers many where two bear the same marks" */
export async function tellsOfTwins(rig: Rig): Promise<void> {
  const world = rig.able("plantTwin");
  const inputs = await rig.prepare();
  const { id } = await rig.make(inputs);
  const twin = await world.plantTwin(inputs.who, inputs.spec);
  await afterLag(rig);
  const presence = await rig.handler.locate(rig.context, inputs.who);
  must(
    presence.found === "unknown" ||
      (presence.found === "many" && [id, twin].every((one) => presence.ids.includes(one))),
    "answer many, with every id, where several bear the same marks (locate)",
    `${id} and ${twin} do, and it answers ${JSON.stringify(presence)}`,
  );
}

/** An earlier life of the cluster, a cluster of another namespace, and a neighbour whose name begins like ours. */
function strangersOf(rig: Rig, who: Identity): [Identity, ...Identity[]] {
  const { clusterUid } = rig.world;
  return [
    rig.stranger(who, { uid: `${clusterUid}-before` }),
    rig.stranger(who, { cluster: "elsewhere", uid: `${clusterUid}-else` }),
    rig.stranger({ ...who, name: `${who.name}0` }, { uid: clusterUid }),
  ];
}

async function plantStrangers(
  rig: Rig,
  who: Identity,
  spec: Parameters<Rig["world"]["plant"]>[1],
): Promise<Identity[]> {
  const strangers = strangersOf(rig, who);
  for (const stranger of strangers) await rig.world.plant(stranger, spec);
  return strangers;
}

async function mustLive(rig: Rig, strangers: readonly Identity[], done: string): Promise<void> {
  for (const stranger of strangers) {
    must(
      (await rig.world.countAlive(stranger)) === 1,
      `leave what bears other marks alone, whatever its name, when ${done} its own`,
      `${stranger.cluster} ${stranger.name} (${stranger.clusterUid}) is gone`,
    );
  }
}

async function afterLag(rig: Rig): Promise<void> {
  await rig.context.clock.sleep(timingOf(rig.provider).listingLagMs);
}
