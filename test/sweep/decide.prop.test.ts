import assert from "node:assert/strict";
import fc from "fast-check";
import { nodeKey } from "../../src/graph/graph.js";
import type { Observed } from "../../src/provider/port.js";
import { decideSweep, type SweepInput } from "../../src/sweep/decide.js";
import { type StackView, wantedKey } from "../../src/sweep/stack-view.js";
import { assertLaw } from "../support/laws.js";
import { known, minuteMs, nowMs, resource, unreadable, view } from "./world.js";

const uids = ["uid-1", "uid-2", "uid-3"] as const;
const hosts = ["web-0", "web-1"] as const;
const stacks = ["default.a", "default.b"] as const;
const idOf = (uid: string, name: string, twin: number) => `${uid} ${name} ${twin}`;

const allIds = uids.flatMap((uid) =>
  hosts.flatMap((name) => [0, 1].map((twin) => idOf(uid, name, twin))),
);

const oneIn = (sides: number) => fc.nat({ max: sides - 1 }).map((dice) => dice === 0);

const resources: fc.Arbitrary<Observed[]> = fc.uniqueArray(
  fc
    .record({
      uid: fc.constantFrom(...uids, "uid-foreign"),
      name: fc.constantFrom(...hosts),
      twin: fc.nat({ max: 1 }),
      cluster: fc.constantFrom("default/prod", "default/prod", "default/prod", "default/copy"),
      phase: fc.constantFrom("pending", "ready", "ready", "failed", "gone"),
      ageMinutes: fc.option(fc.constantFrom(-10, 0, 59, 60, 61, 5_000), { nil: undefined }),
    })
    .map(({ twin, ...shape }) => resource({ ...shape, id: idOf(shape.uid, shape.name, twin) })),
  { selector: ({ id }) => id, minLength: 6, maxLength: 12 },
);

/** Any stack may record anything: stacks get renamed, copied and edited by hand. */
const viewOfStack = (stack: string): fc.Arbitrary<StackView> =>
  fc
    .record({
      uid: fc.option(fc.constantFrom(...uids), { nil: null }),
      ids: fc.subarray(allIds, { maxLength: 4 }),
      wants: fc.subarray([...hosts], { maxLength: 1 }),
      busy: fc.constantFrom("it is locked", undefined, undefined, undefined),
      isUnreadable: oneIn(8),
    })
    .map(({ isUnreadable, busy, ...shape }) =>
      isUnreadable
        ? unreadable(stack)
        : view({ ...shape, stack, ...(busy !== undefined && { busy }) }),
    );

const inputs: fc.Arbitrary<SweepInput> = fc.record({
  nowMs: fc.constant(nowMs),
  graceMs: fc.constantFrom(0, 60 * minuteMs),
  clusters: fc.subarray([...uids], { minLength: 1 }).chain((some) =>
    fc.tuple(
      ...some.map((clusterUid) =>
        fc
          .record({
            stacks: fc.subarray([...stacks], { minLength: 1 }),
            movedAway: oneIn(8),
          })
          .map((shape) => known({ clusterUid, ...shape })),
      ),
    ),
  ),
  views: fc.tuple(...stacks.map(viewOfStack)),
  listings: resources.map((listed) => [{ provider: "local", resources: listed }]),
});

const swept = (input: SweepInput): Observed[] =>
  decideSweep(input)
    .filter(({ kind }) => kind === "sweep")
    .map(({ resource: one }) => one);
const idsOf = (all: readonly Observed[]) => all.map(({ id }) => id);

describe("law 5 in a sweep: nothing that is not ours is deleted", () => {
  it("whatever is swept carries a UID of ours, with the name of its cluster", () => {
    let seen = 0;
    assertLaw(
      fc.property(inputs, (input) => {
        const ours = new Map(input.clusters.map((one) => [one.clusterUid, one.cluster]));
        for (const { who } of swept(input)) {
          seen += 1;
          assert.equal(ours.get(who.clusterUid), who.cluster);
        }
      }),
      2_000,
    );
    assert.ok(seen > 200, `the law was held against ${seen} resources`);
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
        for (const { id, who } of swept(input)) {
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
        for (const { createdAtMs } of swept(input)) {
          assert.ok(createdAtMs !== undefined && nowMs - createdAtMs >= input.graceMs);
        }
      }),
      1_000,
    );
  });

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
          const before = idsOf(swept(input));
          const after = idsOf(swept(lose(input, choice)));
          assert.deepEqual(
            after.filter((id) => !before.includes(id)),
            [],
          );
          if (after.length < before.length) fewer += 1;
        }),
        1_000,
      );
      assert.ok(fewer > 10, `it made a difference ${fewer} times`);
    });
  }
});
