import assert from "node:assert/strict";
import { nodeKey } from "../../src/graph/graph.js";
import type { PendingOperation, PriorState, RecordedResource } from "../../src/plan/target.js";
import { knownClusters, type NotedCluster, usedProviders } from "../../src/sweep/clusters.js";
import { type StackView, viewOf } from "../../src/sweep/stack-view.js";
import { desiredFleet } from "../support/fleet.js";
import { PretendEngine } from "../support/pretend-engine.js";
import { known, unreadable, view } from "./world.js";

type ReadView = Extract<StackView, { kind: "read" }>;

const fleet = (members: readonly string[]) =>
  desiredFleet({
    cluster: {},
    machines: Object.fromEntries(members.map((name) => [name, {}])),
    sets: {},
    deployments: {},
  });

function read(state: PriorState, lockedBy?: string): ReadView {
  const shown = viewOf("default.prod", state, lockedBy);
  assert.ok(shown.kind === "read");
  return shown;
}

describe("a stack as a sweep sees it", () => {
  /** A state after an apply, with what was planned next, if anything. */
  const applied = (): PriorState => {
    const engine = new PretendEngine();
    engine.apply(engine.plan(fleet(["web", "db"])));
    return engine.prior;
  };
  const namesWanted = ({ wanted }: ReadView) =>
    [...wanted.keys()].map((key) => key.slice(key.indexOf("/") + 1)).sort();

  it("holds its cluster, wants its target and knows every id", () => {
    const state = applied();
    const { transaction, resources } = state;
    const shown = read(state);
    assert.deepEqual(shown.holds, {
      clusterUid: transaction?.clusterUid,
      cluster: "default/prod",
      provider: "local",
    });
    const ids = resources.flatMap(({ id, kind }) => (/^Local/.test(kind) ? (id ?? []) : []));
    assert.equal(ids.length, 4);
    assert.deepEqual([...shown.ids].sort(), ids.sort());
    assert.ok(namesWanted(shown).includes("network") && namesWanted(shown).includes("api"));
    assert.equal(shown.busy, undefined);
  });

  it("wants what the revision has and what an unfinished transaction leads to, and is busy", () => {
    const state = applied();
    const { transaction, revision } = state;
    assert.ok(transaction !== undefined && revision !== undefined);
    const nodes = transaction.target.nodes.filter(({ name }) => !name.startsWith("db"));
    const shown = read({
      ...state,
      transaction: { ...transaction, number: 2, target: { ...transaction.target, nodes } },
    });
    assert.ok(namesWanted(shown).some((name) => name.startsWith("db-")));
    assert.equal(shown.busy, "transaction 2 of default.prod is not finished");
  });

  it("is busy while the first transaction has no revision", () => {
    const { revision: _, ...state } = applied();
    assert.equal(read(state).busy, "transaction 1 of default.prod is not finished");
  });

  it("is busy while somebody works on it, and says who", () => {
    assert.equal(read(applied(), "it is locked by me").busy, "it is locked by me");
  });

  it("knows what is condemned and what is half made", () => {
    const state = applied();
    const [host] = state.resources.filter(({ kind }) => kind === "LocalHost");
    const more = ["old", "half"].map((id): RecordedResource => ({
      ...(host as RecordedResource),
      ...{ id, deleting: id === "old", unfinished: id === "half" },
    }));
    const { ids } = read({ ...state, resources: [...state.resources, ...more] });
    assert.ok(ids.has("old") && ids.has("half"));
  });

  it("wants what an interrupted operation names, by whose life it says", () => {
    const pending = (name: string, who?: object): PendingOperation => ({
      type: "creating",
      urn: name,
      key: nodeKey("LocalHost", name),
      kind: "LocalHost",
      inputs: who === undefined ? {} : { who: { ...who } },
    });
    const operations = [pending("other", { clusterUid: "uid-7" }), pending("own")];
    const state = applied();
    const { wanted } = read({ ...state, pending: operations });
    const uid = state.transaction?.clusterUid ?? "";
    assert.equal(wanted.get("uid-7 LocalHost/other"), "an interrupted creating names it");
    assert.equal(wanted.get(`${uid} LocalHost/own`), "an interrupted creating names it");
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
