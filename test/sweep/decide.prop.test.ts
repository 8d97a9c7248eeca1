import assert from "node:assert/strict";
import fc from "fast-check";
import { nodeKey } from "../../src/graph/graph.js";
import type { Observed } from "../../src/provider/port.js";
import { decideSweep, howKept, howLost, type SweepInput } from "../../src/sweep/decide.js";
import { wantedKey } from "../../src/sweep/stack-view.js";
import { assertLaw, timesSeen } from "../support/laws.js";
import { inMutant } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";
import * as sweepInputs from "./sweep-inputs.js";
import { nowMs, unreadable } from "./world.js";

const { inputs, stacks, sweptIn, sweptUnasked } = sweepInputs;

const idsOf = (all: readonly Observed[]) => all.map(({ id }) => id);

describe("law 5 in a sweep: nothing that is not ours is deleted", () => {
  it("whatever is swept carries a UID of ours, with the name of its cluster", () => {
    let seen = 0;
    assertLaw(
      fc.property(inputs, (input) => {
        const ours = new Map(input.clusters.map((one) => [one.clusterUid, one.cluster]));
        for (const { who } of sweptIn(input)) {
          seen += 1;
          assert.equal(ours.get(who.clusterUid), who.cluster);
        }
      }),
      2_000,
    );
    assert.ok(seen > timesSeen(200), `the law was held against ${seen} resources`);
  });

  it("everything that exists is decided on, once", () => {
    assertLaw(
      fc.property(inputs, (input) => {
        const alive = input.listings
          .flatMap(({ resources: listed }) => listed)
          .filter(({ phase }) => phase !== "gone");
        assert.deepEqual(idsOf(decideSweep(input).map((item) => item.resource)), idsOf(alive));
      }),
      300,
    );
  });
});

describe("law 6 in a sweep: unknown never leads to a deletion", () => {
  it("nothing is swept that any stack records, wants or names", () => {
    assertLaw(
      fc.property(inputs, (input) => {
        for (const { id, who } of sweptIn(input)) {
          const key = wantedKey(who.clusterUid, nodeKey(who.kind, who.name));
          for (const one of input.views) {
            assert.ok(one.kind === "unreadable" || !(one.ids.has(id) || one.wanted.has(key)));
          }
        }
      }),
      2_000,
    );
  });

  it("nothing is swept whose age is unknown or below the grace period", () => {
    assertLaw(
      fc.property(inputs, (input) => {
        if (input.graceMs === 0) return;
        for (const { createdAtMs } of sweptIn(input)) {
          assert.ok(createdAtMs !== undefined && nowMs - createdAtMs >= input.graceMs);
        }
      }),
      1_000,
    );
  });

  it("nothing is swept unasked of a cluster that may run, nor data that may have to be kept", () => {
    let lost = 0;
    let kept = 0;
    assertLaw(
      fc.property(inputs, (input) => {
        const kinds = decideSweep(input).map(({ kind }) => kind);
        if (kinds.includes("lost")) lost += 1;
        if (kinds.includes("kept")) kept += 1;
        assert.deepEqual(sweptUnasked(input), []);
      }),
      2_000,
    );
    const isBoth = lost > timesSeen(100) && kept > timesSeen(30);
    assert.ok(isBoth, `${lost} lost clusters, ${kept} kept volumes`);
  });

  for (const [what, defect] of [
    ["a lost stack were taken for an end", replaced(howLost, () => () => undefined)],
    ["data needed no consent", replaced(howKept, () => () => undefined)],
  ] as const) {
    it(`would not hold if ${what}`, async () => {
      const asked = { module: "test/sweep/sweep-inputs.js", own: sweepInputs };
      const unasked = await inMutant([defect], asked, (copy) => copy.sweptUnaskedInMany());
      assert.ok(unasked.length > 0);
    });
  }

  /** What a look may fail to find out. The choice picks which of several. */
  const losses: Readonly<Record<string, (input: SweepInput, choice: number) => SweepInput>> = {
    "a stack cannot be read": (input, choice) => ({
      ...input,
      views: input.views.map((one, index) =>
        index === choice % stacks.length ? unreadable(one.stack) : one,
      ),
    }),
    "the cloud does not tell ages": ({ listings, ...input }) => ({
      ...input,
      listings: listings.map(({ provider, resources: listed }) => ({
        provider,
        resources: listed.map(({ createdAtMs: _, ...one }) => one),
      })),
    }),
    "the end of a cluster was not recorded": ({ clusters, ...input }, choice) => ({
      ...input,
      clusters: clusters.map((one, index) =>
        index === choice % 3 ? { ...one, hasEnded: false } : one,
      ),
    }),
    "no note says which data to keep": ({ clusters, ...input }) => ({
      ...input,
      clusters: clusters.map(({ keeps: _, ...one }) => one),
    }),
    "a listing shows less": ({ listings, ...input }, choice) => ({
      ...input,
      listings: listings.map(({ provider, resources: listed }) => ({
        provider,
        resources: listed.filter((_, index) => index % 2 === choice % 2),
      })),
    }),
    "a provider cannot be listed": (input) => ({ ...input, listings: [] }),
    "a cluster was never noted": ({ clusters, ...input }, choice) => ({
      ...input,
      clusters: clusters.filter((_, index) => index !== choice % 3),
    }),
    "somebody works on a stack": ({ views, ...input }, choice) => ({
      ...input,
      views: views.map((one, index) =>
        one.kind === "read" && index === choice % stacks.length
          ? { ...one, busy: "it is locked" }
          : one,
      ),
    }),
  };
  for (const [name, lose] of Object.entries(losses)) {
    it(`nothing more is swept when ${name}`, () => {
      let fewer = 0;
      assertLaw(
        fc.property(inputs, fc.nat({ max: 5 }), (input, choice) => {
          const before = idsOf(sweptIn(input));
          const after = idsOf(sweptIn(lose(input, choice)));
          assert.deepEqual(
            after.filter((id) => !before.includes(id)),
            [],
          );
          if (after.length < before.length) fewer += 1;
        }),
        3_000,
      );
      assert.ok(fewer > timesSeen(10), `it made a difference ${fewer} times`);
    });
  }
});
