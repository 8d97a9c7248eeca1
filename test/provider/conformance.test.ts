import assert from "node:assert/strict";
import { type JsonObject, sameJson } from "../../src/api/json.js";
import { unknownValue } from "../../src/api/unknown.js";
import {
  type ConformanceCase,
  conformanceCases,
  ConformanceFailure,
} from "../../src/provider-conformance/index.js";
import { userDataFields } from "../../src/api/user-data-fields.js";
import { hostSpecOf } from "../../src/provider/host-spec.js";
import { immutableFields, verdictByField } from "../../src/provider/fields.js";
import type {
  CallContext,
  Identity,
  InfrastructureProvider,
  Observed,
  ResourceHandler,
  UserDataTerms,
} from "../../src/provider/port.js";
import { CapstanError } from "../../src/api/error.js";
import { olderVersionsOf } from "../../src/provider/older-versions.js";
import { folderDefects, localDefects, nobody, resizeDefects } from "./defects.js";
import { gceDefects } from "./gce/defects.js";
import { ownGceDefects } from "./gce/own-defects.js";
import { withoutVerdict } from "./without-verdict.js";
import { type FaultyFolder, folderSubject, localSubject, resizableSubject } from "./worlds.js";
import { secretDefects, secretRequirement } from "./secret-defects.js";

const noteInPlace = { note: { kind: "inPlace" } } as const;

/** The example with a note that changes in place, so that no case is without an object. */
function withUpdate(good: InfrastructureProvider, cloud: FaultyFolder): InfrastructureProvider {
  return withCalls(
    {
      ...good,
      verdict: (_kind, recorded, wanted) => verdictByField(noteInPlace, recorded, wanted),
      generationInputs: (_kind, spec) => immutableFields(noteInPlace, spec),
    },
    { update: async (_ctx, current, spec) => cloud.put({ ...current, spec }) },
  );
}

/** The example with hosts that bear no marks, so that some can be let go and imported. */
function withImport(good: InfrastructureProvider, cloud: FaultyFolder): InfrastructureProvider {
  const isMarked = (one: Observed | undefined) => one !== undefined && one.who.token !== "";
  const plain = handlerOf(good);
  const owned = async (ctx: CallContext) => (await allOwned(good, ctx)).filter(isMarked);
  return withCalls(
    { ...good, owned },
    {
      locate: async (ctx, who, id) => {
        const alike = cloud.list().filter((one) => sameJson(one.who, who) && one.phase !== "gone");
        const presence = await plain.locate(ctx, who, id ?? alike[0]?.id);
        const isOne = presence.found === "one";
        return isOne && !isMarked(presence.resource) ? { found: "none" } : presence;
      },
      disown: async (_ctx, { id }) => {
        const current = cloud.get(id);
        if (current !== undefined) cloud.put({ ...current, who: nobody });
      },
      find: async (_ctx, id) => {
        const current = cloud.get(id);
        if (current === undefined) return undefined;
        const { who, ...found } = current;
        return isMarked(current) ? { ...found, who } : found;
      },
      mark: async (_ctx, { id }, who) => {
        const current = cloud.get(id);
        if (current === undefined) throw new Error("not found");
        if (isMarked(current) && !sameJson(current.who, who)) throw new Error("it is somebody's");
        cloud.put({ ...current, who });
      },
    },
  );
}

const unseen = ["role", "kubelet"];

/** The example with an update, whose cloud does not show what a node is to be. */
function withUnseen(good: InfrastructureProvider, cloud: FaultyFolder): InfrastructureProvider {
  const able = withUpdate(good, cloud);
  const calls = handlerOf(able);
  const shown = ({ spec, ...one }: Observed): Observed => {
    const seen = Object.entries(spec).filter(([field]) => !unseen.includes(field));
    return { ...one, spec: Object.fromEntries(seen) };
  };
  return withCalls(
    {
      ...able,
      inventory: async (ctx, scope) => (await able.inventory(ctx, scope)).map(shown),
      owned: async (ctx) => (await allOwned(able, ctx)).map(shown),
    },
    {
      unobservable: unseen,
      locate: async (ctx, who, id) => {
        const presence = await calls.locate(ctx, who, id);
        return presence.found === "one"
          ? { found: "one", resource: shown(presence.resource) }
          : presence;
      },
      create: async (ctx, who, spec) => shown(await calls.create(ctx, who, spec)),
    },
  );
}

