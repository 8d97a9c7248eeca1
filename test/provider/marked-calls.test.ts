import assert from "node:assert/strict";
import {
  type Found,
  type Identity,
  markedCalls,
  type MarkedKind,
  type MarkQuery,
} from "../../src/provider/index.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";

function whoNamed(name: string, more: Partial<Identity> = {}): Identity {
  const who = { cluster: "default/demo", clusterUid: "uid", kind: "AcmeHost", name };
  return { ...who, token: `token-${name}`, ...more };
}

/** Resources with tags, three to a page, and every question that was asked. */
class TaggedCloud implements MarkedKind {
  readonly mostValues = 2;
  readonly shownWithinMs = 1_000;
  readonly queries: MarkQuery[] = [];
  readonly resources: Found[] = [];
  readonly hidden = new Set<string>();
  readonly clock = new FakeClock();
  readonly ctx = {
    clock: { now: () => this.clock.now(), sleep: async () => this.hidden.clear() },
    signal: new AbortController().signal,
    assertEngineAlive: () => {},
  };
  readonly calls = markedCalls(this);

  add(id: string, who?: Identity, phase: Found["phase"] = "ready"): void {
    this.resources.push({ id, phase, spec: {}, status: {}, ...(who && { who }) });
  }

  async page(_ctx: unknown, query: MarkQuery, next = "0") {
    this.queries.push(query);
    const asked = Object.entries(query);
    const found = this.resources.filter(
      ({ id, who }) =>
        !this.hidden.has(id) &&
        asked.every(([key, values]) => values.includes(key === "id" ? id : String(who?.[key]))),
    );
    const from = Number(next);
    const resources = found.slice(from, from + 3);
    return { resources, next: from + 3 < found.length ? String(from + 3) : "" };
  }

  async tag(_ctx: unknown, id: string, who: Identity): Promise<void> {
    this.replace(id, (one) => ({ ...one, who }));
  }

  async untag(_ctx: unknown, id: string): Promise<void> {
    this.replace(id, ({ who: _who, ...bare }) => bare);
  }

  private replace(id: string, change: (one: Found) => Found): void {
    const index = this.resources.findIndex((one) => one.id === id);
    const current = this.resources[index];
    if (current !== undefined) this.resources[index] = change(current);
  }
}

describe("calls on what bears its marks as tags", () => {
  let cloud: TaggedCloud;
  beforeEach(() => {
    cloud = new TaggedCloud();
    for (const name of ["a", "b", "c", "d", "e"]) cloud.add(`i-${name}`, whoNamed(name));
  });

  const listed = async (scope?: { cluster: string; clusterUid?: string }) => {
    const pages: string[][] = [];
    const listing = cloud.calls.list(cloud.ctx, scope);
    assert.ok(Symbol.asyncIterator in listing);
    for await (const page of listing) pages.push(page.map(({ id }) => id));
    return pages;
  };

  it("list page by page what bears marks, of everybody, of a cluster, or of one life of it", async () => {
    cloud.add("i-bare");
    cloud.add("i-old", whoNamed("a", { clusterUid: "before", token: "old" }));
    cloud.add("i-other", whoNamed("a", { cluster: "else/demo", token: "other" }));
    const ours = ["i-a", "i-b", "i-c", "i-d", "i-e"];
    assert.deepEqual((await listed()).flat(), [...ours, "i-old", "i-other"]);
    const life = { cluster: "default/demo", clusterUid: "uid" };
    assert.deepEqual(await listed(life), [ours.slice(0, 3), ours.slice(3)]);
    assert.deepEqual((await listed({ cluster: "default/demo" })).flat(), [...ours, "i-old"]);
  });

  it("locate many in their order, a few values at a time", async () => {
    cloud.add("i-gone", whoNamed("gone"), "gone");
    const wanted = [
      { who: whoNamed("e"), id: "i-e" },
      { who: whoNamed("gone") },
      { who: whoNamed("a"), id: "i-a" },
      { who: whoNamed("b") },
      { who: whoNamed("d"), id: "i-d" },
    ];
    const found = await cloud.calls.locateMany(cloud.ctx, wanted);
    assert.deepEqual(
      found.map((one) => (one.found === "one" ? one.resource.id : one.found)),
      ["i-e", "none", "i-a", "i-b", "i-d"],
    );
    assert.deepEqual(cloud.queries, [
      { id: ["i-e", "i-a"] },
      { id: ["i-d"] },
      { token: ["token-gone", "token-b"] },
    ]);
  });

  it("look again for an id that is not shown yet, and believe the second answer", async () => {
    cloud.hidden.add("i-a");
    const late = await cloud.calls.locate(cloud.ctx, whoNamed("a"), "i-a");
    assert.equal(late.found, "one");
    const missing = await cloud.calls.locate(cloud.ctx, whoNamed("x"), "i-x");
    assert.deepEqual(missing, { found: "none" });
    assert.deepEqual(cloud.queries, [
      { id: ["i-a"] },
      { id: ["i-a"] },
      { id: ["i-x"] },
      { id: ["i-x"] },
    ]);
  });

  it("tell of several with the same marks, and show by id what has gone and whose it is", async () => {
    cloud.add("i-twin", whoNamed("a"));
    const twins = await cloud.calls.locate(cloud.ctx, whoNamed("a"));
    assert.deepEqual(twins, { found: "many", ids: ["i-a", "i-twin"] });
    cloud.add("i-gone", whoNamed("gone"), "gone");
    const gone = await cloud.calls.locate(cloud.ctx, whoNamed("x"), "i-gone");
    assert.ok(gone.found === "one" && gone.resource.phase === "gone");
    assert.equal(gone.resource.who.name, "gone");
  });

  it("let go, find what nobody has, mark it, and leave the marks of others on", async () => {
    const { calls, ctx } = cloud;
    const marked = await calls.find(ctx, "i-a");
    assert.ok(marked?.who !== undefined);
    await calls.disown(ctx, { ...marked, who: marked.who });
    assert.equal((await calls.locate(ctx, whoNamed("a"), "i-a")).found, "none");
    const bare = await calls.find(ctx, "i-a");
    assert.ok(bare !== undefined && bare.who === undefined);
    for (let times = 0; times < 2; times += 1) await calls.mark(ctx, bare, whoNamed("new"));
    assert.equal((await calls.locate(ctx, whoNamed("new"))).found, "one");
    await assert.rejects(
      calls.mark(ctx, bare, whoNamed("late")),
      failsWith("NOT_OURS", /i-a.*marks of default\/demo new/),
    );
  });
});
