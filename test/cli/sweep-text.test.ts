import assert from "node:assert/strict";
import pc from "picocolors";
import { consentText, sweptText, type SweepReport, sweepText } from "../../src/cli/sweep-text.js";
import type { LeftoverReport } from "../../src/engine/sweep/leftovers.js";
import { type SweepItem, type SweepKind, shareOf } from "../../src/sweep/decide.js";
import { isFrozen } from "../../src/sweep/limits.js";
import { assertGolden } from "../support/golden.js";
import { nowMs, type ResourceShape, resource } from "../sweep/world.js";

const colors = pc.createColors(false);

const item = (kind: SweepKind, reason: string, shape: ResourceShape = {}): SweepItem => ({
  kind,
  provider: "local",
  listing: 0,
  resource: resource(shape),
  reason,
});

const ended = "its cluster has ended";
const lost = "no stack holds its cluster, whose end was never recorded";
const kept = "it may hold data to keep (whenHostGoes: keep)";
const gone = { uid: "0c9f3f0e-5a8e-4b53-9d6b-0d0b4f6f2a11", cluster: "default/gone" };

const items: readonly SweepItem[] = [
  item("sweep", ended, { ...gone, id: "net-1", name: "network", ageMinutes: 3_000 }),
  item("sweep", ended, { ...gone, id: "host-2", name: "workers-af5f5222-9-0", ageMinutes: 61 }),
  item("sweep", "default.prod neither records nor wants it", { ageMinutes: undefined }),
  ...Array.from({ length: 9 }, (_, index) => item("wanted", "", { id: `w-${index}` })),
  item("lost", lost, { uid: "uid-2", cluster: "default/lost", id: "l-1" }),
  item("lost", lost, { uid: "uid-2", cluster: "default/lost", id: "l-2" }),
  item("kept", kept, { id: "v-1" }),
  item("young", "it is younger than 60 min", { id: "y-1" }),
  item("busy", "transaction 3 of default.open is not finished", { cluster: "default/open" }),
  item("busy", "transaction 3 of default.open is not finished", { cluster: "default/open" }),
  item("foreign", "no cluster of this backend has its UID", { uid: "a" }),
  item("foreign", "no cluster of this backend has its UID", { uid: "b" }),
];

function reportOf(look: Partial<LeftoverReport>): SweepReport {
  const whole: LeftoverReport = {
    items: [],
    clusters: [],
    byControllers: [],
    notListed: [],
    unreadable: [],
    seen: { views: [], listings: [] },
    ...look,
  };
  const share = shareOf(whole.items);
  return { look: whole, share, frozen: isFrozen(share, 25), maxSharePercent: 25, nowMs };
}

const incomplete: Partial<LeftoverReport> = {
  unreadable: [{ stack: "default.b", reason: "cannot read the state of default.b: it is damaged" }],
  notListed: [
    { provider: "aws", kind: "failed", reason: "no credentials" },
    { provider: "folder", kind: "unable", reason: "it cannot list what is left" },
  ],
};

describe("what a sweep says", () => {
  for (const columns of [100, 60]) {
    it(`fits into ${columns} columns`, () => {
      const text = sweepText(reportOf({ ...incomplete, items }), { colors, columns });
      assert.ok(text.split("\n").every((line) => line.length <= columns));
      assertGolden(`sweep-${columns}`, text);
    });
  }

  it("says how a person decides about clusters that are lost and data that may be kept", () => {
    assert.equal(consentText([]), "");
    const waits = items.filter(({ kind }) => kind === "lost" || kind === "kept");
    assertGolden("sweep-consent", consentText(waits));
  });

  const sums: { name: string; look: Partial<LeftoverReport>; want: RegExp }[] = [
    {
      name: "nothing",
      look: {},
      want: /^Nothing to sweep among 0 resources that this backend's clusters own\n$/,
    },
    {
      name: "nothing found in a look that failed",
      look: incomplete,
      want: /\n\nNothing to sweep among 0 resources .+, but not everything could be looked at\n$/,
    },
    {
      name: "nothing found where a provider can never be looked at",
      look: { notListed: incomplete.notListed?.slice(1) ?? [] },
      want: /^Provider folder cannot be swept: .+\n\nNothing to sweep among 0 resources [^,]+\n$/,
    },
    {
      name: "one of one",
      look: { items: items.slice(0, 1) },
      want: /\n\nTo sweep: 1 of 1 resource that this backend's clusters own\n$/,
    },
  ];
  for (const { name, look, want } of sums) {
    it(`sums up ${name}`, () =>
      assert.match(sweepText(reportOf(look), { colors, columns: 200 }), want));
  }

  it("names what is left and what stood in the way", () => {
    const [network] = items;
    const left = [{ item: network!, reason: "network net-1 is still used by host-9" }];
    assert.equal(sweptText(1, [], 80), "\nSwept: 1 resource deleted, 0 left\n");
    assert.equal(
      sweptText(2, left, 80),
      `
Swept: 2 resources deleted, 1 left
left: LocalHost network (net-1): network net-1 is still used by host-9
The same command goes on with what is left.
`,
    );
  });
});
