import assert from "node:assert/strict";
import { CapstanError } from "../../src/api/error.js";
import { type JsonObject, sameJson } from "../../src/api/json.js";
import { hostSpecOf } from "../../src/provider/host-spec.js";
import type {
  CallContext,
  CreateContext,
  Identity,
  InfrastructureProvider,
  Observed,
  Presence,
  ResourceHandler,
} from "../../src/provider/port.js";
import type { FaultyFolder, WatchedCloud } from "./worlds.js";

// Defects of providers, put into good ones.

/** What is put into the example, and into `local`. */
export type FolderDefect = (
  good: InfrastructureProvider,
  cloud: FaultyFolder,
) => InfrastructureProvider;
export type LocalDefect = (
  good: InfrastructureProvider,
  cloud: WatchedCloud,
) => InfrastructureProvider;

export const nobody: Identity = { cluster: "", clusterUid: "", kind: "", name: "", token: "" };

/** The object with some members otherwise; the others see it as `this`. */
function derived<T extends object>(good: T, changes: Partial<T>): T {
  return Object.assign(Object.create(good) as T, changes);
}

/** The provider with some calls otherwise: of hosts, or of a kind that is named. */
export function withCalls(
  good: InfrastructureProvider,
  change: (handler: ResourceHandler) => Partial<ResourceHandler>,
  kind = good.hostKind,
): InfrastructureProvider {
  const handlers = [...good.handlers].map(([one, handler]): [string, ResourceHandler] => [
    one,
    one === kind ? derived(handler, change(handler)) : handler,
  ]);
  return derived(good, { handlers: new Map(handlers) });
}

export function withShown(
  good: InfrastructureProvider,
  change: (resource: Observed) => Observed,
  kind?: string,
): InfrastructureProvider {
  const shown = (presence: Presence): Presence =>
    presence.found === "one" ? { found: "one", resource: change(presence.resource) } : presence;
  return withCalls(
    good,
    (handler) => ({ locate: async (...args) => shown(await handler.locate(...args)) }),
    kind,
  );
}

function presenceOf(resource: Observed | undefined): Presence {
  return resource === undefined ? { found: "none" } : { found: "one", resource };
}

/** Removes whatever the test is true of. */
const removing =
  (isMeant: (one: Identity, current: Identity) => boolean): FolderDefect =>
  (good, cloud) =>
    withCalls(good, () => ({
      remove: async (_ctx, current) => {
        const meant = cloud.list().filter(({ who }) => isMeant(who, current.who));
        for (const one of meant) cloud.put({ ...one, phase: "gone" });
        const same = cloud.get(current.id);
        if (same !== undefined && same.phase !== "gone") cloud.put({ ...same, phase: "gone" });
      },
    }));

/** Finds, without an id, whatever the test is true of. */
const finding =
  (isMeant: (one: Identity, wanted: Identity) => boolean): FolderDefect =>
  (good, cloud) =>
    withCalls(good, (handler) => ({
      locate: async (ctx, who, id) => {
        if (id !== undefined) return handler.locate(ctx, who, id);
        return presenceOf(cloud.list().find((one) => isMeant(one.who, who)));
      },
    }));

const pending = (ctx: CallContext, cloud: FaultyFolder, id: string): Promise<Observed> =>
  (async () => {
    for (;;) {
      const current = cloud.get(id);
      if (current?.phase === "ready") return current;
      await ctx.clock.sleep(50, ctx.signal);
    }
  })();

/** A create of two calls, with something between them. */
const inTwoCalls =
  (between: (ctx: CreateContext) => void | Promise<void>, firstMarks?: Identity): FolderDefect =>
  (good, cloud) =>
    withCalls(good, (handler) => ({
      create: async (ctx, who, spec) => {
        const id = `${who.name}.${who.token.slice(0, 8)}`;
        if (cloud.get(id)?.who.token === who.token) return handler.create(ctx, who, spec);
        cloud.put({ id, who: firstMarks ?? who, phase: "ready", spec, status: {} });
        await between(ctx);
        return cloud.put({ id, who, phase: "ready", spec, status: {} });
      },
    }));

