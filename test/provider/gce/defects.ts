import { type JsonObject, sameJson } from "../../../src/api/json.js";
import type { CreateContext, Found, Identity, Observed } from "../../../src/provider/port.js";
import { cases } from "../defects.js";
import {
  type Compute,
  ComputeError,
  type Instance,
  type ComputeOperation,
  zones,
} from "./compute.js";
import { asked, type GceHosts, handleOf, idOf, notYet, placeOf, unlessNone } from "./hosts.js";
import type { GceDefect } from "./world.js";

// Defects of providers of Compute Engine that authors make, put into the good one. Each has the case that has to find it.

type Marks = Pick<Instance, "description">;

/** Another answer of what is shown of an instance. */
export const shown =
  (change: (found: Found, instance: Instance, compute: Compute) => Partial<Observed>): GceDefect =>
  (good, compute) => ({
    found: (instance) => {
      const found = good.found(instance);
      return { ...found, ...change(found, instance, compute) };
    },
  });

const phases =
  (of: (instance: Instance) => Observed["phase"] | undefined): GceDefect =>
  (good) => ({ phaseOf: (instance) => of(instance) ?? good.phaseOf(instance) });

/** A name that is taken is taken for that of ours. */
const adopts =
  (whoOf: (good: GceHosts, instance: Instance, who: Identity) => Identity): GceDefect =>
  (good) => ({
    taken: async (ctx, who, zone) => {
      const instance = await good.look(ctx, zone, good.nameOf(who));
      if (instance === undefined) throw notYet("its name is taken");
      return { ...good.found(instance), who: whoOf(good, instance, who) };
    },
  });

/** By name, in the zones that are given, whatever marks it bears. */
const byName = async (
  good: GceHosts,
  ctx: Parameters<GceHosts["look"]>[0],
  who: Identity,
  name: string,
) => {
  for (const zone of zones) {
    const instance = await good.look(ctx, zone, name);
    if (instance !== undefined) return { ...good.found(instance), who };
  }
  return undefined;
};

/** An insert that the good provider would not make so. */
const inserting =
  (
    change: (body: Parameters<Compute["insert"]>[1]) => Parameters<Compute["insert"]>[1],
  ): GceDefect =>
  (good, compute) => {
    const insert = compute.insert.bind(compute);
    compute.insert = (zone, body, ...others) => insert(zone, change(body), ...others);
    return {};
  };

/** Marks as labels are: of 63 characters. */
const cut = (who: Identity): Identity =>
  Object.fromEntries(
    Object.entries(who).map(([mark, value]) => [mark, String(value).slice(0, 63)]),
  ) as Identity;

const short = (name: string): string => `c-${name.replaceAll(/[^a-z0-9-]/g, "-")}`.slice(0, 40);

/** CAPG's way: the name alone, a get, no comparison, and a deletion by name. */
const asCapgDoes: GceDefect = (good, compute) => ({
  nameOf: ({ name }) => short(name),
  locate: async (ctx, who, id) => {
    const name = id === undefined ? short(who.name) : placeOf(id).name;
    const resource = await byName(good, ctx, who, name);
    return resource === undefined ? { found: "none" } : { found: "one", resource };
  },
  remove: async ({ signal }, { id }) => {
    const { zone, name } = placeOf(id);
    await unlessNone(asked(compute.delete(zone, name, signal)));
  },
});

let drawn = 0;

