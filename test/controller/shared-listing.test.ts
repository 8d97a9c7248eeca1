import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { ClusterState } from "../../src/controller/cluster-state.js";
import { pollDrift } from "../../src/controller/poll-drift.js";
import { observedDigestOf, SharedListing } from "../../src/controller/shared-listing.js";
import { emptyState } from "../../src/records/prior-state.js";
import type { ClusterView } from "../../src/source/cluster-view.js";
import { expectDefined } from "../../src/api/error.js";
import type { InfrastructureProvider, Observed } from "../../src/provider/port.js";
import { FakeClock } from "../support/fake-clock.js";
import { localProvider } from "../support/manifests.js";

function host(id: string, cluster: string, about: Partial<Observed> = {}): Observed {
  const who = { kind: "LocalHost", name: id, cluster, clusterUid: `uid-${cluster}`, token: id };
  return { id, who, phase: "ready", spec: {}, status: {}, ...about };
}

describe("SharedListing", () => {
  let clock: FakeClock;
  let world: Observed[];
  let listings: number;
  let answer: () => Promise<readonly Observed[]>;
  let listing: SharedListing;
  const stop = new AbortController();

  beforeEach(() => {
    clock = new FakeClock(0, "manual");
    world = [host("h1", "default/a"), host("h2", "default/b")];
    listings = 0;
    answer = () => Promise.resolve([...world]);
    const owned = () => {
      listings += 1;
      return answer();
    };
    const provider = Object.assign(Object.create(localProvider()) as InfrastructureProvider, {
      owned,
    });
    const context = { clock, signal: stop.signal, assertEngineAlive: () => {} };
    listing = new SharedListing(provider, context);
  });

  const context = () => ({ clock, signal: stop.signal, assertEngineAlive: () => {} });
  async function pass(ms: number): Promise<void> {
    await turn();
    clock.advance(ms);
    await turn();
  }

  it("serves all who ask at the same time with one listing, each with its own", async () => {
    const asked = ["default/a", "default/b", "default/c"].map((cluster) =>
      listing.provider.inventory(context(), { cluster }),
    );
    await pass(0);
    const ids = (await Promise.all(asked)).map((found) => found.map(({ id }) => id));
    assert.deepEqual(ids, [["h1"], ["h2"], []]);
    assert.equal(listings, 1);
  });

  it("leaves out another cluster of the same name", async () => {
    const asked = listing.provider.inventory(context(), {
      cluster: "default/a",
      clusterUid: "old",
    });
    await pass(0);
    assert.deepEqual(await asked, []);
  });

  it("never serves who asks with a listing that was begun before", async () => {
    let finish: (all: readonly Observed[]) => void = () => {};
    answer = () => new Promise((resolve) => (finish = resolve));
    const first = listing.provider.inventory(context(), { cluster: "default/a" });
    await pass(0);
    const old = finish;
    world.push(host("h3", "default/a"));
    const second = listing.provider.inventory(context(), { cluster: "default/a" });
    answer = () => Promise.resolve([...world]);
    old([host("h1", "default/a")]);
    await pass(100);
    assert.equal((await first).length, 1);
    assert.equal((await second).length, 2);
    assert.equal(listings, 2);
  });

  it("tells everybody who asked when a listing fails, and asks again for the next", async () => {
    answer = () => Promise.reject(new Error("throttled"));
    const asked = ["default/a", "default/b"].map((cluster) =>
      listing.provider.inventory(context(), { cluster }),
    );
    const failed = Promise.all(asked.map((one) => assert.rejects(one, /throttled/)));
    await pass(0);
    await failed;
    answer = () => Promise.resolve(world);
    const again = listing.provider.inventory(context(), { cluster: "default/a" });
    await pass(100);
    assert.equal((await again).length, 1);
  });

  it("remains the provider that it is, all else", () => {
    const origin = localProvider();
    assert.equal(listing.provider.name, origin.name);
    assert.equal(listing.provider.hostKind, origin.hostKind);
  });

  describe("and its patrol", () => {
    let memories: Map<string, ClusterState>;
    let changed: string[];
    let failures: number;
    let done: Promise<void>;
    let leave: AbortController;

    beforeEach(() => {
      memories = new Map();
      changed = [];
      failures = 0;
      leave = new AbortController();
    });
    afterEach(async () => {
      leave.abort(new Error("over"));
      await done;
    });

    function settle(key: string): void {
      const own = world.filter(({ who }) => who.cluster === key);
      const target = { provider: listing.provider.name } as never;
      const transaction = { target } as never;
      const cluster = memories.get(key) ?? new ClusterState();
      memories.set(key, cluster);
      const view: ClusterView = {
        phase: "Running",
        records: { ...emptyState, transaction },
        isSettled: true,
        nowMs: 0,
        clusterUid: `uid-${key}`,
      };
      cluster.settled(view, {
        digest: "d",
        observedDigest: observedDigestOf(own, localProvider()),
      });
    }

    function begin(): void {
      done = pollDrift(
        {
          listing,
          clock,
          periodMs: 10_000,
          random: () => 0.5,
          remembered: () => memories,
          onChange: (key) => changed.push(key),
          onFailure: () => (failures += 1),
        },
        leave.signal,
      );
    }

    async function period(): Promise<void> {
      await pass(10_000);
      await pass(0);
      await pass(100);
    }

    it("looks once for all of them in a period, and calls nobody while all is as it was", async () => {
      for (const key of ["default/a", "default/b"]) settle(key);
      begin();
      for (let times = 0; times < 10; times += 1) await period();
      assert.equal(listings, 10);
      assert.deepEqual(changed, []);
    });

    it("calls those alone that look otherwise", async () => {
      for (const key of ["default/a", "default/b"]) settle(key);
      begin();
      world = world.map((one) => (one.id === "h2" ? { ...one, phase: "gone" as const } : one));
      await period();
      assert.deepEqual(changed, ["default/b"]);
    });

    it("does not list for nobody", async () => {
      memories.set("default/a", new ClusterState());
      begin();
      await period();
      assert.equal(listings, 0);
    });

    it("takes a listing that fails for no news, tells, and goes on", async () => {
      settle("default/a");
      answer = () => Promise.reject(new Error("throttled"));
      begin();
      await period();
      assert.deepEqual([changed.length, failures], [0, 1]);
      answer = () => Promise.resolve([]);
      await period();
      assert.deepEqual([changed, failures], [["default/a"], 1]);
    });

    it("leaves alone who was worked on while the listing was made", async () => {
      settle("default/a");
      let finish: (all: readonly Observed[]) => void = () => {};
      answer = () => new Promise((resolve) => (finish = resolve));
      begin();
      await period();
      settle("default/a");
      finish([]);
      await pass(0);
      assert.deepEqual(changed, []);
    });
  });
});

