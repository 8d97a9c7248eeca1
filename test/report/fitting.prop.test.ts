import assert from "node:assert/strict";
import fc from "fast-check";
import { fitParts, type Part } from "../../src/report/fitting.js";
import { bytesOf } from "../../src/report/markdown-text.js";
import { assertLaw } from "../support/laws.js";

interface Shape {
  readonly rank: number;
  readonly lines: readonly string[];
  readonly isWhole: boolean;
}

/** What is shown of it, then how much is not: the shorter the more is shown. */
function partOf({ rank, lines, isWhole }: Shape): Part {
  return {
    rank,
    lines,
    isWhole,
    render: (count) =>
      [...lines.slice(0, count), `${String(lines.length - count).padStart(3, "0")}|`].join("\n"),
  };
}

const shapes = fc.array(
  fc.record({
    rank: fc.nat({ max: 3 }),
    lines: fc.array(
      fc.string({ unit: "grapheme", maxLength: 12 }).map((line) => line.replace(/[\n|]/g, "")),
      {
        maxLength: 20,
      },
    ),
    isWhole: fc.boolean(),
  }),
  { maxLength: 6 },
);

describe("fitParts", () => {
  it("never takes more than the limit, if the bare parts do not", () => {
    assertLaw(
      fc.property(shapes, fc.nat({ max: 600 }), (given, limit) => {
        const parts = given.map(partOf);
        const bare = bytesOf(parts.map((part) => part.render(0)).join(""));
        const all = bytesOf(fitParts(parts, limit).join(""));
        assert.ok(all <= Math.max(limit, bare));
      }),
    );
  });

  it("shows everything when there is room, and what is whole wholly or not at all", () => {
    assertLaw(
      fc.property(shapes, fc.nat({ max: 600 }), (given, limit) => {
        const parts = given.map(partOf);
        assert.deepEqual(
          fitParts(parts, 1_000_000),
          parts.map((part) => part.render(part.lines.length)),
        );
        for (const [index, text] of fitParts(parts, limit).entries()) {
          const { lines = [], isWhole } = given[index] ?? {};
          const left = Number(text.slice(-4, -1));
          assert.ok(isWhole !== true || left === 0 || left === lines.length);
        }
      }),
    );
  });

  it("gives a lower rank its room first, and shares within a rank", () => {
    const lines = Array.from({ length: 10 }, () => "123456789");
    const [first, second, third] = [0, 1, 1].map((rank) =>
      partOf({ rank, lines, isWhole: false }),
    ) as [Part, Part, Part];
    const shown = fitParts([second, first, third], 4 * 3 + 100 + 40).map((text) =>
      Number(text.slice(-4, -1)),
    );
    assert.deepEqual(shown, [8, 0, 8]);
  });
});
