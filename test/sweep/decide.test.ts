import assert from "node:assert/strict";
import type { Observed } from "../../src/provider/port.js";
import type { KnownCluster } from "../../src/sweep/clusters.js";
import {
  decideSweep,
  shareOf,
  type SweepConsent,
  type SweepItem,
  type SweepKind,
  sweepName,
} from "../../src/sweep/decide.js";
import { isFrozen } from "../../src/sweep/limits.js";
import type { StackView } from "../../src/sweep/stack-view.js";
import { known, minuteMs, noConsent, nowMs, resource, unreadable, view } from "./world.js";

interface Case {
  readonly name: string;
  readonly resource?: Observed;
  readonly clusters?: readonly KnownCluster[];
  readonly views?: readonly StackView[];
  readonly graceMinutes?: number;
  readonly consent?: Partial<SweepConsent>;
  /** "<kind>: <reason>". */
  readonly want: string;
}

/** The data volume of a host of web-0. */
const volume: Observed = (() => {
  const { who, ...host } = resource();
  return { ...host, who: { ...who, kind: "LocalVolume", name: "web-0-0123abcd-1-data" } };
})();

const cases: readonly Case[] = [
  {
    name: "what no stack records or wants is swept",
    want: "sweep: default.prod neither records nor wants it",
  },
  {
    name: "what a cluster left that has ended is swept",
    clusters: [known({ hasEnded: true })],
    views: [],
    want: "sweep: its cluster has ended",
  },
  {
    name: "an earlier life's is swept although its stack lives on",
    resource: resource({ uid: "uid-0" }),
    clusters: [known({ clusterUid: "uid-0", hasEnded: true }), known()],
    want: "sweep: its cluster has ended",
  },
  {
    name: "a cluster whose stack is lost is not garbage",
    views: [],
    want: "lost: no stack holds its cluster, whose end was never recorded",
  },
  {
    name: "nor is one whose stack holds nothing any more",
    views: [view({ uid: null })],
    want: "lost: no stack holds its cluster, whose end was never recorded",
  },
  {
    name: "nor is one whose stack holds another life of its name",
    resource: resource({ uid: "uid-0" }),
    clusters: [known({ clusterUid: "uid-0" }), known()],
    want: "lost: no stack holds its cluster, whose end was never recorded",
  },
  {
    name: "a lost cluster is swept when a person names it",
    views: [],
    consent: { lostClusters: ["default/prod"] },
    want: "sweep: no stack holds its cluster, and --lost-cluster names it",
  },
  {
    name: "and no other one",
    views: [],
    consent: { lostClusters: ["default/pro", "prod", "other/prod"], keptData: true },
    want: "lost: no stack holds its cluster, whose end was never recorded",
  },
  {
    name: "to name a cluster overrides no record",
    views: [view({ ids: ["h-1"] })],
    consent: { lostClusters: ["default/prod"], keptData: true },
    want: "wanted: default.prod records it",
  },
  {
    name: "to name a cluster overrides no grace period",
    resource: resource({ ageMinutes: 1 }),
    views: [],
    consent: { lostClusters: ["default/prod"] },
    want: "young: it is younger than 60 min",
  },
  {
    name: "a volume that was to be kept is not swept with its lost cluster",
    resource: volume,
    clusters: [known({ keeps: ["LocalVolume data"] })],
    views: [],
    consent: { lostClusters: ["default/prod"] },
    want: "kept: it may hold data to keep (whenHostGoes: keep)",
  },
  {
    name: "nor is one of which no note says what becomes of it",
    resource: volume,
    clusters: [known({ hasEnded: true })],
    views: [],
    want: "kept: it may hold data to keep (whenHostGoes: keep)",
  },
  {
    name: "nor is one that a living cluster left of an old host",
    resource: volume,
    clusters: [known({ keeps: ["LocalVolume data"] })],
    want: "kept: it may hold data to keep (whenHostGoes: keep)",
  },
  {
    name: "a volume that was to go with its host is swept",
    resource: volume,
    clusters: [known({ keeps: ["LocalVolume logs"] })],
    want: "sweep: default.prod neither records nor wants it",
  },
  {
    name: "a volume is swept when a person says so",
    resource: volume,
    consent: { keptData: true },
    want: "sweep: default.prod neither records nor wants it",
  },
  {
    name: "a cluster of this backend that nobody noted is ours too, by its stack",
    resource: resource({ uid: "uid-9" }),
    clusters: [known({ clusterUid: "uid-9" })],
    views: [view({ uid: "uid-9" })],
    want: "sweep: default.prod neither records nor wants it",
  },
  {
    name: "what carries another UID is somebody else's",
    resource: resource({ uid: "uid-9" }),
    want: "foreign: no cluster of this backend has its UID",
  },
  {
    name: "what carries another UID is somebody else's, even under a name that is wanted here",
    resource: resource({ uid: "uid-9" }),
    views: [view({ wants: ["web-0"] })],
    want: "foreign: no cluster of this backend has its UID",
  },
  {
    name: "what was made after all that its stack tells is not its leftover",
    views: [view({ newer: ["web-0"] })],
    want: "unknown: it was made after all that default.prod tells, whose state is an older one",
  },
  {
    name: "a copy of what its stack has deleted is nobody's to sweep",
    views: [view({ copies: ["h-1"] })],
    want: "wanted: default.prod has deleted the one of its name: a copy",
  },
  {
    name: "a recorded id is wanted",
    views: [view({ ids: ["h-1"] })],
    want: "wanted: default.prod records it",
  },
  {
    name: "an id that any stack records is wanted",
    views: [view(), view({ stack: "default.other", uid: "uid-2", ids: ["h-1"] })],
    want: "wanted: default.other records it",
  },
  {
    name: "a name that a target or a pending operation has is wanted",
    views: [view({ wants: ["web-0"] })],
    want: "wanted: wanted",
  },
  {
    name: "the name of another life is not",
    clusters: [known({ hasEnded: true }), known({ clusterUid: "uid-2" })],
    views: [view({ uid: "uid-2", wants: ["web-0"] })],
    want: "sweep: its cluster has ended",
  },
  {
    name: "a cluster in flight is left to itself",
    views: [view({ busy: "transaction 2 of default.prod is not finished" })],
    want: "busy: transaction 2 of default.prod is not finished",
  },
  {
    name: "an earlier life waits for the stack that lives on",
    resource: resource({ uid: "uid-0" }),
    clusters: [known({ clusterUid: "uid-0" })],
    views: [view({ busy: "it is locked" })],
    want: "busy: it is locked",
  },
  {
    name: "another cluster's lock keeps nobody",
    views: [view(), view({ stack: "default.other", uid: "uid-2", busy: "it is locked" })],
    want: "sweep: default.prod neither records nor wants it",
  },
  {
    name: "a state that cannot be read may record it",
    views: [unreadable()],
    want: "unknown: default.prod may record it and cannot be read",
  },
  {
    name: "so may that of any other stack",
    views: [view(), unreadable("default.other")],
    want: "unknown: default.other may record it and cannot be read",
  },
  {
    name: "a stack that was renamed and the one of the old name are both busy for it",
    clusters: [known({ stacks: ["default.prod", "default.renamed"] })],
    views: [view({ stack: "default.renamed" }), view({ uid: null, busy: "it is locked" })],
    want: "busy: it is locked",
  },
  {
    name: "what is recorded is wanted also while others cannot be read",
    views: [view({ ids: ["h-1"] }), unreadable("default.other")],
    want: "wanted: default.prod records it",
  },
  {
    name: "marks that do not fit together are no ground to delete",
    resource: resource({ cluster: "default/copy" }),
    want: "unknown: it carries the UID of default/prod under the name default/copy",
  },
  {
    name: "a cluster that moved to another backend is that one's",
    clusters: [known({ movedAway: true })],
    want: "unknown: its cluster was last changed through another backend",
  },
  {
    name: "what is young may be recorded soon",
    resource: resource({ ageMinutes: 59.9 }),
    want: "young: it is younger than 60 min",
  },
  {
    name: "what is as old as the grace period is old enough",
    resource: resource({ ageMinutes: 60 }),
    want: "sweep: default.prod neither records nor wants it",
  },
  {
    name: "an unknown age is not old enough",
    resource: resource({ ageMinutes: undefined }),
    want: "young: the cloud does not tell its age",
  },
  {
    name: "an unknown age is old enough without a grace period",
    resource: resource({ ageMinutes: undefined }),
    graceMinutes: 0,
    want: "sweep: default.prod neither records nor wants it",
  },
  {
    name: "a clock that is behind the cloud's makes nothing old",
    resource: resource({ ageMinutes: -5 }),
    want: "young: it is younger than 60 min",
  },
  {
    name: "an age that is no number is not old enough",
    resource: { ...resource(), createdAtMs: NaN },
    want: "young: it is younger than 60 min",
  },
  {
    name: "a failed resource is swept like any other",
    resource: resource({ phase: "failed" }),
    want: "sweep: default.prod neither records nor wants it",
  },
];