const listing =
  (change: (listed: readonly Observed[]) => readonly Observed[]) =>
  (good: InfrastructureProvider): InfrastructureProvider =>
    derived(good, {
      inventory: async (ctx, scope) => change(await good.inventory(ctx, scope)),
      owned: async (ctx) => change((await good.owned?.(ctx)) ?? []),
    });

/** A verdict that sees no difference of a field. */
const blindTo =
  (field: string, kind?: string) =>
  (good: InfrastructureProvider): InfrastructureProvider =>
    derived(good, {
      verdict: (ofKind, { [field]: _was, ...recorded }, { [field]: _is, ...wanted }) =>
        good.verdict(
          ofKind,
          kind === undefined || kind === ofKind ? recorded : { ...recorded, [field]: _was ?? null },
          kind === undefined || kind === ofKind ? wanted : { ...wanted, [field]: _is ?? null },
        ),
    });

const naming =
  (more: () => JsonObject) =>
  (good: InfrastructureProvider): InfrastructureProvider =>
    derived(good, {
      generationInputs: (kind, spec) => ({ ...good.generationInputs(kind, spec), ...more() }),
    });

/** Shows what it was asked for, of every field or of one. */
export const remembered = (
  good: InfrastructureProvider,
  kind?: string,
  field?: string,
): InfrastructureProvider => {
  const asked = new Map<string, JsonObject>();
  const specOf = ({ id, spec }: Observed): JsonObject => {
    const wanted = asked.get(id) ?? spec;
    return field === undefined ? wanted : { ...spec, [field]: wanted[field] ?? null };
  };
  const shown = withShown(good, (one) => ({ ...one, spec: specOf(one) }), kind);
  return withCalls(
    shown,
    (handler) => ({
      create: async (ctx, who, spec) => {
        const made = await handler.create(ctx, who, spec);
        asked.set(made.id, spec);
        return made;
      },
    }),
    kind,
  );
};

const lostIsRetryable = (good: InfrastructureProvider, kind?: string): InfrastructureProvider =>
  withCalls(
    good,
    (handler) => ({
      create: (ctx, who, spec) =>
        handler.create(ctx, who, spec).catch(() => {
          const message = "no answer";
          throw new CapstanError({
            code: "CLOUD_FAILED",
            source: "cloud",
            message,
            retryable: true,
          });
        }),
    }),
    kind,
  );

export const swallowing = (
  good: InfrastructureProvider,
  call: "remove" | "disown",
  kind?: string,
): InfrastructureProvider =>
  withCalls(
    good,
    (handler) => ({
      [call]: (ctx: CallContext, one: Observed) => handler[call]?.(ctx, one).catch(() => {}),
    }),
    kind,
  );

/** Calls that never hear of an interrupt. */
export const deaf = (ctx: CreateContext): CreateContext => ({
  ...ctx,
  signal: new AbortController().signal,
});

export const cases = {
  room: "makes another host where there is no room for the one that is asked for, or cannot",
  accepted: "tells what became of what its cloud has accepted, or makes at once",
  deletes: "deletes by id, and nothing of the same name",
  locates: "finds by its marks what bears them, and nothing of the same name",
  twins: "answers many where several bear the same marks",
  waits: "answers a create as soon as there is an id",
  killed: "leaves nothing that nobody finds, whenever it is killed",
  resumes: "finishes a change in place that was killed, toward what was wanted and back",
  engine: "makes sure that its engine lives before each further change of a call",
  interrupt: "begins no further change after an interrupt",
  hang: "gives up at once when it is interrupted while the cloud does not answer",
  refusal: "says so when the cloud refuses a change",
  stopped: "never shows a stopped host as ready",
  gone: "shows as gone what somebody has deleted",
  changed: "shows what somebody has changed in the cloud",
  pages: "lists a thousand resources, and finds each of them",
  fields: "sees every field of a spec that differs",
  anyTime: "judges and names the same at any time",
  once: "makes one resource of one token",
  lost: "adopts what a create made whose answer was lost",
  lists: "lists all that carries its marks, and nothing else",
  inPlace: "changes in place, on the same host",
  updates: "makes a change in place, all of it, and shows it",
  shows: "shows what it made as it was asked for",
  spent: "never brings a removed resource back",
  readiness: "says since when a host is ready and what its node runs, or nothing",
  owned: "lists what every cluster owns, with its age where it tells one",
  forgotten: "reports a forgotten operation as over",
  removal: "reports a removal that the cloud refuses after it has accepted it",
  namesakes: "leaves another owner's resource of the same name alone",
  longest: "keeps resources apart whose longest names differ in the last character",
  denied: "does not take a refused look for absence",
  partial: "does not take an incomplete answer for a complete one",
  nothingLeft: "leaves no part of a removed resource behind",
  conflict: "loses no change to a concurrent one",
  changesWait: "answers an update and a removal once the cloud has accepted them",
  member: "shows a control-plane member as it was asked for",
  domains: "lists and finds hosts in every failure domain",
} as const;

