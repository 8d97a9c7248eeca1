import assert from "node:assert/strict";
import fc from "fast-check";
import { mergePatch } from "../../src/kube/merge-patch.js";
import { assertLaw } from "../support/laws.js";

/** Source: RFC 7396. */
function merged(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === "object" && target !== null && !Array.isArray(target);
  const result: Record<string, unknown> = isObject ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else result[key] = merged(result[key], value);
  }
  return result;
}

const scalar = fc.constantFrom<unknown>(0, 1, "x", "", true);
const trees: fc.Arbitrary<Record<string, unknown>>[] = [fc.constant({})];
for (let depth = 1; depth <= 3; depth += 1) {
  const value = fc.oneof(scalar, fc.array(fc.nat(2), { maxLength: 2 }), ...trees);
  const key = fc.constantFrom("a", "b", "c");
  trees.push(fc.dictionary(key, value, { maxKeys: 3, noNullPrototype: true }));
}
const tree = fc.oneof(...trees);

describe("mergePatch", () => {
  it("leads from the one to the other, and says nothing when they are the same", () => {
    assertLaw(
      fc.property(tree, tree, (from, to) => {
        const patch = mergePatch(from, to);
        assert.deepEqual(merged(from, patch ?? {}), to);
        assert.equal(mergePatch(to, structuredClone(to)), undefined);
      }),
    );
  });

  for (const { name, from, to, want } of [
    {
      name: "names what differs alone",
      from: { a: { b: 1, c: 2 } },
      to: { a: { b: 1, c: 3 } },
      want: { a: { c: 3 } },
    },
    {
      name: "takes away by null",
      from: { a: { b: 1, c: 2 } },
      to: { a: { c: 2 } },
      want: { a: { b: null } },
    },
    { name: "gives lists as wholes", from: { a: [1, 2] }, to: { a: [2] }, want: { a: [2] } },
    { name: "takes undefined for absent", from: { a: undefined }, to: {}, want: undefined },
  ]) {
    it(name, () => assert.deepEqual(mergePatch(from, to), want));
  }
});