describe("appearanceOf", () => {
  const all = [host("h1", "a"), host("h2", "a")];
  const handler = expectDefined(localProvider().handlers.get("LocalHost"), "a handler");
  const handlers = new Map([["LocalHost", { ...handler, unobservable: ["kubelet"] }]]);
  const digest = (observed: readonly Observed[]) => observedDigestOf(observed, { handlers });

  it("depends neither on what the cloud cannot show nor on its words for a failure", () => {
    const known = host("h2", "a", { spec: { kubelet: "1.35.0" } });
    const failure = { code: "CLOUD_FAILED", reason: "request 17 failed" } as const;
    const same = digest([known]);
    assert.equal(digest([host("h2", "a", { spec: {} })]), same);
    assert.equal(digest([{ ...known, failure }]), same);
  });

  it("does not depend on order, nor on what is gone", () => {
    const same = digest(all);
    assert.equal(digest([...all].reverse()), same);
    assert.equal(digest([...all, host("h3", "a", { phase: "gone" })]), same);
  });

  for (const { name, other } of [
    { name: "a host less", other: all.slice(1) },
    { name: "a host that fails", other: [all[0], host("h2", "a", { phase: "failed" })] },
    { name: "a host that was changed", other: [all[0], host("h2", "a", { spec: { size: "x" } })] },
  ]) {
    it(`is another with ${name}`, () => assert.notEqual(digest(other as Observed[]), digest(all)));
  }
});
