import fc from "fast-check";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import type { Observed } from "../../src/provider/port.js";
import { decideSweep, type SweepInput } from "../../src/sweep/decide.js";
import type { StackView } from "../../src/sweep/stack-view.js";
import { known, minuteMs, nowMs, resource, type ResourceShape, unreadable, view } from "./world.js";

const uids = ["uid-1", "uid-2", "uid-3"] as const;
const hosts = ["web-0", "web-1"] as const;
/** The data volume of a host. */
const volumeName = "web-0-0123abcd-1-data";
export const stacks = ["default.a", "default.b"] as const;
const idOf = (uid: string, name: string, twin: number) => `${uid} ${name} ${twin}`;

const allIds = uids.flatMap((uid) =>
  [...hosts, volumeName].flatMap((name) => [0, 1].map((twin) => idOf(uid, name, twin))),
);

function resourceOf(shape: ResourceShape): Observed {
  const { who, ...made } = resource(shape);
  return { ...made, who: { ...who, kind: who.name === volumeName ? "LocalVolume" : who.kind } };
}

const oneIn = (sides: number) => fc.nat({ max: sides - 1 }).map((dice) => dice === 0);

const resources: fc.Arbitrary<Observed[]> = fc.uniqueArray(
  fc
    .record({
      uid: fc.constantFrom(...uids, "uid-foreign"),
      name: fc.constantFrom(...hosts, volumeName),
      twin: fc.nat({ max: 1 }),
      cluster: fc.constantFrom("default/prod", "default/prod", "default/prod", "default/copy"),
      phase: fc.constantFrom("pending", "ready", "ready", "failed", "gone"),
      ageMinutes: fc.option(fc.constantFrom(-10, 0, 59, 60, 61, 5_000), { nil: undefined }),
    })
    .map(({ twin, ...shape }) => resourceOf({ ...shape, id: idOf(shape.uid, shape.name, twin) })),
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

/** What a look at stacks and clouds may find. */
export const inputs: fc.Arbitrary<SweepInput> = fc.record({
  nowMs: fc.constant(nowMs),
  graceMs: fc.constantFrom(0, 60 * minuteMs),
  consent: fc.record({
    lostClusters: fc.constantFrom<readonly string[]>([], [], ["default/copy"], ["default/prod"]),
    keptData: oneIn(3),
  }),
  clusters: fc.subarray([...uids], { minLength: 1 }).chain((some) =>
    fc.tuple(
      ...some.map((clusterUid) =>
        fc
          .record({
            stacks: fc.subarray([...stacks], { minLength: 1 }),
            movedAway: oneIn(8),
            hasEnded: fc.boolean(),
            keeps: fc.constantFrom<readonly string[] | undefined>(
              [],
              ["LocalVolume data"],
              undefined,
            ),
          })
          .map(({ keeps, ...shape }) =>
            known({ clusterUid, ...omitUndefined({ keeps }), ...shape }),
          ),
      ),
    ),
  ),
  views: fc.tuple(...stacks.map(viewOfStack)),
  listings: resources.map((listed) => [{ provider: "local", resources: listed }]),
});

/** What a sweep deletes. */
export function sweptIn(input: SweepInput): Observed[] {
  return decideSweep(input)
    .filter(({ kind }) => kind === "sweep")
    .map(({ resource: one }) => one);
}

/**
 * Ids of swept resources that are no garbage: no stack holds its cluster, whose end was never recorded and which no
 * person has named; or it may hold data to keep, and no person has spoken of that.
 */
export function sweptUnasked(input: SweepInput): string[] {
  const { clusters, views, consent } = input;
  const held = new Set(
    views.flatMap((one) => (one.kind === "read" ? (one.holds?.clusterUid ?? []) : [])),
  );
  return sweptIn(input)
    .filter(({ who }) => {
      const cluster = clusters.find((one) => one.clusterUid === who.clusterUid);
      const isGarbage = held.has(who.clusterUid) || cluster?.hasEnded === true;
      const isNamed = consent.lostClusters.includes(who.cluster);
      const isData = who.kind === "LocalVolume" && cluster?.keeps?.length !== 0;
      return !(isGarbage || isNamed) || (isData && !consent.keptData);
    })
    .map(({ id }) => id);
}

/** The same of many inputs, which are always the same. */
export function sweptUnaskedInMany(): string[] {
  return fc.sample(inputs, { numRuns: 500, seed: 1 }).flatMap(sweptUnasked);
}
