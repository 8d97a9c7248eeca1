import { type Json, type JsonObject, sameJson } from "../api/json.js";
import { errorOf, seenOf } from "./seen.js";
import type { Inputs, Rig } from "./rig.js";
import { sampleKubelet } from "./sample.js";
import { checkable, must, offered } from "./subject.js";

/** "changes in place, on the same host" */
export async function inPlaceChange(rig: Rig, fields: JsonObject | undefined): Promise<void> {
  await rig.up({ web: {} });
  const before = rig.hostOf("web");
  if (fields === undefined) return mustNotUpdate(rig);
  const plan = await rig.plan({ web: fields });
  const kinds = plan.steps.map(({ kind }) => kind).join(", ");
  must(kinds === "update", "plan an in-place change as one update", `its steps are ${kinds}`);
  await rig.apply(plan);
  const after = rig.hostOf("web");
  const observed = await rig.observe(after);
  must(
    observed !== undefined && after.id === before.id && observed.id === before.id,
    "keep a resource's id when it changes in place (update)",
    `${String(before.id)} became ${observed?.id ?? "nothing"}`,
  );
  must(
    rig.isShownAs(observed, after.inputs["spec"] as JsonObject),
    "show after an update what was asked for",
    JSON.stringify(observed.spec),
  );
  must((await rig.plan({ web: fields })).empty, "leave nothing to do after an update", "it does");
}

/** "makes a change in place, all of it, and shows it" */
export async function updates(rig: Rig): Promise<void> {
  const { handler, kind, provider } = rig;
  offered(handler.update !== undefined, `${kind} has no update: every change replaces it`);
  const { who, spec } = await rig.prepare();
  const wanted = await rig.changedInPlace();
  checkable(wanted !== undefined, `the subject does not say what changes in place of a ${kind}`);
  const verdict = provider.verdict(kind, spec, wanted);
  must(
    verdict.kind === "inPlace",
    "say in place of what the subject says so (verdict)",
    verdict.kind,
  );
  await updated(rig, { who, spec }, [wanted]);
  const fields = Object.entries(wanted).filter(
    ([field, value]) => !sameJson(spec[field] ?? null, value),
  );
  if (fields.length < 2) return;
  const other = rig.stranger(who, { uid: `${rig.world.clusterUid}-fields` });
  const another = { who: other, spec: rig.beside(spec, 1) };
  await updated(rig, another, oneByOne(rig, another.spec, fields));
}

/** Each field alone, on top of those before it: a call may well forget one that nothing else waits for. */
function oneByOne(rig: Rig, spec: JsonObject, fields: readonly [string, Json][]): JsonObject[] {
  const { provider, kind } = rig;
  const steps: JsonObject[] = [];
  for (const [field, value] of fields) {
    const before = steps.at(-1) ?? spec;
    const next = { ...before, [field]: value };
    // Some fields may change together alone.
    if (provider.verdict(kind, before, next).kind === "inPlace") steps.push(next);
    else rig.exceptions.push(`${field} alone, which does not change in place without others`);
  }
  return steps;
}

/** Makes one and changes it, one step after the other. */
async function updated(
  rig: Rig,
  { who, spec }: Inputs,
  steps: readonly JsonObject[],
): Promise<void> {
  const { handler, context } = rig;
  const { id } = await rig.make({ who, spec });
  let before = spec;
  for (const wanted of steps) {
    const error = await errorOf(
      rig.resource().update(id, { who, spec: before }, { who, spec: wanted }),
    );
    const presence = await handler.locate(context, who, id);
    must(
      presence.found === "one" && rig.isShownAs(presence.resource, wanted),
      "make every change that was called in place, on the same resource (update)",
      `asked for ${JSON.stringify(wanted)}, ${seenOf(error)}, and it shows ${JSON.stringify(presence)}`,
    );
    must(
      error === undefined && presence.resource.phase === "ready",
      "let a resource run again that a change in place has stopped (update)",
      `${seenOf(error)}, and it is ${presence.resource.phase}`,
    );
    before = wanted;
  }
}

/** Where nothing changes in place, verdicts must not say that something does. */
async function mustNotUpdate(rig: Rig): Promise<void> {
  const { provider, handler } = rig;
  if (handler.update !== undefined) return;
  const spec = rig.hostOf("web").inputs["spec"] as JsonObject;
  for (const field of Object.keys(spec)) {
    const verdict = provider.verdict(provider.hostKind, spec, {
      ...spec,
      [field]: "another value",
    });
    must(
      verdict.kind !== "inPlace",
      "have an update where its verdict says that a field changes in place",
      `${field} does, and there is no update`,
    );
  }
}