export const folderDefects: Readonly<Record<string, readonly [string, FolderDefect]>> = {
  "deletes by name": [cases.deletes, removing((one, { name }) => one.name === name)],
  "deletes by name and cluster: an earlier life too": [
    cases.deletes,
    removing((one, { name, cluster }) => one.name === name && one.cluster === cluster),
  ],
  "deletes by the beginning of a name: a neighbour too": [
    cases.deletes,
    removing(
      (one, { name, clusterUid }) => one.name.startsWith(name) && one.clusterUid === clusterUid,
    ),
  ],
  "finds by name": [cases.locates, finding((one, { name }) => one.name === name)],
  "finds by name and cluster: an earlier life too": [
    cases.locates,
    finding((one, { name, cluster }) => one.name === name && one.cluster === cluster),
  ],
  "a create waits until the host is ready": [
    cases.waits,
    (good, cloud) =>
      withCalls(good, (handler) => ({
        create: async (ctx, who, spec) =>
          pending(ctx, cloud, (await handler.create(ctx, who, spec)).id),
      })),
  ],
  "a create says ready of what still boots": [
    cases.waits,
    (good) =>
      withCalls(good, (handler) => ({
        create: async (...args) => ({ ...(await handler.create(...args)), phase: "ready" }),
      })),
  ],
  "marks come in a second call": [
    cases.killed,
    inTwoCalls((ctx) => ctx.assertEngineAlive(), nobody),
  ],
  "a removal takes the marks off first": [
    cases.killed,
    (good, cloud) =>
      withCalls(good, () => ({
        remove: async (ctx, current) => {
          if (cloud.get(current.id)?.phase === "gone") return;
          cloud.put({ ...current, who: nobody });
          await ctx.assertEngineAlive();
          cloud.put({ ...current, phase: "gone" });
        },
      })),
  ],
  "a create makes two changes and looks once whether its engine lives": [
    cases.engine,
    inTwoCalls(() => {}),
  ],
  "a removal waits, and then does not look whether its engine lives": [
    cases.engine,
    (good) =>
      withCalls(good, (handler) => ({
        remove: async (ctx, current) => {
          await ctx.clock.sleep(1_000, ctx.signal);
          await handler.remove(ctx, current);
        },
      })),
  ],
  "a removal makes two changes and does not wait for the answer whether its engine lives": [
    cases.engine,
    (good, cloud) =>
      withCalls(good, () => ({
        remove: async (ctx, current) => {
          if (cloud.get(current.id)?.phase === "gone") return;
          cloud.put({ ...current, status: { going: true } });
          void ctx.assertEngineAlive();
          cloud.put({ ...current, phase: "gone" });
        },
      })),
  ],
  "a create goes on with its second change after an interrupt": [
    cases.interrupt,
    inTwoCalls((ctx) => ctx.assertEngineAlive()),
  ],
  "a removal swallows what the cloud refuses": [
    cases.refusal,
    (good) => swallowing(good, "remove"),
  ],
  "a create answers although the cloud has refused it": [
    cases.refusal,
    (good) =>
      withCalls(good, (handler) => ({
        create: async (ctx, who, spec) =>
          handler
            .create(ctx, who, spec)
            .catch((): Observed => ({ id: who.name, who, phase: "pending", spec, status: {} })),
      })),
  ],
  "a stopped host is shown as ready": [
    cases.stopped,
    (good) =>
      withShown(good, (one) => ({ ...one, phase: one.phase === "gone" ? "gone" : "ready" })),
  ],
  "a listing shows a stopped host as ready": [
    cases.stopped,
    listing((listed) =>
      listed.map((one) => ({ ...one, phase: one.phase === "gone" ? "gone" : "ready" })),
    ),
  ],
  "a terminated host is shown as ready": [
    cases.gone,
    (good) => withShown(good, (one) => ({ ...one, phase: "ready" })),
  ],
  "a listing shows a terminated host as ready": [
    cases.gone,
    listing((listed) => listed.map((one) => ({ ...one, phase: "ready" }))),
  ],
  "a spec is what was asked for, not what there is": [cases.changed, (good) => remembered(good)],
  "a listing is cut after five": [cases.pages, listing((listed) => listed.slice(0, 5))],
  "a listing is cut after a page": [cases.pages, listing((listed) => listed.slice(0, 1_000))],
  "a resource is looked for in the first page": [
    cases.pages,
    (good, cloud) =>
      withCalls(good, (handler) => ({
        locate: async (ctx, who, id) => {
          if (id !== undefined) return handler.locate(ctx, who, id);
          const page = cloud.list().slice(0, 500);
          return presenceOf(page.find((one) => one.who.token === who.token));
        },
      })),
  ],
  "a verdict does not see another kubelet": [cases.fields, blindTo("kubelet")],
  "a verdict sees more of a field, and not less": [
    cases.fields,
    (good) =>
      derived(good, {
        verdict: (kind, recorded, wanted) =>
          Number(wanted["cpus"]) < Number(recorded["cpus"])
            ? good.verdict(kind, recorded, { ...wanted, cpus: recorded["cpus"] ?? 0 })
            : good.verdict(kind, recorded, wanted),
      }),
  ],
  "a field that users write is no input of the host": [
    cases.fields,
    (good) =>
      derived(good, {
        compile: (cluster, value, machines) => ({
          infrastructure: [],
          hosts: new Map(
            machines.map((one) => {
              const { note: _note, ...host } = hostSpecOf(one, good.machineSpec.schema);
              return [one.name, host];
            }),
          ),
        }),
      }),
  ],
  "a generation is named by the day": [
    cases.anyTime,
    naming(() => ({ day: new Date().toISOString().slice(0, 10) })),
  ],
  "a generation is named by lot": [cases.anyTime, naming(() => ({ lot: Math.random() }))],
  "a verdict depends on the hour": [
    cases.anyTime,
    (good) =>
      derived(good, {
        verdict: (kind, recorded, wanted) => {
          const verdict = good.verdict(kind, recorded, wanted);
          if (verdict.kind !== "replace") return verdict;
          return { ...verdict, reason: `${verdict.reason} since ${Date.now()}` };
        },
      }),
  ],
  "a create answers without a phase what its token has made before": [
    cases.once,
    (good) =>
      withCalls(good, (handler) => {
        const made = new Set<string>();
        return {
          create: async (ctx, who, spec) => {
            const { phase, ...bare } = await handler.create(ctx, who, spec);
            const isKnown = made.has(bare.id);
            made.add(bare.id);
            return (isKnown ? bare : { ...bare, phase }) as Observed;
          },
        };
      }),
  ],
  "a create whose answer is lost is called retryable": [
    cases.lost,
    (good) => lostIsRetryable(good),
  ],
};

