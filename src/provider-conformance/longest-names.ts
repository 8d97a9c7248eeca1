import { type JsonObject, sameJson } from "../api/json.js";
import type { Identity, Observed } from "../provider/port.js";
import { timingOf } from "../provider/timing.js";
import type { Rig } from "./rig.js";
import { must } from "./subject.js";

/** A label of DNS, as names of namespaces, Clusters and Machines are: objects with longer ones are refused. */
const longest = 63;

/** "keeps resources apart whose longest names differ in the last character" */
export async function longestNames(rig: Rig): Promise<void> {
  const { who, spec } = await rig.prepare();
  const alike = "n".repeat(longest - 1);
  const [cluster = "", other = ""] = ["a", "b"].map((end) => `${alike}s/${alike}${end}`);
  // The generation and number that a host's name adds to its machine's stay.
  const [name = "", neighbour = ""] = ["a", "b"].map((end) =>
    who.name.replace(/^[^-]*/, `${alike.slice(0, -1)}-${end}`),
  );
  const made = await madeApart(rig, spec, [
    identity(rig, who, { cluster, name }),
    identity(rig, who, { cluster, name: neighbour }),
    identity(rig, { ...who, clusterUid: `${who.clusterUid}-other` }, { cluster: other, name }),
  ]);
  await rig.context.clock.sleep(timingOf(rig.provider).listingLagMs);
  await foundApart(rig, made);
  const own = made.slice(0, 2).map(({ id }) => id);
  for (const scope of [{ cluster, clusterUid: who.clusterUid }, { cluster }]) {
    const listed = (await rig.provider.inventory(rig.context, scope))
      .filter((one) => one.phase !== "gone" && one.who.kind === rig.kind)
      .map(({ id }) => id);
    must(
      sameJson(listed.sort(), own.toSorted()),
      "list the resources of one cluster, and none of another whose name is alike (inventory)",
      `${own.join(", ")} are its own, and it lists ${listed.join(", ") || "nothing"}`,
    );
  }
  const [first, ...others] = made;
  if (first === undefined) return;
  await rig.resource().delete(first.id, { who: first.who, spec });
  for (const left of others) {
    must(
      (await rig.world.countAlive(left.who)) === 1,
      "remove one of those whose names are alike (remove)",
      `${left.who.cluster} ${left.who.name} is gone as well`,
    );
  }
}

type Made = Pick<Observed, "id" | "who">;

async function madeApart(rig: Rig, spec: JsonObject, whos: readonly Identity[]): Promise<Made[]> {
  const made: Made[] = [];
  for (const [index, who] of whos.entries()) {
    const one = await rig.make({ who, spec: rig.beside(spec, index + 1) });
    must(
      sameJson(one.who, who),
      "show all of an identity, however long its names are (locate)",
      `made as ${JSON.stringify(who)}, it is shown as ${JSON.stringify(one.who)}`,
    );
    must(
      !made.some(({ id }) => id === one.id),
      "make one resource of each identity, however alike their names are (create)",
      `${one.id} is that of two`,
    );
    made.push(one);
  }
  return made;
}

async function foundApart({ handler, context }: Rig, made: readonly Made[]): Promise<void> {
  for (const { id, who } of made) {
    const presence = await handler.locate(context, who);
    must(
      presence.found === "one" && presence.resource.id === id,
      "find by marks or token a resource whose name differs from another one's in the last character (locate)",
      `${who.cluster} ${who.name} is ${JSON.stringify(presence)}`,
    );
  }
}

/** Another identity of the same life and kind. */
function identity(rig: Rig, who: Identity, names: Pick<Identity, "cluster" | "name">): Identity {
  const { name, cluster } = names;
  const { token } = rig.stranger({ ...who, name: `${cluster} ${name}` }, { uid: who.clusterUid });
  return { ...who, ...names, token };
}