const decideOne = (given: Case): readonly SweepItem[] =>
  decideSweep({
    nowMs,
    graceMs: (given.graceMinutes ?? 60) * minuteMs,
    consent: { ...noConsent, ...given.consent },
    clusters: given.clusters ?? [known()],
    views: given.views ?? [view()],
    listings: [{ provider: "local", resources: [given.resource ?? resource()] }],
  });

describe("what a sweep decides", () => {
  for (const given of cases) {
    it(given.name, () => {
      const items = decideOne(given).map(({ kind, reason }) => `${kind}: ${reason}`);
      assert.deepEqual(items, [given.want]);
    });
  }

  it("leaves out what is gone", () => {
    const gone = resource({ phase: "gone" });
    assert.deepEqual(decideOne({ name: "gone", resource: gone, views: [], want: "" }), []);
  });

  it("takes a secret for needed as long as its host is, and sweeps it as anything else", () => {
    const { who } = resource();
    const secrets = [
      { name: "s-wanted", who, createdAtMs: nowMs - 120 * minuteMs },
      { name: "s-left", who: { ...who, name: "web-9" }, createdAtMs: nowMs - 120 * minuteMs },
      { name: "s-young", who: { ...who, name: "web-9" }, createdAtMs: nowMs },
      { name: "s-foreign", who: { ...who, clusterUid: "uid-9" } },
    ];
    const items = decideSweep({
      nowMs,
      graceMs: 60 * minuteMs,
      consent: noConsent,
      clusters: [known()],
      views: [view({ wants: ["web-0"] })],
      listings: [{ provider: "local", resources: [], secrets }],
    });
    assert.deepEqual(
      items.map((item) => [item.kind, item.resource.id, sweepName(item)]),
      [
        ["wanted", "s-wanted", "secret of LocalHost web-0"],
        ["sweep", "s-left", "secret of LocalHost web-9"],
        ["young", "s-young", "secret of LocalHost web-9"],
        ["foreign", "s-foreign", "secret of LocalHost web-0"],
      ],
    );
  });

  it("keeps the order of the listings and says where each is", () => {
    const items = decideSweep({
      nowMs,
      graceMs: 0,
      consent: noConsent,
      clusters: [known({ hasEnded: true })],
      views: [],
      listings: [
        { provider: "local", resources: [resource({ id: "b" }), resource({ id: "a" })] },
        { provider: "folder", resources: [resource({ id: "c" })] },
      ],
    });
    assert.deepEqual(
      items.map(({ provider, resource: { id } }) => `${provider} ${id}`),
      ["local b", "local a", "folder c"],
    );
  });
});