export const gceDefects: Readonly<Record<string, readonly [string, GceDefect]>> = {
  "G1a: adopts a stranger's instance of its name, and shows it as it is": [
    cases.namesakes,
    adopts((good, instance, who) => good.whoOf(instance) ?? who),
  ],
  "G1b: adopts a stranger's instance of its name, and shows it with our marks": [
    cases.namesakes,
    adopts((_good, _instance, who) => who),
  ],
  "G2: looks by name and compares no description": [
    cases.namesakes,
    (good) => ({
      locate: async (ctx, who, id) => {
        if (id !== undefined) return good.locate(ctx, who, id);
        const resource = await byName(good, ctx, who, good.nameOf(who));
        return resource === undefined ? { found: "none" } : { found: "one", resource };
      },
    }),
  ],
  "G3a: a create keeps no operation": [
    cases.accepted,
    (good) => ({
      made: async (...args) => {
        const { operation: _forgotten, ...made } = await good.made(...args);
        return made;
      },
    }),
  ],
  "G3b: an operation with an error counts as done": [
    cases.accepted,
    (good) => ({
      outcomeOf: (operation) => good.outcomeOf(withoutError(operation)),
    }),
  ],
  "G3c: an operation that is forgotten runs for ever": [
    cases.forgotten,
    () => ({ forgotten: () => ({ state: "running" }) }),
  ],
  "G4: a fingerprint that is out of date is swallowed": [
    cases.conflict,
    (_good, compute) => ({
      relabel: async ({ signal }, { zone, number, labelFingerprint }, labels) => {
        try {
          return await compute.setLabels(zone, number, { labels, labelFingerprint }, signal);
        } catch (error) {
          if (error instanceof ComputeError && error.status === 412) return undefined;
          throw error;
        }
      },
    }),
  ],
  "G5: a listing reads one zone": [
    cases.domains,
    (good) => ({
      list: async (ctx) => (await good.list(ctx)).filter(({ id }) => placeOf(id).zone === zones[0]),
    }),
  ],
  "G5b: a look without an id asks one zone": [
    cases.twins,
    (good) => ({
      locate: async (ctx, who, id) => {
        if (id !== undefined) return good.locate(ctx, who, id);
        const instance = await good.look(ctx, zones[0], good.nameOf(who));
        const resource = instance && good.isOf(instance, who) && good.observed(instance);
        return resource ? { found: "one", resource } : { found: "none" };
      },
    }),
  ],
  "G6a: TERMINATED is shown as ready": [
    cases.stopped,
    phases(({ status }) => (status === "TERMINATED" ? "ready" : undefined)),
  ],
  "G6b: TERMINATED is shown as pending for ever": [
    cases.stopped,
    phases(({ status }) => (status === "TERMINATED" ? "pending" : undefined)),
  ],
  "G7: a name is cut, and the token is lost": [
    cases.longest,
    () => ({
      nameOf: ({ name, clusterUid, token }) =>
        `c-${clusterUid}-${name.replaceAll(/[^a-z0-9-]/g, "-")}-${token}`.slice(0, 63),
    }),
  ],
  "G8a: the request id is random": [
    cases.spent,
    () => ({ requestIdOf: async () => `random-${(drawn += 1)}` }),
  ],
  "G8b: there is no request id": [cases.spent, () => ({ requestIdOf: async () => undefined })],
  "G9: the boot disk stays when its instance goes": [
    cases.nothingLeft,
    inserting((body) => ({ ...body, autoDelete: false })),
  ],
  "G10: marks are cut to the 63 characters of a label": [
    cases.longest,
    (good) => {
      const whoOf = (instance: Marks & Instance) => {
        const who = good.whoOf(instance);
        return who && cut(who);
      };
      return {
        descriptionOf: (who) => good.descriptionOf(cut(who)),
        whoOf,
        isOf: (instance, who) => sameJson(whoOf(instance) ?? null, cut(who)),
      };
    },
  ],
  "G11: a look that is refused is taken for none": [
    cases.denied,
    (_good, compute) => ({
      look: async ({ signal }, zone, key) => {
        try {
          return await unlessNone(compute.get(zone, key, signal));
        } catch (error) {
          if (error instanceof ComputeError && error.status === 403) return undefined;
          throw error;
        }
      },
    }),
  ],
  "G12: a zone that gives no answer is left out of a listing": [
    cases.partial,
    () => ({ mustBeWhole: () => {} }),
  ],
  "G13: deletes by name, not by number": [
    cases.namesakes,
    (_good, compute) => ({
      remove: async ({ signal }, { id }) => {
        const { zone, name } = placeOf(id);
        await unlessNone(asked(compute.delete(zone, name, signal)));
      },
    }),
  ],
  "G14: takes a change for done that has its type, and was not started": [
    cases.resumes,
    (good) => ({
      isStartable: false,
      update: async (ctx, current, spec) =>
        sameJson(current.spec, spec) ? current : good.update(ctx, current, spec),
    }),
  ],
  "G15: an insert that is refused at once is shown as ready": [
    cases.refusal,
    (good) => ({
      create: async (ctx: CreateContext, who: Identity, spec: JsonObject) =>
        good.create(ctx, who, spec).catch((): Observed => {
          const place = { zone: String(spec["zone"]), name: good.nameOf(who), number: "1" };
          return { id: idOf(place), who, phase: "ready", spec, status: {} };
        }),
    }),
  ],
  "G17: tells ages in seconds": [
    cases.owned,
    shown((_found, { createdMs }) => ({ createdAtMs: createdMs / 1_000 })),
  ],
  "G18: is ready anew with each look": [
    cases.readiness,
    shown(({ phase }, _instance, { clock }) =>
      phase === "ready" ? { readySinceMs: clock.now() } : {},
    ),
  ],
  "G19: a removal waits for its operation": [
    cases.changesWait,
    (good, compute) => ({
      remove: async (ctx, { id }) => {
        const { zone, number } = placeOf(id);
        const operation = await unlessNone(asked(compute.delete(zone, number, ctx.signal)));
        if (operation === undefined) return;
        while ((await good.poll(ctx, handleOf(operation))).state === "running") {
          await ctx.clock.sleep(500, ctx.signal);
        }
      },
    }),
  ],
  "G21: the time at which it leaves moves": [
    cases.shows,
    shown((_found, _instance, { clock }) => ({ leavesAtMs: clock.now() + 60_000 })),
  ],
  "G23: an update of labels alone forgets its operation": [
    cases.updates,
    (good) => ({
      changed: (resource, last) =>
        good.changed(resource, resource.phase === "pending" ? last : undefined),
    }),
  ],
  "G24: CAPG's way: by name alone, without a comparison": [cases.namesakes, asCapgDoes],
};

function withoutError({ error: _error, ...operation }: ComputeOperation): ComputeOperation {
  return operation;
}
