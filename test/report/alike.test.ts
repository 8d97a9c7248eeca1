import assert from "node:assert/strict";
import fc from "fast-check";
import type { ChangeLine } from "../../src/plan/changes/tree.js";
import {
  entryLabel,
  groupAlike,
  nameRanges,
  rangesText,
  withThousands,
} from "../../src/report/alike.js";
import { assertLaw } from "../support/laws.js";

function line(label: string, kind: ChangeLine["kind"] = "create", reason = ""): ChangeLine {
  return { label, kind, detail: reason, described: reason, changes: [], reasons: [reason] };
}

const machines = (count: number) =>
  Array.from({ length: count }, (_, index) => line(`Machine web-${index}`));

describe("groupAlike", () => {
  const cases: { name: string; given: ChangeLine[]; want: string[] }[] = [
    { name: "few stay single", given: machines(3), want: [0, 1, 2].map((n) => `Machine web-${n}`) },
    { name: "many are one", given: machines(1_000), want: ["Machines web-0 … web-999 (1,000)"] },
    {
      name: "other kinds of change stay apart",
      given: [...machines(4), line("Machine web-4", "delete")],
      want: ["Machines web-0 … web-3 (4)", "Machine web-4"],
    },
    {
      name: "other reasons too",
      given: [...machines(4), line("Machine web-4", "create", "its host is gone")],
      want: ["Machines web-0 … web-3 (4)", "Machine web-4"],
    },
    {
      name: "infrastructure is never put together",
      given: ["a", "b", "c", "d", "e"].map((name) => line(name)),
      want: ["a", "b", "c", "d", "e"],
    },
    {
      name: "whose place each takes does not keep them apart",
      given: machines(5).map((one, index) => ({ ...one, supersedes: `old-${index}` })),
      want: ["Machines web-0 … web-4 (5)"],
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => assert.deepEqual(groupAlike(given).map(entryLabel), want));
  }

  it("loses no line and makes none up", () => {
    const lines = fc.array(
      fc.record({ name: fc.nat({ max: 30 }), kind: fc.constantFrom("create", "delete", "same") }),
      { maxLength: 40 },
    );
    assertLaw(
      fc.property(lines, (given) => {
        const all = given.map(({ name, kind }) =>
          line(`Machine m-${name}`, kind as ChangeLine["kind"]),
        );
        const grouped = groupAlike(all).flatMap((entry) =>
          entry.kind === "single" ? [entry.line] : entry.lines,
        );
        assert.deepEqual(new Set(grouped), new Set(all));
        assert.equal(grouped.length, all.length);
      }),
    );
  });
});

describe("names that follow each other", () => {
  const cases: { given: string[]; want: string }[] = [
    { given: [], want: "" },
    { given: ["a"], want: "a" },
    { given: ["a-0", "a-1"], want: "a-0, a-1" },
    { given: ["a-8", "a-9", "a-10"], want: "a-8 … a-10" },
    { given: ["a-1", "a-2", "a-3", "a-5", "b-6"], want: "a-1 … a-3, a-5, b-6" },
    { given: ["a-01", "a-02", "a-03"], want: "a-01, a-02, a-03" },
    { given: ["a-9", "a-10", "aa-11"], want: "a-9, a-10, aa-11" },
    { given: ["a", "c", "e", "g", "i", "k", "m", "o"], want: "a, c, e, g, i, k and 2 more" },
    { given: ["a-99999999999", "a-100000000000"], want: "a-99999999999, a-100000000000" },
  ];
  for (const { given, want } of cases) {
    it(`${given.join(" ")} -> ${want}`, () => assert.equal(rangesText(nameRanges(given)), want));
  }
});

describe("withThousands", () => {
  for (const [given, want] of [
    [0, "0"],
    [999, "999"],
    [1_000, "1,000"],
    [12_345_678, "12,345,678"],
  ] as const) {
    it(want, () => assert.equal(withThousands(given), want));
  }
});
