import assert from "node:assert/strict";
import { setImmediate as turn } from "node:timers/promises";
import { ClusterState } from "../../src/controller/cluster-state.js";
import { pollDrift } from "../../src/controller/poll-drift.js";
import { observedDigestOf, SharedListing } from "../../src/controller/shared-listing.js";
import type { InfrastructureProvider, Observed } from "../../src/provider/port.js";
import type { ClusterView } from "../../src/source/cluster-view.js";
import { FakeClock } from "../support/fake-clock.js";
import { SteppedTime } from "../support/stepped-time.js";

const periodMs = 30_000;

function resourcesOf(cluster: string, spec = {}): Observed[] {
  return Array.from({ length: 7 }, (_, number): Observed => {
    const name = `r${number}`;
    const who = { cluster, clusterUid: `uid ${cluster}`, kind: "LocalHost", name, token: "" };
    return { id: `${cluster} ${name}`, who, phase: "ready", spec, status: {} };
  });
}

/** A cluster that had nothing left to do when it looked like this. */
function settled(cluster: string): ClusterState {
  const records = { transaction: { target: { provider: "cloud" } }, resources: [], pending: [] };
  const view = { records, clusterUid: `uid ${cluster}` } as unknown as ClusterView;
  const observedDigest = observedDigestOf(resourcesOf(cluster), { handlers: new Map() });
  const state = new ClusterState();
  state.settled(view, { digest: "asked", observedDigest });
  return state;
}

describe("a patrol over a thousand clusters", () => {
  const keys = Array.from({ length: 1_000 }, (_, number) => `default/c${number}`);
  const memories = new Map(keys.map((key) => [key, settled(key)]));

  /** What one period of it says, and how many listings that took. */
  const period = async (listed: () => readonly Observed[]) => {
    const clock = new FakeClock(0, "manual");
    const ended = new AbortController();
    const told: string[] = [];
    const failures: unknown[] = [];
    let listings = 0;
    const provider = {
      handlers: new Map(),
      name: "cloud",
      owned: () => {
        listings += 1;
        return Promise.resolve(listed());
      },
    } as unknown as InfrastructureProvider;
    const context = { clock, signal: ended.signal, assertEngineAlive: () => undefined };
    const walking = pollDrift(
      {
        listing: new SharedListing(provider, context),
        clock,
        periodMs,
        random: () => 0.5,
        remembered: () => memories,
        onChange: (key) => told.push(key),
        onFailure: (error) => failures.push(error),
      },
      ended.signal,
    );
    for (const ms of [periodMs, 1, 1]) {
      clock.advance(ms);
      await turn();
    }
    ended.abort();
    await walking;
    return { told, listings, failures: failures.length };
  };

  const all = keys.flatMap((key) => resourcesOf(key));

  it("takes one listing, and leaves alone what looks as it did", async () => {
    assert.deepEqual(await period(() => all), { told: [], listings: 1, failures: 0 });
  });

  it("tells of the one that looks otherwise, and of no other", async () => {
    const drifted = "default/c500";
    const others = all.filter(({ who }) => who.cluster !== drifted);
    const listed = [...others, ...resourcesOf(drifted, { size: "large" })];
    assert.deepEqual(await period(() => listed), { told: [drifted], listings: 1, failures: 0 });
  });

  it("tells of nothing when the cloud cannot be listed", async () => {
    const { told, failures } = await period(() => {
      throw new Error("the cloud does not answer");
    });
    assert.deepEqual([told, failures], [[], 1]);
  });
});

describe("a patrol over a cloud that answers slowly", () => {
  /** When looks begin in an hour, if each takes so long. */
  const begun = async (lookMs: number) => {
    let nowMs = 0;
    const time = new SteppedTime(
      () => nowMs,
      (ms) => {
        nowMs += ms;
      },
    );
    const { clock } = time;
    const over = new AbortController();
    const looks: number[] = [];
    const provider = {
      handlers: new Map(),
      name: "cloud",
      owned: async () => {
        looks.push(nowMs);
        await clock.sleep(lookMs);
        return resourcesOf("default/one");
      },
    } as unknown as InfrastructureProvider;
    const context = { clock, signal: over.signal, assertEngineAlive: () => undefined };
    const walking = pollDrift(
      {
        listing: new SharedListing(provider, context, 0),
        clock,
        periodMs,
        random: () => 0.5,
        remembered: () => new Map([["default/one", settled("default/one")]]),
        onChange: () => undefined,
        onFailure: () => undefined,
      },
      over.signal,
    );
    await time.run(clock.sleep(3_600_000));
    over.abort();
    await time.run(walking);
    return looks;
  };
  const gaps = (looks: readonly number[]) =>
    new Set(looks.slice(1).map((atMs, before) => atMs - (looks[before] ?? 0)));

  it("keeps the period where a look takes little of it", async () => {
    assert.deepEqual(gaps(await begun(1_000)), new Set([periodMs + 1_000]));
  });

  it("asks for no more than a quarter of the time", async () => {
    assert.deepEqual(gaps(await begun(45_000)), new Set([4 * 45_000]));
  });
});
