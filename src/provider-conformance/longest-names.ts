import { sameJson } from "../api/json.js";
import type { Identity } from "../provider/port.js";
import { timingOf } from "../provider/timing.js";
import type { Rig } from "./rig.js";
import { must } from "./subject.js";

/** A label of DNS, as names of namespaces, Clusters and Machines are: objects with longer ones are refused. */
const longest = 63;

/** "keeps resources apart whose longest names differ in the last character" */
export async function longestNames(rig: Rig): Promise<void> {
  const { handler, provider, context } = rig;
  const { who, spec } = await rig.prepare();
  const alike = "n".repeat(longest - 1);
  const clusters = ["a", "b"].map((end) => `${alike}s/${alike}${end}`);
  // The generation and number that a host's name adds to its machine's stay.
  const names = ["a", "b"].map((end) => who.name.replace(/^[^-]*/, `${alike.slice(0, -4)}-${end}`));
  const [cluster = "", other = ""] = clusters;
  const [name = "", neighbour = ""] = names;
  const whos = [
    identity(rig, who, { cluster, name }),
    identity(rig, who, { cluster, name: neighbour }),
    identity(rig, { ...who, clusterUid: `${who.clusterUid}-other` }, { cluster: other, name }),
  ];
  const ids: string[] = [];
  for (const [index, one] of whos.entries()) {
    const { id, who: shown } = await rig.make({ who: one, spec: rig.beside(spec, index + 1) });
    must(
      sameJson(shown, one),
      "show all of an identity, however long its names are (locate)",
      `made as ${JSON.stringify(one)}, it is shown as ${JSON.stringify(shown)}`,
    );
    must(
      !ids.includes(id),
      "make one resource of each identity, however alike their names are (create)",
      `${id} is that of two`,
    );
    ids.push(id);
  }
  await context.clock.sleep(timingOf(provider).listingLagMs);
  for (const [index, one] of whos.entries()) {
    const presence = await handler.locate(context, one);
    must(
      presence.found === "one" && presence.resource.id === ids[index],
      "find by marks or token a resource whose name differs from another one's in the last character (locate)",
      `${one.cluster} ${one.name} is ${JSON.stringify(presence)}`,
    );
  }
  for (const scope of [{ cluster, clusterUid: who.clusterUid }, { cluster }]) {
    const listed = (await provider.inventory(context, scope))
      .filter(({ phase, who: { kind } }) => phase !== "gone" && kind === rig.kind)
      .map(({ id }) => id);
    const own = ids.slice(0, 2);
    must(
      sameJson(listed.sort(), own.toSorted()),
      "list the resources of one cluster, and none of another whose name is alike (inventory)",
      `${own.join(", ")} are its own, and it lists ${listed.join(", ") || "nothing"}`,
    );
  }
  const [first, second, third] = whos;
  if (first === undefined || second === undefined || third === undefined) return;
  await rig.resource().delete(ids[0] ?? "", { who: first, spec });
  for (const left of [second, third]) {
    must(
      (await rig.world.countAlive(left)) === 1,
      "remove one of those whose names are alike (remove)",
      `${left.cluster} ${left.name} is gone as well`,
    );
  }
}

/** Another identity of the same life and kind. */
function identity(rig: Rig, who: Identity, names: Pick<Identity, "cluster" | "name">): Identity {
  const { name, cluster } = names;
  const { token } = rig.stranger({ ...who, name: `${cluster} ${name}` }, { uid: who.clusterUid });
  return { ...who, ...names, token };
}