export const localDefects: Readonly<Record<string, readonly [string, LocalDefect]>> = {
  "forgets the operation of what is accepted": [
    cases.accepted,
    (good) =>
      withCalls(good, (handler) => ({
        create: async (...args) => {
          const { operation: _forgotten, ...made } = await handler.create(...args);
          return made;
        },
      })),
  ],
  "takes every operation for done": [
    cases.accepted,
    (good) => withCalls(good, () => ({ poll: async () => ({ state: "done" }) })),
  ],
  "takes an operation that failed for done, of volumes": [
    cases.accepted,
    (good) =>
      withCalls(
        good,
        (handler) => ({
          poll: async (ctx, operation) => {
            const outcome = await handler.poll?.(ctx, operation);
            return outcome?.state === "running" ? outcome : { state: "done" };
          },
        }),
        "LocalVolume",
      ),
  ],
  "deletes networks by name": [
    cases.deletes,
    (good, cloud) =>
      withCalls(
        good,
        () => ({
          remove: async (ctx, current) => {
            const all = await cloud.list({ name: current.who.name }, ctx.signal);
            for (const { id } of all) await cloud.terminate(id, ctx.signal);
          },
        }),
        "LocalNetwork",
      ),
  ],
  "finds load balancers by name": [
    cases.locates,
    (good, cloud) =>
      withCalls(
        good,
        (handler) => ({
          locate: async (ctx, who, id) => {
            const [first] = await cloud.list({ name: who.name }, ctx.signal);
            return handler.locate(ctx, first?.who ?? who, id ?? first?.id);
          },
        }),
        "LocalLoadBalancer",
      ),
  ],
  "takes the first of many": [
    cases.twins,
    (good) =>
      withCalls(good, (handler) => ({
        locate: async (ctx, who, id) => {
          const presence = await handler.locate(ctx, who, id);
          return presence.found === "many" ? handler.locate(ctx, who, presence.ids[0]) : presence;
        },
      })),
  ],
  "a create ignores an interrupt": [
    cases.hang,
    (good) =>
      withCalls(good, (handler) => ({
        create: (ctx, who, spec) => handler.create(deaf(ctx), who, spec),
      })),
  ],
  "a listing ignores an interrupt": [
    cases.hang,
    (good) =>
      derived(good, {
        inventory: (ctx, scope) =>
          good.inventory({ ...ctx, signal: new AbortController().signal }, scope),
      }),
  ],
  "a removal of a network ignores an interrupt": [
    cases.hang,
    (good) =>
      withCalls(
        good,
        (handler) => ({
          remove: ({ clock, assertEngineAlive }, one) => {
            const { signal } = new AbortController();
            return handler.remove({ clock, assertEngineAlive, signal }, one);
          },
        }),
        "LocalNetwork",
      ),
  ],
  "an alternative is what was asked for": [
    cases.room,
    (good) => derived(good, { alternatives: (host) => [{ ...host }] }),
  ],
  "alternatives follow the time": [
    cases.room,
    (good) => derived(good, { alternatives: (host) => [{ ...host, size: String(Math.random()) }] }),
  ],
  "want of room is any failure": [
    cases.room,
    (good) =>
      withCalls(good, (handler) => ({
        create: (...args) =>
          handler.create(...args).catch(() => {
            const message = "it failed";
            throw new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message });
          }),
      })),
  ],
  "an alternative is made as what was asked for first": [
    cases.room,
    (good) =>
      withCalls(good, (handler) => ({
        create: (ctx, who, spec) => handler.create(ctx, who, { ...spec, size: "small" }),
      })),
  ],
  "a create waits until the host runs": [
    cases.waits,
    (good) =>
      withCalls(good, (handler) => ({
        create: async (ctx, who, spec) => {
          let current = await handler.create(ctx, who, spec);
          while (current.phase === "pending") {
            await ctx.clock.sleep(50);
            const presence = await handler.locate(ctx, who, current.id);
            if (presence.found === "one") current = presence.resource;
          }
          return current;
        },
      })),
  ],
  "a network's spec is what was asked for": [
    cases.changed,
    (good) => remembered(good, "LocalNetwork"),
  ],
  "a listing is cut after a page": [cases.pages, listing((listed) => listed.slice(0, 1_000))],
  "a listing leaves a kind out": [
    cases.lists,
    listing((listed) => listed.filter(({ who }) => who.kind !== "LocalLoadBalancer")),
  ],
  "a verdict does not see another image": [cases.fields, blindTo("image")],
  "a verdict does not see another range of a network": [
    cases.fields,
    blindTo("cidr", "LocalNetwork"),
  ],
  "a generation is named by the month": [
    cases.anyTime,
    naming(() => ({ month: new Date().toISOString().slice(0, 7) })),
  ],
  "a load balancer whose create gave no answer is called retryable": [
    cases.lost,
    (good) => lostIsRetryable(good, "LocalLoadBalancer"),
  ],
  "a removal of a network swallows what the cloud refuses": [
    cases.refusal,
    (good) => swallowing(good, "remove", "LocalNetwork"),
  ],
  "letting go swallows what the cloud refuses": [
    cases.refusal,
    (good) => swallowing(good, "disown"),
  ],
  "marks of a network come in a second call": [
    cases.killed,
    (good, cloud) =>
      withCalls(
        good,
        (handler) => ({
          create: async (ctx, who, spec) => {
            const bare = { ...nobody, kind: who.kind };
            const { id } = await cloud.create("LocalNetwork", bare, spec, ctx.signal);
            await ctx.assertEngineAlive();
            await cloud.mark(id, who, ctx.signal);
            const presence = await handler.locate(ctx, who, id);
            if (presence.found !== "one") throw new Error("not found");
            return presence.resource;
          },
        }),
        "LocalNetwork",
      ),
  ],
  "an update makes two changes and looks once whether its engine lives": [
    cases.engine,
    (good) =>
      withCalls(good, (handler) => ({
        update: async (ctx, current, spec) => {
          const [first = ""] = good.verdict("LocalHost", current.spec, spec).kind;
          const half = { ...current.spec, tags: spec["tags"] ?? first };
          await handler.update?.(ctx, current, half);
          return (await handler.update?.(ctx, current, spec)) ?? current;
        },
      })),
  ],
  "an update applies one field of two": [
    cases.inPlace,
    (good) =>
      withCalls(good, (handler) => ({
        update: async (ctx, current, spec) => {
          const half = { ...current.spec, tags: spec["tags"] ?? {} };
          return (await handler.update?.(ctx, current, half)) ?? current;
        },
      })),
  ],
  "an update of a load balancer does nothing": [
    cases.updates,
    (good) =>
      withCalls(good, () => ({ update: async (_ctx, current) => current }), "LocalLoadBalancer"),
  ],
  "an update of a network swallows what the cloud refuses": [
    cases.refusal,
    (good) =>
      withCalls(
        good,
        (handler) => ({
          update: async (ctx, current, spec) =>
            (await handler.update?.(ctx, current, spec).catch(() => current)) ?? current,
        }),
        "LocalNetwork",
      ),
  ],
  "what still boots is shown as ready": [
    cases.waits,
    (good) =>
      withCalls(good, (handler) => ({
        create: async (...args) => ({ ...(await handler.create(...args)), phase: "ready" }),
      })),
  ],
};

