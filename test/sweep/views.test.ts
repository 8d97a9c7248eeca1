import assert from "node:assert/strict";
import type { JsonObject } from "../../src/api/json.js";
import { type GraphNode, nodeKey } from "../../src/graph/graph.js";
import type { PendingOperation, PriorState } from "../../src/records/prior-state.js";
import type { RevisionRecord, TransactionRecord } from "../../src/records/transaction.js";
import { knownClusters, type NotedCluster, usedProviders } from "../../src/sweep/clusters.js";
import { type StackView, viewOf } from "../../src/sweep/stack-view.js";
import { known, recorded, resource, unreadable, view } from "./world.js";

type ReadView = Extract<StackView, { kind: "read" }>;

const hosts = ["web-0", "db-0"];

/** The part of a target that a sweep looks at: its names. */
const targetOf = (names: readonly string[]) => ({
  cluster: "default/prod",
  provider: "local",
  objects: [],
  machines: [],
  nodes: names.map((name): GraphNode => ({
    kind: "LocalHost",
    name,
    type: "resource",
    spec: {},
    dependsOn: [],
  })),
});

const transaction = (number: number, names = hosts) =>
  ({
    number,
    clusterUid: "uid-1",
    spent: {},
    target: targetOf(names),
  }) as unknown as TransactionRecord;

/** Revision 1 with two hosts, each recorded under an id of its own; nothing in flight. */
const idle: PriorState = {
  resources: hosts.map((name) => recorded(`id of ${name}`)),
  pending: [],
  transaction: transaction(1),
  revision: { number: 1, target: targetOf(hosts) } as unknown as RevisionRecord,
};

function read(state: PriorState, lockedBy?: string): ReadView {
  const shown = viewOf("default.prod", state, { hostKind: "LocalHost", lockedBy });
  assert.ok(shown.kind === "read");
  return shown;
}

const namesWanted = ({ wanted }: ReadView) =>
  [...wanted.keys()].map((key) => key.slice(key.indexOf("/") + 1)).sort();

describe("a stack as a sweep sees it", () => {
  it("knows the ids of what it takes for copies", () => {
    const copies = ["h-9"];
    const { ids } = read({ ...idle, transaction: { ...transaction(1), copies } });
    assert.deepEqual([...ids], ["id of web-0", "id of db-0", "h-9"]);
  });

  it("knows what its transaction deletes for good, so that a copy that came meanwhile is told from it", () => {
    const deletedIds = { [nodeKey("LocalHost", "old-0")]: "h-1" };
    const shown = read({ ...idle, transaction: { ...transaction(1), deletedIds } });
    const isCopy = (id: string, uid = "uid-1") =>
      shown.holds?.isCopy({ ...resource({ name: "old-0", uid }), id });
    assert.deepEqual([isCopy("h-1"), isCopy("h-2"), isCopy("h-2", "uid-2")], [false, true, false]);
  });

  it("holds its cluster, wants its target and knows every id", () => {
    const shown = read(idle);
    const { isNewer, isCopy: _isCopy, ...holds } = shown.holds ?? assert.fail("it holds one");
    assert.deepEqual(holds, { clusterUid: "uid-1", cluster: "default/prod", provider: "local" });
    const made = { name: "web-a830c4ef-1" };
    const newer = [made, { ...made, uid: "uid-2" }, {}].map((shape) => isNewer(resource(shape)));
    assert.deepEqual(newer, [true, false, false], "of its life, and not known");
    assert.deepEqual([...shown.ids].sort(), ["id of db-0", "id of web-0"]);
    assert.deepEqual(namesWanted(shown), ["db-0", "web-0"]);
    assert.equal(shown.busy, undefined);
  });

  it("wants what the revision has and what an unfinished transaction leads to, and is busy", () => {
    const shown = read({ ...idle, transaction: transaction(2, ["web-0", "web-1"]) });
    assert.deepEqual(namesWanted(shown), ["db-0", "web-0", "web-1"]);
    assert.equal(shown.busy, "transaction 2 of default.prod is not finished");
  });

  it("is busy while the first transaction has no revision", () => {
    const { revision: _, ...state } = idle;
    assert.equal(read(state).busy, "transaction 1 of default.prod is not finished");
  });

  it("is busy while somebody works on it, and says who", () => {
    assert.equal(read(idle, "it is locked by me").busy, "it is locked by me");
  });

  it("knows what is condemned and what is half made", () => {
    const more = [recorded("old", { deleting: true }), recorded("half", { unfinished: true })];
    const { ids } = read({ ...idle, resources: [...idle.resources, ...more] });
    assert.ok(ids.has("old") && ids.has("half"));
  });

  it("takes records and components for no resources of a cloud", () => {
    const others = [
      recorded("t", { kind: "Transaction" }),
      recorded("c", { kind: "Machine", type: "component" }),
    ];
    assert.equal(read({ ...idle, resources: others }).ids.size, 0);
  });

  it("wants what an interrupted operation names, by whose life it says", () => {
    const pending = (name: string, who?: JsonObject): PendingOperation => ({
      type: "creating",
      urn: name,
      key: nodeKey("LocalHost", name),
      kind: "LocalHost",
      inputs: who === undefined ? {} : { who },
    });
    const operations = [pending("other", { clusterUid: "uid-7" }), pending("own")];
    const { wanted } = read({ ...idle, pending: operations });
    assert.equal(
      wanted.get("uid-7 LocalHost/other"),
      "an interrupted operation (creating) names it",
    );
    assert.equal(wanted.get("uid-1 LocalHost/own"), "an interrupted operation (creating) names it");
    const { holds, wanted: first } = read({ resources: [], pending: operations });
    assert.equal(holds, undefined);
    assert.deepEqual([...first.keys()], ["uid-7 LocalHost/other"]);
  });
});

describe("the clusters of a backend", () => {
  const noted = (shape: Partial<NotedCluster> = {}): NotedCluster => ({
    clusterUid: "uid-1",
    cluster: "default/prod",
    stack: "default.prod",
    provider: "local",
    backend: "own",
    notedAtMs: 1,
    ...shape,
  });
  const cases = [
    { name: "those that were noted", notes: [noted()], views: [], want: [known()] },
    { name: "those that a stack holds", notes: [], views: [view()], want: [known()] },
    { name: "each once", notes: [noted()], views: [view()], want: [known()] },
    {
      name: "with each stack that may hold them",
      notes: [noted()],
      views: [view({ stack: "default.renamed" })],
      want: [known({ cluster: "default/renamed", stacks: ["default.prod", "default.renamed"] })],
    },
    {
      name: "not those of another backend",
      notes: [noted({ backend: "other" })],
      views: [view({ uid: null }), unreadable("default.x")],
      want: [],
    },
    {
      name: "those that moved away, as such",
      notes: [noted({ backend: "other" })],
      views: [view()],
      want: [known({ movedAway: true })],
    },
    {
      name: "every life of a name",
      notes: [noted({ clusterUid: "uid-2" }), noted()],
      views: [],
      want: [known(), known({ clusterUid: "uid-2" })],
    },
  ];
  for (const { name, notes, views, want } of cases) {
    it(name, () => assert.deepEqual(knownClusters(notes, "own", views), want));
  }

  it("are on the providers that notes and stacks name", () => {
    const notes = [noted({ provider: "aws" }), noted({ provider: "gcp", backend: "other" })];
    assert.deepEqual(usedProviders(notes, "own", [view(), unreadable()]), ["aws", "local"]);
  });
});
