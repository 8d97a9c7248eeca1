import { sameJson } from "../api/json.js";
import type { Found, Identity, Observed, ResourceHandler } from "../provider/port.js";
import { timingOf } from "../provider/timing.js";
import { errorOf, seenOf } from "./seen.js";
import type { Rig } from "./rig.js";
import { offered, must } from "./subject.js";

/** What an import takes: the way back takes marks off. */
type Importing = ResourceHandler & Required<Pick<ResourceHandler, "find" | "mark" | "disown">>;

/** The calls of a provider that offers an import. External resources take `find` alone. */
function importing({ handler, kind }: Rig): Importing {
  offered(handler.mark !== undefined, `${kind} has no mark: capstan import refuses it`);
  must(
    isImporting(handler),
    "offer find and disown with mark: an import looks at a resource first, and `capstan state forget` releases it",
    "one of them is missing",
  );
  return handler;
}

function isImporting(handler: ResourceHandler): handler is Importing {
  return (["find", "mark", "disown"] as const).every((call) => handler[call] !== undefined);
}

/** "finds a host by its id alone, whosever it is, or cannot" */
export async function findById(rig: Rig): Promise<void> {
  const { handler, kind, context, world } = rig;
  offered(
    handler.find !== undefined,
    `${kind} has no find: nothing of it is imported, and none is external`,
  );
  const calls = { find: handler.find.bind(handler) };
  const { found, observed } = await ofOurs(rig, calls);
  mustShow(found, observed, observed.who);
  const stranger = rig.stranger(observed.who, { cluster: "elsewhere", uid: "uid-elsewhere" });
  const planted = await world.plant(stranger, observed.spec);
  const foreign = await calls.find(context, planted);
  must(
    sameJson(foreign?.who ?? null, stranger),
    "say whose marks a resource bears (find)",
    JSON.stringify(foreign?.who ?? "nobody's"),
  );
  await world.blind(true);
  const blind = await errorOf(calls.find(context, observed.id));
  await world.blind(false);
  must(blind !== undefined, "throw when it cannot look (find)", "it answered");
  await rig.resource().delete(observed.id, { who: observed.who, spec: observed.spec });
  for (const id of [`${observed.id}-none`, observed.id]) {
    const none = await calls.find(context, id);
    must(
      none === undefined || none.phase === "gone",
      "find what does not exist gone, or not at all (find)",
      none?.phase ?? "",
    );
  }
}

/** "puts marks on what bears none, and nothing else, or cannot" */
export async function marking(rig: Rig): Promise<void> {
  const calls = importing(rig);
  const { context, world, provider } = rig;
  const { observed } = await ofOurs(rig, calls);
  await calls.disown(context, observed);
  const bare = await calls.find(context, observed.id);
  mustShow(bare, observed, undefined);
  const other = rig.stranger(observed.who, { uid: `${world.clusterUid}-import` });
  await calls.mark(context, bare, other);
  mustShow(await calls.find(context, observed.id), observed, other);
  await world.clock.sleep(timingOf(provider).listingLagMs);
  for (const id of [observed.id, undefined]) {
    const presence = await calls.locate(context, other, id);
    must(
      presence.found === "one" &&
        presence.resource.id === observed.id &&
        sameJson(presence.resource.who, other),
      `find by ${id === undefined ? "its marks" : "its id"} what it has marked (mark, locate)`,
      presence.found,
    );
  }
  const { cluster, clusterUid } = other;
  const listed = await provider.inventory(context, { cluster, clusterUid });
  must(
    listed.some(({ id }) => id === observed.id),
    "list what it has marked (mark, inventory)",
    `${observed.id} is not listed`,
  );
  must((await world.countAlive(other)) === 1, "mark one resource", "it marked none, or several");
  const again = await errorOf(calls.mark(context, bare, other));
  must(again === undefined, "succeed in marking twice (mark)", seenOf(again));
  await errorOf(calls.mark(context, bare, observed.who));
  const kept = await calls.find(context, observed.id);
  must(
    sameJson(kept?.who ?? null, other),
    "leave the marks of others on (mark)",
    JSON.stringify(kept?.who ?? "nobody's"),
  );
}

async function ofOurs(
  rig: Rig,
  calls: Required<Pick<ResourceHandler, "find">>,
): Promise<{ readonly observed: Observed; readonly found: Found | undefined }> {
  const observed = await rig.make(await rig.prepare());
  return { observed, found: await calls.find(rig.context, observed.id) };
}

/** As `locate` shows it, with these marks. */
function mustShow(
  found: Found | undefined,
  { id, spec, phase }: Observed,
  who: Identity | undefined,
): asserts found is Found {
  must(found !== undefined, "find a host by its id alone (find)", "none");
  must(
    found.id === id && found.phase === phase && sameJson(found.spec, spec),
    "show the same of a host whether it bears marks or not (find, mark, disown)",
    JSON.stringify({ id: found.id, phase: found.phase, spec: found.spec }),
  );
  must(
    sameJson(found.who ?? null, who ?? null),
    "say whose marks a resource bears (find)",
    JSON.stringify(found.who ?? "nobody's"),
  );
}