/** "replaces by a new host beside the old one" */
export async function replacement(rig: Rig, fields: JsonObject): Promise<void> {
  await rig.up({ web: {} });
  const before = rig.hostOf("web");
  const plan = await rig.plan({ web: fields });
  const ofHosts = plan.steps.filter(({ key }) => key.startsWith(`${rig.provider.hostKind}/`));
  const kinds = ofHosts.map(({ kind }) => kind).join(", ");
  must(
    kinds === "create, delete",
    "say replace where a change needs a new host (verdict)",
    `the steps are ${kinds}`,
  );
  await rig.apply(plan, async () => {
    const old = await rig.observe(before);
    must(
      old?.phase === "ready",
      "let a new host run beside the old one",
      `the old one is ${old?.phase ?? "not there"}`,
    );
  });
  const after = rig.hostOf("web");
  must(after.name !== before.name, "give a new host a name of its own", after.name);
  must(after.id !== before.id, "give a new host an id of its own", String(after.id));
  const old = await rig.observe(before);
  must(
    old === undefined || old.phase === "gone",
    "delete the host that was replaced",
    `it is ${old?.phase ?? "there"}`,
  );
  must(
    (await rig.plan({ web: fields })).empty,
    "leave nothing to do after a replacement",
    "it does",
  );
}

/** "deletes twice without an error" */
export async function deleteTwice(rig: Rig): Promise<void> {
  const inputs = await rig.prepare();
  const { handler, context } = rig;
  const resource = rig.resource();
  const { id } = await resource.create(inputs);
  const presence = await handler.locate(context, inputs.who, id);
  must(presence.found === "one", "find a resource by its id (locate)", presence.found);
  await resource.delete(id, inputs);
  const again = await errorOf(resource.delete(id, inputs));
  must(again === undefined, "find what is deleted gone, or not at all (locate)", seenOf(again));
  const removed = await errorOf(handler.remove(context, presence.resource));
  must(removed === undefined, "succeed in removing what is gone already (remove)", seenOf(removed));
  const read = await resource.read(id, inputs);
  must(
    read.id === undefined,
    "not show what is deleted as alive (locate)",
    `read gives ${String(read.id)}`,
  );
}

/** "lets go of what it made, or cannot" */
export async function lettingGo(rig: Rig): Promise<void> {
  const { handler, provider, context, world } = rig;
  offered(
    handler.disown !== undefined,
    `${rig.kind} has no disown: capstan state forget refuses it`,
  );
  const observed = await rig.make(await rig.prepare());
  await handler.disown(context, observed);
  const { who } = observed;
  for (const id of [observed.id, undefined]) {
    const presence = await handler.locate(context, who, id);
    const how = id === undefined ? "its marks or token" : "its id";
    must(
      presence.found === "none",
      `find nothing by ${how} of what it has let go (disown, locate)`,
      presence.found,
    );
  }
  const { cluster, clusterUid } = who;
  const listed = [
    ...(await provider.inventory(context, { cluster, clusterUid })),
    ...((await provider.owned?.(context)) ?? []),
  ];
  must(
    !listed.some(({ id }) => id === observed.id),
    "list nothing that it has let go (disown, inventory, owned)",
    `${observed.id} is listed`,
  );
  must((await world.countAlive(who)) === 0, "leave no mark on what it lets go", "it is marked");
  const again = await errorOf(handler.disown(context, observed));
  must(again === undefined, "succeed in letting go twice (disown)", seenOf(again));
}

/** "lists all that carries its marks, and nothing else" */
export async function inventory(rig: Rig): Promise<void> {
  const { provider, context, world } = rig;
  await rig.up(rig.machines({ web: {}, db: {} }));
  const inputs = await rig.prepare("other");
  const { clusterUid } = world;
  const { cluster } = inputs.who;
  const earlier = await world.plant(
    rig.stranger(inputs.who, { uid: `${clusterUid}-before` }),
    inputs.spec,
  );
  const elsewhere = rig.stranger(inputs.who, { cluster: "elsewhere", uid: `${clusterUid}-else` });
  await world.plant(elsewhere, inputs.spec);
  const idsIn = async (scope: { cluster: string; clusterUid?: string }) =>
    (await provider.inventory(context, scope)).filter(({ phase }) => phase !== "gone");
  const ours = rig.recorded().map(({ id }) => id);
  const oneLife = await idsIn({ cluster, clusterUid });
  mustBeIds(oneLife, ours, "list exactly the resources of one cluster and UID (inventory)");
  const allLives = await idsIn({ cluster });
  mustBeIds(
    allLives,
    [...ours, earlier],
    "list every life of a cluster where no UID is given (inventory)",
  );
  for (const { id, kind, inputs: recorded } of rig.recorded()) {
    const listed = oneLife.find((one) => one.id === id);
    must(
      listed !== undefined &&
        sameJson(listed.who, recorded["who"]) &&
        rig.isShownAs(listed, recorded["spec"] as JsonObject),
      "list resources as locate shows them, with identity and spec",
      `${kind} ${id ?? ""} is listed as ${JSON.stringify(listed)}`,
    );
  }
}