/** Put into `local` with hosts that are stopped, changed and started. */
export const resizeDefects: Readonly<Record<string, readonly [string, LocalDefect]>> = {
  "takes an update for done once a host has the inputs": [
    cases.resumes,
    (good) =>
      withCalls(withoutStart(good), (handler) => ({
        update: async (ctx, current, spec) =>
          sameJson(current.spec, spec) ? current : updated(handler, ctx, current, spec),
      })),
  ],
  "stops a host first, and refuses what is stopped": [
    cases.resumes,
    (good) =>
      withCalls(withoutStart(good), (handler) => ({
        update: async (ctx, current, spec) => {
          if (current.phase !== "failed") return updated(handler, ctx, current, spec);
          throw new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message: "not running" });
        },
      })),
  ],
  "changes what is stopped, and does not start it": [
    cases.resumes,
    (good, cloud) =>
      withCalls(withoutStart(good), (handler) => ({
        update: async (ctx, current, spec) => {
          if (current.phase !== "failed") return updated(handler, ctx, current, spec);
          await cloud.update(current.id, spec, ctx.signal);
          return { ...current, spec };
        },
      })),
  ],
  "stops and changes a host, and never starts it": [
    cases.updates,
    (good, cloud) =>
      withCalls(good, () => ({
        update: async (ctx, current, spec) => {
          await cloud.stop(current.id, ctx.signal);
          await cloud.update(current.id, spec, ctx.signal);
          return { ...current, spec, phase: "failed" };
        },
      })),
  ],
};

/** The provider without a start: hosts that stand still have failed, and an update makes them run. */
function withoutStart(good: InfrastructureProvider): InfrastructureProvider {
  const shown = withShown(good, (one) =>
    one.phase === "stopped" ? { ...one, phase: "failed" } : one,
  );
  const none = { start: undefined } as unknown as Partial<ResourceHandler>;
  return withCalls(shown, () => none);
}

function updated(
  handler: ResourceHandler,
  ctx: CallContext,
  current: Observed,
  spec: JsonObject,
): Promise<Observed> {
  const { update } = handler;
  assert.ok(update !== undefined, "there is an update to break");
  return update.call(handler, ctx, current, spec);
}
