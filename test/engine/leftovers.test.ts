import assert from "node:assert/strict";
import { ClusterRegistry } from "../../src/engine/backend/cluster-registry.js";
import {
  findAgain,
  findLeftovers,
  type LeftoverOptions,
} from "../../src/engine/sweep/leftovers.js";
import type { StackState } from "../../src/engine/backend/state.js";
import { emptyState } from "../../src/records/prior-state.js";
import { CapstanError } from "../../src/api/error.js";
import type { InfrastructureProvider, Observed } from "../../src/provider/port.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { scratchFolder } from "../support/scratch.js";
import { minuteMs, noConsent, nowMs, recorded, resource } from "../sweep/world.js";

const none: StackState = { ...emptyState, foreign: [] };

describe("a look for leftovers", () => {
  const scratch = scratchFolder();
  let states: Record<string, (() => StackState)[]>;
  let reads: string[];
  let listed: (() => readonly Observed[]) | undefined;
  let clusterProvider: string;

  beforeEach(() => {
    states = {};
    reads = [];
    listed = () => [resource()];
    clusterProvider = "toy";
  });

  /** Of a cluster that has ended. */
  const note = (clusterUid = "uid-1", stack = "default.prod") => {
    const registry = ClusterRegistry.open(scratch.path);
    registry.note({
      clusterUid,
      cluster: stack.replace(".", "/"),
      stack,
      provider: clusterProvider,
      backend: "own",
      notedAtMs: 1,
    });
    registry.noteEnd(clusterUid, 2);
    registry.close();
  };

  const options = (stop = new AbortController().signal): LeftoverOptions => {
    const list = listed;
    const toy = {
      name: "toy",
      hostKind: "LocalHost",
      ...(list !== undefined && {
        owned: async () => {
          reads.push("listing");
          return list();
        },
      }),
    } as unknown as InfrastructureProvider;
    return {
      engine: {
        stacks: { list: async () => Object.keys(states) },
        readState: async (stack) => {
          reads.push(stack);
          const answers = states[stack] ?? [];
          const answer = answers.length > 1 ? answers.shift() : answers[0];
          return answer?.() ?? none;
        },
      },
      stateDir: scratch.path,
      backend: "own",
      providers: [toy],
      graceMs: 60 * minuteMs,
      consent: noConsent,
      context: { clock: new FakeClock(nowMs), signal: stop, assertEngineAlive: () => {} },
    };
  };

  /** A state that records hosts by id and nothing else: enough for whoever looks for ids. */
  const recording =
    (...ids: string[]) =>
    (): StackState => ({ ...none, resources: ids.map((id) => recorded(id)) });

  /** A state of a cluster with one host, in the cloud of an account. */
  const inCloud =
    (account: string, clusterUid = "uid-1", name = "default/prod") =>
    (): StackState => {
      const target = { cluster: name, provider: "toy", objects: [], machines: [], nodes: [] };
      // It has planned web-0, and wants it no more.
      const spent = { web: 0 };
      const transaction = { number: 1, clusterUid, spent, target, cloud: { account } };
      return { ...none, transaction, revision: { number: 1, target } } as unknown as StackState;
    };
  /** The same look from an account. */
  const from = (account: string): LeftoverOptions => {
    const looking = options();
    const [toy] = looking.providers;
    const telling = { ...toy, identity: () => Promise.resolve({ account }) };
    return { ...looking, providers: [telling as InfrastructureProvider] };
  };

  it("is refused in a cloud in which nothing is that is recorded, before anything is listed", async () => {
    states = { "default.prod": [inCloud("1")] };
    const refusal = /what clusters on toy own .*account 1 is recorded, and 2 answered/;
    await assert.rejects(findLeftovers(from("2")), failsWith("WRONG_CLOUD", refusal));
    assert.deepEqual(reads, ["default.prod"]);
    assert.deepEqual(await decided(from("1")), [
      "sweep: default.prod neither records nor wants it",
    ]);
  });

  it("leaves clusters of another cloud alone, and says that it did not see them", async () => {
    states = {
      "default.prod": [inCloud("1")],
      "default.other": [inCloud("2", "uid-2", "default/other")],
    };
    listed = () => [resource(), resource({ uid: "uid-2", cluster: "default/other" })];
    const { items, notListed } = await findLeftovers(from("1"));
    assert.deepEqual(
      items.map(({ kind }) => kind),
      ["sweep", "busy"],
    );
    const reason = "default/other is in account 2, and another cloud answered";
    assert.deepEqual(notListed, [{ provider: "toy", kind: "failed", reason }]);
  });

  /** The look of account 1, with a cluster in account 2 whose own credentials lead there. */
  const reachingBoth = (owned: readonly Observed[]) => {
    const looking = from("1");
    const [toy] = looking.providers;
    const identity = () => Promise.resolve({ account: "2" });
    const bound = { ...toy, identity, owned: async () => owned };
    const reaching = { ...toy, forCluster: () => bound } as unknown as InfrastructureProvider;
    const own = inCloud("2");
    const object = {
      apiVersion: "cluster.k8s.io/v1alpha1",
      kind: "Cluster",
      spec: { providerSpec: { value: {} } },
    };
    const withCluster = (): StackState => {
      const state = own();
      (state.transaction!.target.objects as unknown[]).push(object);
      return state;
    };
    states = { "default.prod": [withCluster] };
    return { bound, looking: { ...looking, providers: [reaching] } };
  };

  it("finds what is left in a cloud that only the credentials of a Cluster reach, by these credentials", async () => {
    note("uid-2", "default.gone");
    listed = () => [];
    const orphan = resource({ id: "h-2", uid: "uid-2", cluster: "default/gone" });
    const { bound, looking } = reachingBoth([orphan]);
    const look = await findLeftovers(looking);
    const [item] = look.items.filter(({ kind }) => kind === "sweep");
    assert.equal(item?.resource.id, "h-2");
    assert.equal(look.seen.listings[item?.listing ?? -1]?.by, bound);
    assert.deepEqual(look.notListed, []);
  });

  it("leaves alone what bears a cluster's marks in another cloud than its own, although both answer", async () => {
    assert.deepEqual(await decided(reachingBoth([]).looking), [
      "busy: default/prod is in account 2, and another cloud answered",
    ]);
  });

  const decided = async (from = options()) =>
    (await findLeftovers(from)).items.map(({ kind, reason }) => `${kind}: ${reason}`);

  it("reads again, after the listing, the stacks of clusters with leftovers", async () => {
    note();
    states = { "default.prod": [() => none], "default.other": [() => none] };
    assert.deepEqual(await decided(), ["sweep: its cluster has ended"]);
    assert.deepEqual(reads.slice(0, 2).sort(), ["default.other", "default.prod"]);
    assert.deepEqual(reads.slice(2), ["listing", "default.prod"]);
  });

  it("does not take for a leftover what was recorded while it looked", async () => {
    note();
    states = { "default.prod": [() => none, recording("h-1")] };
    assert.deepEqual(await decided(), ["wanted: default.prod records it"]);
  });

  it("does not take for a leftover what was recorded when it began to look", async () => {
    note();
    states = { "default.prod": [recording("h-1"), () => none] };
    const from = options();
    const first = await findLeftovers(from);
    const about = { clusterUids: new Set(["uid-1"]), locks: "mine" } as const;
    const second = await findAgain(first, from, about);
    assert.deepEqual(
      second.items.map(({ kind }) => kind),
      ["wanted"],
    );
  });

  it("sees a stack that came into being while it looked", async () => {
    note();
    const from = options();
    const first = await findLeftovers(from);
    assert.deepEqual(
      first.items.map(({ kind }) => kind),
      ["sweep"],
    );
    states = { "default.prod": [recording("h-1")] };
    const about = { clusterUids: new Set(["uid-1"]), locks: "mine" } as const;
    const { items } = await findAgain(first, from, about);
    assert.deepEqual(
      items.map(({ kind }) => kind),
      ["wanted"],
    );
  });

  it("knows nothing while one state cannot be read, and says which", async () => {
    note();
    states = {
      "default.prod": [() => none],
      "default.bad": [
        () => {
          throw new CapstanError({ code: "BAD_STATE", source: "engine", message: "it is damaged" });
        },
      ],
    };
    const { items, unreadable } = await findLeftovers(options());
    assert.deepEqual(
      items.map(({ kind }) => kind),
      ["unknown"],
    );
    assert.deepEqual(
      unreadable.map(({ stack, reason }) => `${stack}: ${reason}`),
      ["default.bad: it is damaged"],
    );
  });

  it("asks only the providers that clusters are on", async () => {
    assert.deepEqual(await decided(), []);
    assert.deepEqual(reads, []);
  });

  const missing = [
    { name: "that cannot list them", provider: "toy", kind: "unable", reason: /cannot list what/ },
    { name: "that is not there", provider: "moon", kind: "unable", reason: /no such provider/ },
    { name: "that does not answer", provider: "toy", kind: "failed", reason: /the line is cut/ },
  ];
  for (const { name, provider, kind, reason } of missing) {
    it(`tells of a provider ${name}`, async () => {
      clusterProvider = provider;
      note();
      listed =
        kind === "failed"
          ? () => {
              throw new Error("the line is cut");
            }
          : undefined;
      const { items, notListed } = await findLeftovers(options());
      assert.deepEqual(items, []);
      assert.deepEqual(
        notListed.map((one) => [one.provider, one.kind]),
        [[provider, kind]],
      );
      assert.match(notListed[0]?.reason ?? "", reason);
    });
  }

  it("ends when it is interrupted, and does not call that an unreadable state", async () => {
    note();
    const stop = new AbortController();
    states = {
      "default.prod": [
        () => {
          stop.abort(new Error("interrupted"));
          throw new CapstanError({ code: "BAD_STATE", source: "engine", message: "killed" });
        },
      ],
    };
    await assert.rejects(findLeftovers(options(stop.signal)), /interrupted/);
  });
});
