import assert from "node:assert/strict";
import fc from "fast-check";
import { digestOf } from "../../src/api/digest.js";
import { canonicalJson, sameJson } from "../../src/api/json.js";
import { holdsUnknown, unknownValue } from "../../src/api/unknown.js";
import { assertLaw } from "../support/laws.js";

describe("canonical JSON", () => {
  const cases: { name: string; given: unknown; want: string }[] = [
    {
      name: "keys sorted at every depth",
      given: { b: { d: 1, c: 2 }, a: 0 },
      want: '{"a":0,"b":{"c":2,"d":1}}',
    },
    { name: "lists in their order", given: [2, 1, [null]], want: "[2,1,[null]]" },
    {
      name: "absent members left out, null ones kept",
      given: { a: undefined, b: null },
      want: '{"b":null}',
    },
    { name: "texts escaped", given: { 'a"': "\n" }, want: '{"a\\"":"\\n"}' },
    { name: "nothing", given: undefined, want: "null" },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.equal(canonicalJson(given), want));
  }

  it("says the same as JSON about any value, and does not hear of key order", () => {
    const property = fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(value)));
      assert.equal(canonicalJson(JSON.parse(text)), text);
    });
    assertLaw(property);
  });
});

describe("equality and digests", () => {
  it("are SHA-256 of the canonical text: names and states hold them", () => {
    assert.equal(
      digestOf("ä🐙"),
      "a5836c3a779a1e6a9ab65adef4c6d4278b9b2943c518024bb0410196d6f3866a",
    );
    assert.equal(digestOf({ b: [2], a: 1 }, 8), "0855bfc2");
  });

  it("do not depend on key order or absent members", () => {
    const [left, right] = [
      { a: 1, b: { c: 2, d: undefined } },
      { b: { c: 2 }, a: 1 },
    ];
    assert.ok(sameJson(left, right));
    assert.equal(digestOf(left), digestOf(right));
  });

  it("are one: two values are the same when their canonical texts are", () => {
    const value = fc.jsonValue({ maxDepth: 3 });
    const pair = fc.oneof(
      fc.tuple(value, value),
      value.map((one) => [one, structuredClone(one)]),
    );
    const property = fc.property(pair, fc.boolean(), ([left, right], isWithin) => {
      const [one, other] = isWithin
        ? [
            { a: left, b: 0 },
            { b: 0, a: right, c: undefined },
          ]
        : [left, right];
      assert.equal(sameJson(one, other), canonicalJson(one) === canonicalJson(other));
    });
    assertLaw(property);
  });

  it("tell values apart that look alike", () => {
    const values = [
      null,
      "null",
      0,
      "0",
      false,
      [],
      {},
      [[]],
      { a: null },
      { a: {} },
      ["a", "b"],
      ["a,b"],
    ];
    assert.equal(new Set(values.map((value) => digestOf(value))).size, values.length);
  });

  it("are as long as asked, the start of SHA-256", () => {
    assert.equal(digestOf("", 8), digestOf("").slice(0, 8));
    // SHA-256 of the two characters "".
    assert.equal(digestOf(""), "12ae32cb1ec02d01eda3581b127c1fee3b0dc53572ed6baf239721a03d82e126");
  });
});

describe("unknown values", () => {
  for (const [given, want] of [
    [unknownValue, true],
    [{ a: [1, { b: unknownValue }] }, true],
    [{ a: [1, { b: "known" }] }, false],
    [undefined, false],
  ] as const) {
    it(`${want ? "are" : "are not"} in ${JSON.stringify(given)}`, () => {
      assert.equal(holdsUnknown(given as never), want);
    });
  }
});
