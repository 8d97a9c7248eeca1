import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { CapstanError } from "../../src/api/error.js";
import { removeInWaves } from "../../src/engine/sweep/removal.js";
import type { InfrastructureProvider, Observed } from "../../src/provider/port.js";
import type { SweepItem } from "../../src/sweep/decide.js";
import { FakeClock } from "../support/fake-clock.js";
import { MemoryHandler } from "../support/memory-handler.js";
import { resource } from "../sweep/world.js";

const kind = "LocalHost";
const timeoutMs = 60_000;
const inUse = new CapstanError({
  code: "CLOUD_FAILED",
  source: "cloud",
  message: "it is in use",
  retryable: true,
});
const throttled = new CapstanError({
  code: "CLOUD_THROTTLED",
  source: "cloud",
  message: "slow down",
  retryable: true,
});
const lost = new CapstanError({
  code: "CLOUD_FAILED",
  source: "cloud",
  message: "no answer",
  ambiguous: true,
});

/** Refuses to remove a resource while another one lives; a removal takes a moment. */
class DependentHandler extends MemoryHandler {
  readonly needs = new Map<string, string>();
  readonly refused: string[] = [];

  override async remove(...[ctx, current]: Parameters<MemoryHandler["remove"]>): Promise<void> {
    const dependent = this.resources.get(this.needs.get(current.id) ?? "");
    if (dependent !== undefined && dependent.phase !== "gone") {
      this.refused.push(current.id);
      throw inUse;
    }
    await setImmediate();
    return super.remove(ctx, current);
  }
}