function withCalls(
  provider: InfrastructureProvider,
  calls: Partial<ResourceHandler>,
): InfrastructureProvider {
  return {
    ...provider,
    handlers: new Map([[provider.hostKind, { ...handlerOf(provider), ...calls }]]),
  };
}

/** A host that says something else about itself whenever it is looked at. */
function withObserved(
  good: InfrastructureProvider,
  more: (ctx: CallContext) => Partial<Observed>,
): InfrastructureProvider {
  return withCalls(good, {
    locate: async (ctx, who, id) => {
      const presence = await handlerOf(good).locate(ctx, who, id);
      if (presence.found !== "one") return presence;
      return { found: "one", resource: { ...presence.resource, ...more(ctx) } };
    },
  });
}

async function allOwned(
  provider: InfrastructureProvider,
  ctx: CallContext,
): Promise<readonly Observed[]> {
  return (await provider.owned?.(ctx)) ?? [];
}

function handlerOf(provider: InfrastructureProvider): ResourceHandler {
  return provider.handlers.get(provider.hostKind)!;
}

const olderApiVersion = "folder.example.dev/v1alpha0";

/** The example's sample as it was written while cpus were cores, of which a machine had four at most. */
const olderSpecs = [
  {
    clusterSpec: { apiVersion: olderApiVersion, kind: "FolderClusterProviderSpec" },
    machineSpec: { apiVersion: olderApiVersion, kind: "FolderMachineProviderSpec", cores: 2 },
    host: { role: "worker", cpus: 2, note: "", kubelet: "1.34.2" },
  },
];

/** The example once its first version had cores, and what is done about them. */
function withOlderVersion(
  good: InfrastructureProvider,
  convert: (fields: JsonObject) => JsonObject = ({ cores = 1 }) => ({ cpus: cores }),
): InfrastructureProvider {
  const cores = { type: "integer", minimum: 1, maximum: 4, default: 1 };
  const machineSpec = { schema: { properties: { cores } }, convert };
  const olderVersions = olderVersionsOf(good, [{ apiVersion: olderApiVersion, machineSpec }]);
  return { ...good, olderVersions };
}

/** The example with hosts that take user data. */
function withUserData(
  good: InfrastructureProvider,
  change: Partial<UserDataTerms> = {},
): InfrastructureProvider {
  const userData: UserDataTerms = {
    format: "cloud-config",
    limit: { bytes: 16_384, counts: "packed" },
    software: () => "apt",
    containerRuntime: { name: "containerd", version: "2.1.5" },
    commands: { name: "hostname", address: "hostname -i" },
    ...change,
  };
  const { properties } = good.machineSpec.schema as { properties?: object };
  const schema = {
    ...good.machineSpec.schema,
    properties: { ...properties, ...userDataFields },
  };
  return {
    ...good,
    userData,
    machineSpec: { ...good.machineSpec, schema },
    compile: (cluster, value, machines) => ({
      infrastructure: [],
      hosts: new Map(machines.map((one) => [one.name, hostSpecOf(one, schema)])),
    }),
  };
}

const noteSubject = { provider: withUpdate, inPlace: { note: "changed" } };

const subjects = {
  local: localSubject(),
  "local with hosts that are stopped to be changed": resizableSubject(),
  "examples/provider-minimal": folderSubject(),
  "examples/provider-minimal with an update": folderSubject(noteSubject),
  "examples/provider-minimal with fields that its cloud cannot show": folderSubject({
    provider: withUnseen,
    inPlace: { note: "changed" },
  }),
  "examples/provider-minimal with an import": folderSubject({ provider: withImport }),
  "examples/provider-minimal with user data": folderSubject({
    provider: (good) => withUserData(good),
  }),
  "examples/provider-minimal with an older version": folderSubject({
    provider: (good) => withOlderVersion(good),
    olderSpecs,
  }),
};

for (const [name, subject] of Object.entries(subjects)) {
  describe(`conformance of ${name}`, () => {
    const open = withoutVerdict[name] ?? {};
    for (const { name: requirement, run } of conformanceCases(subject)) {
      it(requirement, async () => {
        const checked = await run();
        assert.equal(checked.outcome, open[requirement] ?? "passed", JSON.stringify(checked));
      });
    }
  });
}

