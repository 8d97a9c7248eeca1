import assert from "node:assert/strict";
import fc from "fast-check";
import { type Json, sameJson } from "../../../src/api/json.js";
import {
  compareTargets,
  isSame,
  type ItemDifference,
  type TargetDifference,
  valueDifferences,
} from "../../../src/plan/compare/compare.js";
import { manifestsOf, wantedClusters } from "../../support/wanted-cluster.js";
import { targetOf } from "../../support/recorded-history.js";
import { assertLaw } from "../../support/laws.js";

// Few names and values, so that two of them often have much in common.
const { value: values } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom<Json>(1, 2, "x", null, true),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom("a", "b", "annotations"), tie("value"), { maxKeys: 3 }),
  ),
}));

/** The same difference, seen from the other side. */
function mirrored(items: readonly ItemDifference[]): unknown[] {
  const other = { added: "removed", removed: "added", changed: "changed" } as const;
  return items.map((one) => ({
    ...one,
    kind: other[one.kind],
    ...(one.kind === "changed" && {
      changes: one.changes.map((change) => {
        if (change.kind === "withheld") return { ...change, what: other[change.what] };
        const { from, to, ...rest } = change;
        return {
          ...rest,
          ...(to !== undefined && { from: to }),
          ...(from !== undefined && { to: from }),
        };
      }),
    }),
  }));
}

describe("comparing", () => {
  it("finds a difference if and only if there is one", () => {
    assertLaw(
      fc.property(values, values, (from, to) => {
        assert.equal(valueDifferences(from, to).length === 0, sameJson(from, to));
        assert.deepEqual(valueDifferences(from, from), []);
      }),
    );
  });

  it("never tells a value of an annotation", () => {
    const secret = fc.constantFrom("s3cret-1", "s3cret-2");
    const holder = fc.dictionary(fc.constantFrom("a", "b"), secret, { maxKeys: 2 });
    const objects = fc.record({ spec: values, metadata: fc.record({ annotations: holder }) });
    assertLaw(
      fc.property(fc.option(objects, { nil: undefined }), objects, (from, to) => {
        const told = [...valueDifferences(from, to), ...valueDifferences(to, from)];
        assert.doesNotMatch(JSON.stringify(told), /s3cret/);
      }),
    );
  });

  it("of targets is empty for the same objects only, and mirrored the other way round", () => {
    assertLaw(
      fc.property(wantedClusters, wantedClusters, (one, another) => {
        const [from, to] = [targetOf(manifestsOf(one)), targetOf(manifestsOf(another))];
        const forth = compareTargets(from, to);
        const back = compareTargets(to, from);
        assert.equal(isSame(forth), sameJson(from, to));
        for (const part of ["objects", "machines", "infrastructure"] as const) {
          const parts: Pick<TargetDifference, typeof part> = back;
          assert.deepEqual(mirrored(forth[part]), parts[part]);
        }
      }),
      50,
    );
  });
});
