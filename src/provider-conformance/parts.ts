import type { Rig } from "./rig.js";
import { errorOf, seenOf } from "./seen.js";
import { timingOf } from "../provider/timing.js";
import { harnessMust, must } from "./subject.js";

// Parts: a cloud makes and removes them together with a resource, as the boot disk of a host. They bear no marks.

/** The parts of these resources, as far as the world can tell. */
export async function partsOf({ world }: Rig, ids: readonly string[]): Promise<string[]> {
  const parts: string[] = [];
  for (const id of ids) parts.push(...((await world.partsOf?.(id)) ?? []));
  return parts;
}

/** "leaves no part of a removed resource behind" */
export async function leavesNothing(rig: Rig): Promise<void> {
  const world = rig.able("alive");
  rig.partNeeds("partsOf", "what lives and dies with it");
  const inputs = await rig.prepare();
  const before = await world.alive();
  const { id } = await rig.make(inputs);
  const alive = await world.alive();
  for (const part of await partsOf(rig, [id])) {
    harnessMust(alive.includes(part), `have in alive() what partsOf names: ${part} is missing`);
  }
  const error = await errorOf(rig.resource().delete(id, inputs));
  must(error === undefined, "be able to remove what it has made (remove)", seenOf(error));
  await rig.context.clock.sleep(timingOf(rig.provider).listingLagMs);
  const left = (await world.alive()).filter((one) => !before.includes(one));
  must(
    left.length === 0,
    "have the parts that a create makes beside its resource go with it: a boot disk, an address (create, remove)",
    `once ${id} is gone, the cloud still has ${left.join(", ")}`,
  );
}
