import { timingOf } from "../provider/timing.js";
import type { Rig } from "./rig.js";
import { must } from "./subject.js";

/** More than a page of any cloud that we know holds. */
const many = 1_000;

/** "lists a thousand resources, and finds each of them" */
export async function listsAllPages(rig: Rig): Promise<void> {
  const world = rig.able("plantMany");
  const { provider, context, handler } = rig;
  const { who, spec } = await rig.prepare();
  const { clusterUid } = world;
  const identityNamed = (suffix: string) =>
    rig.stranger({ ...who, name: `${who.name}-${suffix}` }, { uid: clusterUid });
  const whos = Array.from({ length: many }, (_, index) => identityNamed(String(index)));
  // A listing may begin with the oldest or with the newest.
  const first = await rig.make({ who: identityNamed("first"), spec });
  await world.plantMany(whos, spec);
  const last = await rig.make({ who: identityNamed("last"), spec: rig.beside(spec, 1) });
  await context.clock.sleep(timingOf(provider).listingLagMs);
  const { cluster } = who;
  const listings = [
    ["inventory", await provider.inventory(context, { cluster, clusterUid })],
    ["owned", (await provider.owned?.(context)) ?? []],
  ] as const;
  for (const [how, listing] of listings) {
    if (how === "owned" && provider.owned === undefined) continue;
    const listed = listing.filter((one) => one.who.kind === who.kind);
    must(
      listed.length === many + 2,
      `list every page (${how})`,
      `there are ${many + 2} of ${who.kind}, and it lists ${listed.length}`,
    );
  }
  for (const { id, who: one } of [first, last]) {
    const presence = await handler.locate(context, one);
    must(
      presence.found === "one" && presence.resource.id === id,
      "find a resource by its marks or token among a thousand (locate)",
      `it answers ${presence.found}`,
    );
  }
}