/** A defect: how it is put into the good provider, and the cases that must find it. */
interface Mutation {
  readonly name: string;
  break(good: InfrastructureProvider, cloud: FaultyFolder): InfrastructureProvider;
  readonly fails: readonly string[];
}

const cases = {
  find: "finds its own resource instead of making a second one",
  once: "makes one resource of one token",
  spent: "never brings a removed resource back",
  lost: "adopts what a create made whose answer was lost",
  lag: "makes no duplicate while listings lag",
  shows: "shows what it made as it was asked for",
  inPlace: "changes in place, on the same host",
  replace: "replaces by a new host beside the old one",
  delete: "deletes twice without an error",
  letGo: "lets go of what it made, or cannot",
  findById: "finds a host by its id alone, whosever it is, or cannot",
  mark: "puts marks on what bears none, and nothing else, or cannot",
  readsOthers: "reads what is not ours without changing it, or cannot",
  looksUp: "looks up the same as long as nothing changes, and only reads",
  foreign: "leaves what is not ours alone",
  unknown: "does not guess when the cloud gives no answer",
  inventory: "lists all that carries its marks, and nothing else",
  readiness: "says since when a host is ready and what its node runs, or nothing",
  owned: "lists what every cluster owns, with its age where it tells one",
  identity: "tells which cloud it is, the same each time, or nothing at all",
  verdict: "judges changes purely, and the same each time",
  generation: "names generations by what cannot change in place",
  compile: "compiles purely, each machine for itself",
  schemas: "refuses fields that it does not know",
  versions: "converts what is written in its older versions",
  userData: "says what its hosts take at their first start, or nothing",
} as const;

let made = 0;
const makeAnother = (cloud: FaultyFolder, who: Identity, spec: JsonObject): Observed =>
  cloud.put({ id: `${who.name}.${(made += 1)}`, who, phase: "ready", spec, status: {} });

/** The import with a `find` that shows something else each time. */
function withUnsteadyFind(good: InfrastructureProvider, cloud: FaultyFolder) {
  const provider = withImport(good, cloud);
  const { find } = handlerOf(provider);
  return withCalls(provider, {
    find: async (ctx, id) => {
      const found = await find?.(ctx, id);
      return found && { ...found, status: { seen: (asked += 1) } };
    },
  });
}

let asked = 0;

