import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { verifyInventory } from "../../src/engine/run/inventory.js";
import { observe } from "../../src/engine/run/observe.js";
import { callContext } from "../../src/engine/run/handler-session.js";
import { nodeKey } from "../../src/graph/graph.js";
import type { PriorState, RecordedResource } from "../../src/records/prior-state.js";
import type { TransactionRecord } from "../../src/records/transaction.js";
import type {
  CloudIdentity,
  InfrastructureProvider,
  Observed,
  Presence,
} from "../../src/provider/port.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { resource } from "../sweep/world.js";

const kind = "LocalHost";
const scope = { cluster: "default/prod", clusterUid: "uid-1" };

function recorded(name: string, more: Partial<RecordedResource> = {}): RecordedResource {
  return {
    urn: name,
    key: nodeKey(kind, name),
    kind,
    name,
    type: "resource",
    id: name,
    inputs: { who: { ...resource({ id: name, name }).who }, spec: {} },
    secretInputs: [],
    outputs: { spec: {} },
    dependsOn: [],
    unfinished: false,
    deleting: false,
    ...more,
  };
}

describe("a look at the cloud", () => {
  const clock = new FakeClock();
  const stop = new AbortController().signal;
  const names = Array.from({ length: 40 }, (_, index) => `host-${index}`);
  const prior: PriorState = { resources: names.map((name) => recorded(name)), pending: [] };
  let underWay: number;
  let most: number;
  let asked: string[];

  beforeEach(() => {
    [underWay, most, asked] = [0, 0, []];
  });

  const providerOf = (listed: readonly Observed[], answer: (name: string) => Presence) => {
    const locate = async (_ctx: unknown, { name }: { readonly name: string }) => {
      asked.push(name);
      most = Math.max(most, (underWay += 1));
      await setImmediate();
      underWay -= 1;
      return answer(name);
    };
    return {
      name: "toy",
      hostKind: kind,
      timing: { listingLagMs: 100, longestCallMs: 100 },
      handlers: new Map([[kind, { locate }]]),
      inventory: async () => listed,
    } as unknown as InfrastructureProvider;
  };
  const lookAt = (provider: InfrastructureProvider) =>
    observe(provider, callContext(clock, stop), scope, prior);

  it("asks once for all of a kind that can tell of many", async () => {
    const provider = providerOf([], () => ({ found: "none" }));
    const asks: number[] = [];
    const locateMany = async (_ctx: unknown, wanted: readonly unknown[]): Promise<Presence[]> => {
      asks.push(wanted.length);
      return wanted.map(() => ({ found: "none" }));
    };
    const handlers = new Map([[kind, { ...provider.handlers.get(kind), locateMany }]]);
    const many = { ...provider, handlers } as unknown as InfrastructureProvider;
    const { observedResources } = await lookAt(many);
    assert.deepEqual([asks, asked, observedResources.size], [[40], [], 40]);
    const short = { ...provider, handlers: new Map([[kind, { locateMany: async () => [] }]]) };
    await assert.rejects(
      lookAt(short as unknown as InfrastructureProvider),
      failsWith("UNKNOWN_PRESENCE"),
    );
  });

  it("asks for several that no listing shows at a time, and for no more than a few", async () => {
    const { observedResources } = await lookAt(providerOf([], () => ({ found: "none" })));
    assert.deepEqual(asked.toSorted(), names.toSorted());
    assert.deepEqual(
      [...observedResources.keys()],
      prior.resources.map(({ key }) => key),
    );
    assert.ok([...observedResources.values()].every((one) => one === "gone"));
    assert.ok(most > 1 && most <= 8, `${most} at a time`);
  });

  it("asks no further once the cloud cannot say", async () => {
    const unknown = providerOf([], () => ({ found: "unknown", reason: "it is down" }));
    await assert.rejects(lookAt(unknown), failsWith("UNKNOWN_PRESENCE", /it is down$/));
    await setImmediate();
    assert.ok(asked.length <= 8, `${asked.length} asked`);
  });

  it("takes what is condemned neither for recorded nor for nobody's", async () => {
    const old = recorded("old", { deleting: true });
    const shown = [resource({ id: "old", name: "old" })];
    const state = { resources: [old], pending: [] };
    const context = callContext(clock, stop);
    const found = await observe(
      providerOf(shown, () => ({ found: "none" })),
      context,
      scope,
      state,
    );
    assert.deepEqual(
      [found.observedResources.size, found.unrecorded.map(({ id }) => id)],
      [0, ["old"]],
    );
  });

  describe("at a cloud that tells which one it is", () => {
    const cloud = { account: "1", region: "north" };
    const transaction = { cloud, target: { nodes: [] } } as unknown as TransactionRecord;
    const known = { ...prior, transaction };
    let listed: number;
    /** One that gives these answers, the last one for ever. */
    const telling = (...answers: CloudIdentity[]): InfrastructureProvider => ({
      ...providerOf([], () => ({ found: "none" })),
      identity: () => Promise.resolve((answers.length > 1 ? answers.shift() : answers[0]) ?? {}),
      inventory: async () => {
        listed += 1;
        return [];
      },
    });
    const lookFrom = (provider: InfrastructureProvider, state: PriorState = known) =>
      observe(provider, callContext(clock, stop), scope, state);

    beforeEach(() => {
      listed = 0;
    });

    it("asks nothing of another one than the recorded one, and names what differs", async () => {
      await assert.rejects(
        lookFrom(telling({ account: "1", region: "south" })),
        failsWith("WRONG_CLOUD", /: region north is recorded, and south answered$/),
      );
      const silent = providerOf([], () => ({ found: "none" }));
      const refusal = /: account 1 is recorded, and none answered; region north is recorded/;
      await assert.rejects(lookFrom(silent), failsWith("WRONG_CLOUD", refusal));
      assert.deepEqual([listed, asked], [0, []]);
    });

    it("says which one it has seen, also where more is told than was recorded", async () => {
      const more = { ...cloud, endpoint: "north.example.com" };
      assert.deepEqual((await lookFrom(telling(more))).cloud, more);
      assert.deepEqual((await lookFrom(telling(cloud), prior)).cloud, cloud);
    });

    it("finds nothing gone when another one answers in the end", async () => {
      const other = { account: "2", region: "north" };
      for (const state of [known, prior]) {
        await assert.rejects(lookFrom(telling(cloud, other), state), failsWith("WRONG_CLOUD"));
      }
      assert.equal(listed, 2);
    });
  });

  it("counts as alive what is there, also with other content", async () => {
    const drifted = { ...resource({ id: "host-0", name: "host-0" }), spec: { size: "large" } };
    const same = { ...resource({ id: "host-1", name: "host-1" }), spec: {} };
    const stranger = resource({ id: "other", name: "other" });
    const provider = providerOf([drifted, same, stranger], () => ({ found: "none" }));
    const {
      alive,
      recorded: count,
      differences,
    } = await verifyInventory(
      { cluster: scope.cluster, transaction: { clusterUid: scope.clusterUid } },
      { ...prior, resources: prior.resources.slice(0, 3) },
      { provider, clock, stop },
    );
    assert.deepEqual([count, alive], [3, 3]);
    assert.deepEqual(differences, [
      "LocalHost/host-0 (host-0) is not what is recorded",
      "LocalHost/host-2 (host-2) is gone",
      "LocalHost/other (other) is left, in no record",
    ]);
  });
});