describe("the removal of leftovers", () => {
  let handler: DependentHandler;
  let clock: FakeClock;
  let deleted: string[];
  let stop: AbortController;

  beforeEach(() => {
    handler = new DependentHandler();
    clock = new FakeClock();
    deleted = [];
    stop = new AbortController();
  });

  const leftover = (id: string): SweepItem => {
    const observed = resource({ id, name: id });
    handler.add(observed);
    return { kind: "sweep", provider: "toy", listing: 0, resource: observed, reason: "" };
  };

  const remove = async (
    items: readonly SweepItem[],
    kinds = [kind],
    assertEngineAlive: () => void = () => {},
  ) => {
    const handlers = new Map(kinds.map((one) => [one, handler]));
    const left = await removeInWaves(items, {
      listedBy: [{ name: "toy", handlers } as unknown as InfrastructureProvider],
      context: { clock, signal: stop.signal, assertEngineAlive },
      timeoutMs,
      deleted: (item) => deleted.push(item.resource.id),
    });
    return left.map(({ item, reason }) => `${item.resource.id}: ${reason}`);
  };
  const removals = () => handler.calls.filter((call) => call === "remove").length;

  it("ends before the next deletion once the locks of its caller are another command's", async () => {
    const items = [leftover("a"), leftover("b"), { ...leftover("c"), isSecret: true as const }];
    const taken = new CapstanError({ code: "LOCKED", source: "user", message: "place taken" });
    const refuse = () => {
      throw taken;
    };
    await assert.rejects(remove(items, [kind], refuse), taken);
    assert.equal(removals(), 0);
    assert.deepEqual(deleted, []);
  });

  it("has a secret deleted by its store, which knows whose it is, and its host left alone", async () => {
    const item: SweepItem = { ...leftover("host"), isSecret: true };
    const asked: unknown[][] = [];
    const secrets = {
      delete: async (_ctx: unknown, ...args: unknown[]) => void asked.push(args),
    };
    const handlers = new Map([[kind, handler]]);
    const provider = { name: "toy", handlers, userData: { secrets } };
    await removeInWaves([item], {
      listedBy: [provider as unknown as InfrastructureProvider],
      context: { clock, signal: stop.signal, assertEngineAlive: () => {} },
      timeoutMs,
      deleted: ({ resource: { id } }) => deleted.push(id),
    });
    assert.deepEqual(asked, [["host", item.resource.who]]);
    assert.deepEqual([deleted, removals()], [["host"], 0]);
  });

  it("takes the newest first, and what it depended on in the waves after it", async () => {
    const items = ["network", "subnet", "host"].map(leftover);
    handler.needs.set("network", "subnet").set("subnet", "host");
    assert.deepEqual(await remove(items), []);
    assert.deepEqual(deleted, ["host", "subnet", "network"]);
    assert.deepEqual(handler.refused, ["subnet", "network", "network"], "three waves");
  });

  it("stops when nothing goes any more, and names each blocker", async () => {
    const items = ["network", "host"].map(leftover);
    handler.add(resource({ id: "alien", name: "alien" }));
    handler.needs.set("network", "alien");
    const begin = clock.now();
    assert.deepEqual(await remove(items), ["network: it is in use"]);
    assert.deepEqual(deleted, ["host"]);
    assert.ok(clock.now() - begin < 10_000, "it does not wait for the whole timeout");
  });

  it("waits out a cloud that is slow to see what is gone", async () => {
    const items = [leftover("network")];
    handler.fail({ call: "remove", error: inUse });
    handler.fail({ call: "remove", error: inUse });
    assert.deepEqual(await remove(items), []);
  });

  it("goes on through throttling and lost answers for as long as it may", async () => {
    const items = [leftover("host")];
    for (let turn = 0; turn < 20; turn += 1) handler.fail({ call: "remove", error: throttled });
    handler.fail({ call: "remove", error: lost, afterEffect: true });
    const begin = clock.now();
    assert.deepEqual(await remove(items), []);
    assert.ok(clock.now() - begin > 5_000);
  });

  it("calls what is gone already deleted, and asks for nothing", async () => {
    const items = [leftover("a"), leftover("b")];
    handler.add({ ...handler.resources.get("a")!, phase: "gone" });
    handler.resources.delete("b");
    assert.deepEqual(await remove(items), []);
    assert.equal(removals(), 0);
  });

  const unrecorded: { name: string; change: Partial<Observed["who"]> }[] = [
    { name: "of another cluster", change: { cluster: "default/other" } },
    { name: "of another life", change: { clusterUid: "uid-2" } },
    { name: "with another token", change: { token: "another" } },
  ];
  for (const { name, change } of unrecorded) {
    it(`law 5: never touches what carries the marks ${name} by now`, async () => {
      const items = [leftover("host")];
      const found = handler.resources.get("host")!;
      handler.add({ ...found, who: { ...found.who, ...change } as Observed["who"] });
      const [left = ""] = await remove(items);
      assert.match(left, /^host: cannot delete LocalHost host: host is marked as /);
      assert.equal(removals(), 0);
    });
  }

  const unclear = [
    { presence: { found: "unknown", reason: "no answer" } as const, want: /no answer$/ },
    { presence: { found: "many", ids: ["a", "b"] } as const, want: /several .+ \(a, b\)$/ },
  ];
  for (const { presence, want } of unclear) {
    it(`law 6: never touches what is ${presence.found}`, async () => {
      const items = [leftover("host")];
      for (let turn = 0; turn < 99; turn += 1) handler.answers.push(presence);
      const [left = ""] = await remove(items);
      assert.match(left, want);
      assert.equal(removals(), 0);
    });
  }

  it("does not answer before a resource is gone, nor for ever", async () => {
    const items = [leftover("host")];
    handler.remove = async () => {};
    const begin = clock.now();
    assert.deepEqual(await remove(items), [
      "host: cannot delete LocalHost host: it is still there after 60 s",
    ]);
    assert.ok(clock.now() - begin >= timeoutMs);
  });

  it("leaves what its provider does not serve", async () => {
    assert.match(
      (await remove([leftover("host")], ["Other"]))[0] ?? "",
      /does not serve LocalHost/,
    );
  });

  it("ends when it is interrupted", async () => {
    const items = ["a", "b"].map(leftover);
    stop.abort(new Error("interrupted"));
    await assert.rejects(remove(items), /interrupted/);
    assert.equal(removals(), 0);
  });
});