describe("the freeze of a sweep", () => {
  const items = (counts: Partial<Record<SweepKind, number>>): SweepItem[] =>
    Object.entries(counts).flatMap(([kind, count]) =>
      Array.from({ length: count }, () => ({
        kind: kind as SweepKind,
        provider: "local",
        listing: 0,
        resource: resource(),
        reason: "",
      })),
    );
  const table = [
    { given: { sweep: 1, wanted: 3 }, percent: 25, want: false },
    { given: { sweep: 2, wanted: 5 }, percent: 25, want: true },
    { given: { sweep: 1, young: 1, busy: 1, unknown: 1 }, percent: 25, want: false },
    { given: { sweep: 1, foreign: 99 }, percent: 25, want: true },
    { given: { sweep: 1 }, percent: 99, want: true },
    { given: { sweep: 1 }, percent: 100, want: false },
    { given: { sweep: 1, wanted: 999 }, percent: 0, want: true },
    { given: { wanted: 3 }, percent: 0, want: false },
    { given: {}, percent: 0, want: false },
  ];
  for (const { given, percent, want } of table) {
    const name = JSON.stringify(given);
    it(`${name} at ${percent} %: ${want ? "refuses" : "goes on"}`, () => {
      assert.equal(isFrozen(shareOf(items(given)), percent), want);
    });
  }
});