/** "tells which cloud it is, the same each time, or nothing at all" */
export async function identity(rig: Rig): Promise<void> {
  const { provider, context } = rig;
  offered(provider.identity !== undefined, "the provider has no identity");
  const first = await provider.identity(context);
  const fields = Object.entries(first);
  must(
    fields.length > 0 && fields.every(([, value]) => typeof value === "string" && value !== ""),
    "tell which cloud it is by fields that are texts (identity)",
    `it says ${JSON.stringify(first)}`,
  );
  const again = await provider.identity(context);
  must(
    sameJson(first, again),
    "tell of one cloud the same each time (identity)",
    `${JSON.stringify(first)} became ${JSON.stringify(again)}`,
  );
}

/** Clouds tell times in whole seconds, by clocks of their own. */
const clockToleranceMs = 60_000;

/** "lists what every cluster owns, with its age where it tells one" */
export async function ownedByAll(rig: Rig): Promise<void> {
  const { provider, context, world } = rig;
  offered(provider.owned !== undefined, "the provider has no owned: it cannot be swept");
  const beginMs = world.clock.now();
  const { who, spec } = await rig.prepare("other");
  await rig.up({ web: {} });
  const strangers = [
    rig.stranger(who, { uid: `${world.clusterUid}-before` }),
    rig.stranger(who, { cluster: "elsewhere", uid: `${world.clusterUid}-else` }),
  ];
  const planted: string[] = [];
  for (const stranger of strangers) planted.push(await world.plant(stranger, spec));
  const owned = (await provider.owned(context)).filter(({ phase }) => phase !== "gone");
  const ours = rig.recorded().map(({ id }) => id);
  mustBeIds(owned, [...ours, ...planted], "list the resources of every cluster (owned)");
  for (const [index, stranger] of strangers.entries()) {
    const listed = owned.find(({ id }) => id === planted[index]);
    must(
      sameJson(listed?.who, stranger),
      "list each resource with the identity that it carries (owned)",
      `${planted[index] ?? ""} is listed as ${JSON.stringify(listed?.who)}`,
    );
  }
  const endMs = world.clock.now();
  for (const { id, createdAtMs } of owned) {
    must(
      createdAtMs === undefined ||
        (createdAtMs >= beginMs - clockToleranceMs && createdAtMs <= endMs + clockToleranceMs),
      "tell when a resource was made in milliseconds since the epoch, or not at all (createdAtMs)",
      `${id} was made between ${beginMs} and ${endMs}, and it says ${String(createdAtMs)}`,
    );
  }
}

function mustBeIds(
  listed: readonly { readonly id: string }[],
  wanted: readonly (string | undefined)[],
  requirement: string,
): void {
  const seen = listed.map(({ id }) => id).sort();
  must(
    sameJson(seen, [...wanted].sort()),
    requirement,
    `there are ${wanted.join(", ")}, and it lists ${seen.join(", ") || "nothing"}`,
  );
}

/** "says since when a host is ready and what its node runs, or nothing" */
export async function readiness(rig: Rig): Promise<void> {
  const { clock } = rig.world;
  const beginMs = clock.now();
  await rig.up({ web: {} });
  const record = rig.hostOf("web");
  const first = await rig.observe(record);
  await clock.sleep(10, rig.context.signal);
  const second = await rig.observe(record);
  must(first?.phase === "ready", "show a host that was waited for as ready", String(first?.phase));
  const since = first.readySinceMs;
  must(
    since === undefined ||
      (since >= beginMs - clockToleranceMs && since <= clock.now() + clockToleranceMs),
    "tell since when a host is ready in milliseconds since the epoch, or not at all (readySinceMs)",
    `it was made at ${beginMs}, and it says ${String(since)}`,
  );
  must(
    second?.readySinceMs === since,
    "keep readySinceMs while a host stays ready",
    `${String(since)} became ${String(second?.readySinceMs)}`,
  );
  const kubelet = first.node?.kubelet;
  must(
    kubelet === undefined || kubelet === sampleKubelet,
    "let the node of a ready host say what it was asked to run, or nothing (node)",
    `${sampleKubelet} was asked for, and it says ${String(kubelet)}`,
  );
  must(
    sameJson(first.status, second?.status ?? {}),
    "keep out of status what changes by itself",
    `${JSON.stringify(first.status)} became ${JSON.stringify(second?.status)}`,
  );
}