const mutations: readonly Mutation[] = [
  {
    name: "another answer each time",
    break: (good) => ({ ...good, resolve: async () => ({ image: `image-${(asked += 1)}` }) }),
    fails: [cases.looksUp],
  },
  {
    name: "another status each time it is found",
    break: withUnsteadyFind,
    fails: [cases.readsOthers],
  },
  {
    name: "an answer that is no flat object",
    break: (good) => ({ ...good, resolve: async () => ({ image: { id: "image-1" } }) }),
    fails: [cases.looksUp],
  },
  {
    name: "hosts take user data, and users can say nothing of it",
    break: (good) => ({ ...withUserData(good), machineSpec: good.machineSpec }),
    fails: [cases.userData],
  },
  {
    name: "a cloud takes less user data than a member of a control plane needs",
    break: (good) => withUserData(good, { limit: { bytes: 3_000, counts: "packed" } }),
    fails: [cases.userData],
  },
  {
    name: "a command about the host prints several lines",
    break: (good) => withUserData(good, { commands: { name: "hostname\nid", address: "a" } }),
    fails: [cases.userData],
  },
  {
    name: "what a host was given is recorded",
    break: (good, cloud) =>
      withCalls(withUserData(good), {
        create: async (ctx, who, spec) => {
          const made = await handlerOf(good).create(ctx, who, spec);
          return cloud.put({ ...made, status: { given: (await ctx.userData()).text } });
        },
      }),
    fails: [cases.userData],
  },
  {
    name: "locate finds nothing without an id, create makes another each time",
    break: (good, cloud) =>
      withCalls(good, {
        locate: async (ctx, who, id) => {
          const presence = await handlerOf(good).locate(ctx, who, id);
          return id === undefined ? { found: "none" } : presence;
        },
        create: async (_ctx, who, spec) => makeAnother(cloud, who, spec),
      }),
    // A create that is blind to its own works repeats itself in each of these.
    fails: [cases.find, cases.once, cases.spent, cases.lost, cases.lag],
  },
  {
    name: "create makes another each time, locate looks through the listing",
    break: (good, cloud) =>
      withCalls(good, {
        locate: async (_ctx, who, id) => {
          const resource =
            id === undefined
              ? cloud.list().find((one) => one.who.token === who.token)
              : cloud.get(id);
          return resource === undefined ? { found: "none" } : { found: "one", resource };
        },
        create: async (_ctx, who, spec) => makeAnother(cloud, who, spec),
      }),
    fails: [cases.once, cases.lag],
  },
  {
    name: "locate looks for an id through the listing",
    break: (good, cloud) =>
      withCalls(good, {
        locate: async (ctx, who, id) => {
          if (id === undefined) return handlerOf(good).locate(ctx, who);
          const resource = cloud.list().find((one) => one.id === id);
          return resource === undefined ? { found: "none" } : { found: "one", resource };
        },
      }),
    fails: [cases.lag],
  },
  {
    name: "create ignores the token",
    break: (good, cloud) =>
      withCalls(good, {
        create: async (ctx, who, spec) =>
          cloud.alive(who).length === 0
            ? handlerOf(good).create(ctx, who, spec)
            : makeAnother(cloud, who, spec),
      }),
    fails: [cases.once],
  },
  {
    name: "what is removed can be made again",
    break: (good, cloud) =>
      withCalls(good, {
        locate: async (ctx, who, id) => {
          const presence = await handlerOf(good).locate(ctx, who, id);
          const [resource] = cloud.alive(who);
          if (id !== undefined) return presence;
          return resource === undefined ? { found: "none" } : { found: "one", resource };
        },
        create: async (_ctx, who, spec) => cloud.alive(who)[0] ?? makeAnother(cloud, who, spec),
      }),
    fails: [cases.spent],
  },
  {
    name: "a lost answer is told as a plain refusal",
    break: (good) =>
      withCalls(good, {
        create: async (ctx, who, spec) => {
          try {
            return await handlerOf(good).create(ctx, who, spec);
          } catch {
            throw new CapstanError({ code: "CLOUD_FAILED", source: "cloud", message: "refused" });
          }
        },
      }),
    fails: [cases.lost],
  },
  {
    name: "locate shows another spec than was asked for",
    break: (good) =>
      withCalls(good, {
        locate: async (ctx, who, id) => {
          const presence = await handlerOf(good).locate(ctx, who, id);
          if (presence.found !== "one") return presence;
          const { resource } = presence;
          return { found: "one", resource: { ...resource, spec: { ...resource.spec, cpus: 3 } } };
        },
      }),
    fails: [cases.find, cases.lag, cases.lost, cases.shows, cases.inPlace],
  },
  {
    name: "update makes another resource",
    break: (good, cloud) =>
      withCalls(good, {
        update: async (_ctx, current, spec) => {
          cloud.put({ ...current, phase: "gone" });
          return cloud.put({ ...current, id: `${current.id}-again`, spec });
        },
      }),
    fails: [cases.inPlace],
  },
  {
    name: "verdict says that everything changes in place",
    break: (good) => ({
      ...good,
      verdict: (kind, recorded, wanted) => {
        const verdict = good.verdict(kind, recorded, wanted);
        return verdict.kind === "same" ? verdict : { kind: "inPlace", paths: verdict.paths };
      },
    }),
    fails: [cases.replace],
  },
  {
    name: "remove fails for what is gone",
    break: (good, cloud) =>
      withCalls(good, {
        remove: async (ctx, current) => {
          if (cloud.get(current.id)?.phase === "gone") throw new Error("not found");
          return handlerOf(good).remove(ctx, current);
        },
      }),
    fails: [cases.delete],
  },
  {
    name: "disown leaves the marks on",
    break: (good) => withCalls(good, { disown: async () => {} }),
    fails: [cases.letGo],
  },
  {
    name: "find finds nothing",
    break: (good) => withCalls(good, { find: async () => undefined }),
    fails: [cases.findById, cases.readsOthers],
  },
  {
    name: "mark offered without what takes marks off",
    break: (good) => withCalls(good, { mark: async () => {} }),
    fails: [cases.mark],
  },
  {
    name: "find does not say whose a host is",
    break: (good, cloud) => {
      const able = withImport(good, cloud);
      return withCalls(able, {
        find: async (ctx, id) => {
          const { who: _who, ...found } = (await handlerOf(able).find?.(ctx, id)) ?? {};
          return "id" in found ? found : undefined;
        },
      });
    },
    fails: [cases.findById, cases.mark],
  },
  {
    name: "find takes a failure for absence",
    break: (good, cloud) => {
      const able = withImport(good, cloud);
      return withCalls(able, {
        find: async (ctx, id) =>
          handlerOf(able)
            .find?.(ctx, id)
            .catch(() => undefined),
      });
    },
    fails: [cases.findById],
  },
  {
    name: "mark puts nothing on",
    break: (good, cloud) => withCalls(withImport(good, cloud), { mark: async () => {} }),
    fails: [cases.mark],
  },
  {
    name: "mark takes what is somebody else's",
    break: (good, cloud) =>
      withCalls(withImport(good, cloud), {
        mark: async (_ctx, { id }, who) => {
          const current = cloud.get(id);
          if (current !== undefined) cloud.put({ ...current, who });
        },
      }),
    fails: [cases.mark],
  },
  {
    name: "mark changes the host that it marks",
    break: (good, cloud) => {
      const able = withImport(good, cloud);
      return withCalls(able, {
        mark: async (ctx, found, who) => {
          await handlerOf(able).mark?.(ctx, found, who);
          const current = cloud.get(found.id);
          if (current !== undefined)
            cloud.put({ ...current, spec: { ...current.spec, note: "!" } });
        },
      });
    },
    fails: [cases.mark],
  },
  {
    name: "locate says that a resource is whose it is asked about",
    break: (good) =>
      withCalls(good, {
        locate: async (ctx, who, id) => {
          const presence = await handlerOf(good).locate(ctx, who, id);
          if (presence.found !== "one") return presence;
          return { found: "one", resource: { ...presence.resource, who } };
        },
      }),
    fails: [cases.foreign],
  },
  {
    name: "locate takes a failure for absence",
    break: (good) =>
      withCalls(good, {
        locate: (ctx, who, id) =>
          handlerOf(good)
            .locate(ctx, who, id)
            .catch(() => ({ found: "none" })),
      }),
    fails: [cases.unknown],
  },
  {
    name: "inventory takes a failure for nothing",
    break: (good) => ({
      ...good,
      inventory: (ctx, scope) => good.inventory(ctx, scope).catch(() => []),
    }),
    fails: [cases.unknown],
  },
  {
    name: "inventory lists other clusters too",
    break: (good, cloud) => ({ ...good, inventory: async () => cloud.list() }),
    fails: [cases.inventory],
  },
  {
    name: "inventory leaves one out",
    break: (good) => ({
      ...good,
      inventory: async (ctx, scope) => (await good.inventory(ctx, scope)).slice(1),
    }),
    fails: [cases.inventory],
  },
  {
    name: "owned takes a failure for nothing",
    break: (good) => ({ ...good, owned: (ctx) => allOwned(good, ctx).catch(() => []) }),
    fails: [cases.unknown],
  },
  {
    name: "owned lists one cluster alone",
    break: (good) => ({
      ...good,
      owned: async (ctx) =>
        (await allOwned(good, ctx)).filter(({ who }) => who.cluster === "default/conformance"),
    }),
    fails: [cases.owned],
  },
  {
    name: "owned says whose a resource ought to be",
    break: (good) => ({
      ...good,
      owned: async (ctx) =>
        (await allOwned(good, ctx)).map((one) => ({ ...one, who: { ...one.who, name: one.id } })),
    }),
    fails: [cases.owned],
  },
  {
    name: "owned tells ages in seconds",
    break: (good) => ({
      ...good,
      owned: async (ctx) =>
        (await allOwned(good, ctx)).map((one) => ({ ...one, createdAtMs: ctx.clock.now() / 1000 })),
    }),
    fails: [cases.owned],
  },
  ...(
    [
      ["tells since when in seconds", (ctx) => ({ readySinceMs: ctx.clock.now() / 1000 })],
      ["is ready anew with each look", (ctx) => ({ readySinceMs: ctx.clock.now() })],
      ["has a node that runs something else", () => ({ node: { kubelet: "1.30.0" } })],
      ["keeps the time in its status", (ctx) => ({ status: { seenMs: ctx.clock.now() } })],
    ] satisfies [string, (ctx: CallContext) => Partial<Observed>][]
  ).map(([name, more]): Mutation => ({
    name: `a host ${name}`,
    break: (good) => withObserved(good, more),
    fails: [cases.readiness],
  })),
  {
    name: "verdict takes an unknown value for the same",
    break: (good) => ({
      ...good,
      verdict: (kind, recorded, wanted) => {
        const known = Object.entries(wanted).map(([field, value]) =>
          value === unknownValue ? [field, recorded[field]] : [field, value],
        );
        return good.verdict(kind, recorded, Object.fromEntries(known) as JsonObject);
      },
    }),
    fails: [cases.verdict],
  },
  {
    name: "generationInputs holds everything",
    break: (good) => ({ ...good, generationInputs: (_kind, spec) => spec }),
    fails: [cases.generation],
  },
  {
    name: "a host's spec depends on how many machines there are",
    break: (good) => ({
      ...good,
      compile: (cluster, spec, machines) => {
        const { infrastructure, hosts } = good.compile(cluster, spec, machines);
        const counted = [...hosts].map(([name, host]): [string, JsonObject] => [
          name,
          { ...host, siblings: machines.length },
        ]);
        return { infrastructure, hosts: new Map(counted) };
      },
    }),
    fails: [cases.compile],
  },
  {
    name: "it tells its cloud by what is no text",
    break: (good) => ({ ...good, identity: async () => ({ account: 7 }) as never }),
    fails: [cases.identity],
  },
  {
    name: "its schema takes any field",
    break: (good) => {
      const { kind, schema } = good.machineSpec;
      return { ...good, machineSpec: { kind, schema: { ...schema, additionalProperties: true } } };
    },
    fails: [cases.schemas],
  },
  ...(
    [
      ["gives each machine the same", () => ({ cpus: 3 })],
      ["cannot convert what its version allows", ({ cores }) => ({ cpus: Number(cores) % 4 })],
      ["goes by more than the object", () => ({ cpus: (made += 1) })],
    ] satisfies [string, (fields: JsonObject) => JsonObject][]
  ).map(([name, convert]): Mutation => ({
    name: `a conversion ${name}`,
    break: (good) => withOlderVersion(good, convert),
    fails: [cases.versions],
  })),
  {
    name: "its hosts have other inputs than those that are recorded",
    break: (good) => {
      const older = withOlderVersion(good);
      return {
        ...older,
        compile: (cluster, spec, machines) => {
          const { infrastructure, hosts } = older.compile(cluster, spec, machines);
          const renamed = [...hosts].map(([name, { cpus, ...host }]): [string, JsonObject] => [
            name,
            { ...host, processors: cpus ?? 0 },
          ]);
          return { infrastructure, hosts: new Map(renamed) };
        },
      };
    },
    fails: [cases.versions],
  },
];

