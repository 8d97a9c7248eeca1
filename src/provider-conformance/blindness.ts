import { timingOf } from "../provider/timing.js";
import { mustBeBlindBy } from "./powers.js";
import type { Rig } from "./rig.js";
import { errorOf } from "./seen.js";
import { type Blindness, must } from "./subject.js";

/** "does not guess when the cloud gives no answer" */
export function unknownPresence(rig: Rig): Promise<void> {
  return guessesNothing(rig, "unavailable");
}

/** "does not take a refused look for absence" */
export async function deniedLooks(rig: Rig): Promise<void> {
  mustBeBlindBy(rig.world, "denied");
  await guessesNothing(rig, "denied");
}

async function guessesNothing(rig: Rig, how: Blindness): Promise<void> {
  const inputs = await rig.prepare();
  const { handler, context, world, provider } = rig;
  const made = await rig.resource().create(inputs);
  const other = rig.stranger(inputs.who, { uid: `${world.clusterUid}-other` });
  await world.blind(true, how);
  const located = await handler.locate(context, other).catch(() => undefined);
  const byId = await handler.locate(context, inputs.who, made.id).catch(() => undefined);
  const created = await errorOf(rig.resource().create({ ...inputs, who: other }));
  const scope = { cluster: inputs.who.cluster, clusterUid: world.clusterUid };
  const listed = await errorOf(provider.inventory(context, scope));
  const owned = provider.owned && (await errorOf(provider.owned(context)));
  await world.blind(false);
  for (const presence of [located, byId]) {
    must(
      presence === undefined || presence.found === "unknown",
      "answer unknown, or throw, when it cannot tell whether a resource exists (locate)",
      `it answered ${presence?.found ?? ""}`,
    );
  }
  must(created !== undefined, "create nothing while it cannot look", "it made a resource");
  must(listed !== undefined, "throw when it cannot list (inventory)", "it answered a listing");
  must(
    provider.owned === undefined || owned !== undefined,
    "throw when it cannot list (owned)",
    "it answered a listing",
  );
  must((await world.countAlive(other)) === 0, "create nothing while it cannot look", "it did");
}

/** "does not take an incomplete answer for a complete one" */
export async function partialAnswers(rig: Rig): Promise<void> {
  mustBeBlindBy(rig.world, "partial");
  const { handler, context, world, provider } = rig;
  const { who, spec } = await rig.prepare();
  const { id } = await rig.make({ who, spec });
  await context.clock.sleep(timingOf(provider).listingLagMs);
  const { cluster, clusterUid } = who;
  await world.blind(true, "partial");
  const looks = [
    ["locate with its id", await handler.locate(context, who, id).catch(() => undefined)],
    ["locate", await handler.locate(context, who).catch(() => undefined)],
  ] as const;
  const lists = [
    [
      "inventory",
      await provider.inventory(context, { cluster, clusterUid }).catch(() => undefined),
    ],
    ["owned", await provider.owned?.(context).catch(() => undefined)],
  ] as const;
  await world.blind(false);
  for (const [how, presence] of looks) {
    must(
      presence?.found !== "none",
      "answer unknown, or throw, where a part of the cloud gives no answer (locate)",
      `${id} is in that part, and ${how} answers none`,
    );
  }
  for (const [how, listed] of lists) {
    must(
      listed === undefined || listed.some((one) => one.id === id),
      `throw when a part of the cloud gives no answer: half a listing looks like a loss (${how})`,
      `${id} is in that part, and is missing in the listing`,
    );
  }
}
