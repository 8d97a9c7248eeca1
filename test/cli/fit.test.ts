import assert from "node:assert/strict";
import fc from "fast-check";
import stringWidth from "string-width";
import wrapAnsi from "wrap-ansi";
import { fit, widthOf, wrap } from "../../src/cli/fit.js";
import { assertLaw } from "../support/laws.js";

describe("fitting text into columns", () => {
  const cases: { text: string; columns: number; want: string }[] = [
    { text: "abc", columns: 3, want: "abc" },
    { text: "abcd", columns: 3, want: "ab…" },
    { text: "ab cd", columns: 4, want: "ab…" },
    { text: "abc", columns: 1, want: "…" },
    { text: "abc", columns: 0, want: "" },
    { text: "a\nb\u001b[31mc", columns: 20, want: "a b [31mc" },
    { text: "日本語", columns: 6, want: "日本語" },
    { text: "日本語", columns: 5, want: "日本…" },
    { text: "├─ x", columns: Infinity, want: "├─ x" },
    { text: "👨‍👩‍👧 abc", columns: 4, want: "👨‍👩‍👧…" },
    { text: "👨‍👩‍👧👨‍👩‍👧", columns: 3, want: "👨‍👩‍👧…" },
    { text: "e\u0301a", columns: 2, want: "e\u0301a" },
  ];
  for (const { text, columns, want } of cases) {
    it(`${JSON.stringify(text)} in ${columns}`, () => assert.equal(fit(text, columns), want));
  }

  const wrapped: { text: string; columns: number; want: string[] }[] = [
    { text: "", columns: 5, want: [""] },
    { text: "one two three", columns: 7, want: ["one two", "three"] },
    { text: "one\n  two", columns: 7, want: ["one two"] },
    { text: "a longer-than-this b", columns: 6, want: ["a", "longer-than-this", "b"] },
    { text: "日本 語", columns: 6, want: ["日本", "語"] },
    { text: "one two", columns: Infinity, want: ["one two"] },
    { text: "one two", columns: 0, want: ["one", "two"] },
  ];
  for (const { text, columns, want } of wrapped) {
    it(`${JSON.stringify(text)} broken at ${columns}`, () =>
      assert.deepEqual(wrap(text, columns), want));
  }

  it("never takes more room than there is", () => {
    assertLaw(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat({ max: 40 }), (text, columns) => {
        const line = fit(text, columns);
        assert.ok(widthOf(line) <= columns);
        assert.doesNotMatch(line, /\p{Cc}/u);
      }),
    );
  });

  it("takes as much room as string-width says, also where that is not asked", () => {
    const signs = fc.constantFrom(
      "a",
      "Z",
      " ",
      "~",
      "│",
      "├─",
      "…",
      "·",
      "é",
      "日",
      "👍",
      "\u001b[1m",
      "\u001b[0m",
      "\u0301",
    );
    assertLaw(
      fc.property(fc.array(signs), (parts) => {
        const text = parts.join("");
        assert.equal(widthOf(text), stringWidth(text));
      }),
    );
  });

  it("breaks as wrap-ansi does, also where that is not asked", () => {
    const signs = fc.constantFrom("a", "b", " ", " ", "│", "…", "é", "日");
    assertLaw(
      fc.property(fc.array(signs), fc.integer({ min: 1, max: 12 }), (parts, columns) => {
        const text = parts.join("");
        assert.deepEqual(
          wrap(text, columns),
          wrapAnsi(text.replace(/ +/g, " "), columns).split("\n"),
        );
      }),
    );
  });
});