describe("conformance finds defects", () => {
  for (const { name, break: breakIt, fails } of mutations) {
    it(name, async () => {
      const subject = folderSubject({
        ...noteSubject,
        olderSpecs,
        provider: (good, cloud) => breakIt(withUpdate(good, cloud), cloud),
      });
      const named = conformanceCases(subject).filter((one) => fails.includes(one.name));
      const failures = await failuresOf(named);
      assert.deepEqual([...failures.keys()].sort(), [...fails].sort(), textOf(failures));
      for (const failure of failures.values()) {
        assert.ok(failure instanceof ConformanceFailure, String(failure));
        assert.match(failure.message, /^a provider must .+: .+/);
      }
    });
  }

  it("says of each subject what it has no verdict of", () => {
    assert.deepEqual(Object.keys(withoutVerdict), Object.keys(subjects));
  });

  it("has a defect for each case", () => {
    const found = new Set([
      ...mutations.flatMap(({ fails }) => fails),
      ...Object.values({ ...folderDefects, ...localDefects, ...resizeDefects }).map(
        ([fails]) => fails,
      ),
      ...Object.values({ ...gceDefects, ...ownGceDefects }).map(([fails]) => fails),
      ...Object.keys(secretDefects).map(() => secretRequirement),
    ]);
    const missed = conformanceCases(localSubject()).filter(({ name }) => !found.has(name));
    assert.deepEqual(
      missed.map(({ name }) => name),
      [],
    );
  });
});

async function failuresOf(all: readonly ConformanceCase[]): Promise<Map<string, unknown>> {
  const failures = new Map<string, unknown>();
  for (const { name, run } of all) await run().catch((error: unknown) => failures.set(name, error));
  return failures;
}

function textOf(failures: ReadonlyMap<string, unknown>): string {
  return [...failures].map(([name, error]) => `${name}: ${String(error)}`).join("\n");
}
