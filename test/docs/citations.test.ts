import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import {
  citationsIn,
  citingFiles,
  placeOf,
  relativeToRepository,
  resolves,
  type Citation,
} from "./citations.js";

/** This file cites what does not exist, on purpose. */
const own = "test/docs/citations.test.ts";

function unresolvedIn(file: string, text: string): string[] {
  return citationsIn(file, text)
    .filter((citation) => !resolves(citation))
    .map(placeOf);
}

describe("citations", () => {
  const all = citingFiles()
    .map((path) => ({ file: relativeToRepository(path), text: readFileSync(path, "utf8") }))
    .filter(({ file }) => file !== own)
    .flatMap(({ file, text }) => citationsIn(file, text));

  it("lead to something that the repository holds", () => {
    assert.deepEqual(all.filter((citation) => !resolves(citation)).map(placeOf), []);
  });

  it("are found in every form that is in use", () => {
    const counted = new Map<Citation["kind"], number>();
    for (const { kind } of all) counted.set(kind, (counted.get(kind) ?? 0) + 1);
    for (const [kind, least] of [
      ["law", 50],
      ["rule", 8],
      ["section", 10],
      ["decision", 3],
      ["path", 50],
      ["source", 50],
      ["document", 40],
      ["link", 20],
    ] as const) {
      assert.ok((counted.get(kind) ?? 0) >= least, `${kind}: ${counted.get(kind) ?? 0}`);
    }
  });

  const dead = [
    { name: "a law", file: "src/a.ts", text: "// Law 99 holds.", want: "law 99" },
    { name: "the last of several laws", file: "src/a.ts", text: "(laws 2 and 98)", want: "law 98" },
    { name: "a rule", file: "src/a.ts", text: " * Architecture rule 5.99.", want: "rule 5.99" },
    { name: "a section", file: "src/a.ts", text: "architecture section 77", want: "section 77" },
    { name: "a bare number", file: "src/a.ts", text: "(architecture 5.5)", want: "section 5.5" },
    { name: "a decision", file: "docs/a.md", text: "see ADR 99", want: "decision 99" },
    {
      name: "a decision's file",
      file: "a.ts",
      text: "// docs/adr/0099",
      want: "path docs/adr/0099",
    },
    { name: "a page", file: "docs/a.md", text: "docs/none.md has it", want: "path docs/none.md" },
    { name: "a source", file: "docs/a.md", text: "`src/none.ts`", want: "path src/none.ts" },
    {
      name: "a module",
      file: "src/a.ts",
      text: "// (src/plan/none)",
      want: "source src/plan/none",
    },
    { name: "a folder", file: "docs/a.md", text: "| `src/none` |", want: "source src/none" },
    { name: "a link", file: "docs/a.md", text: "[drift](none.md)", want: "link none.md" },
    {
      name: "an anchor",
      file: "docs/a.md",
      text: "[drift](drift.md#none)",
      want: "link drift.md#none",
    },
    {
      name: "an anchor in a comment",
      file: "src/a.ts",
      text: "// docs/drift.md#none",
      want: "path docs/drift.md#none",
    },
    {
      name: "a source of another project without an address",
      file: "src/a.ts",
      text: "// Source: pkg/none.go, as of today",
      want: "document pkg/none.go",
    },
    {
      name: "a document that nobody has",
      file: "src/a.ts",
      text: " * Source: reference/none.md 2.5.",
      want: "document reference/none.md",
    },
  ];
  for (const { name, file, text, want } of dead) {
    it(`${name} that does not exist is seen`, () => {
      assert.deepEqual(unresolvedIn(file, text), [`${file}:1: ${want}`]);
    });
  }

  it("that resolve are left alone, and so is what only looks like one", () => {
    const text = [
      "// Law 3, architecture rule 5.7, architecture section 6, ADR 11: docs/drift.md#frozen.",
      '"orphans 0, stuck 0, laws 0"',
    ];
    assert.deepEqual(unresolvedIn("src/a.ts", text.join("\n")), []);
    assert.deepEqual(unresolvedIn("docs/a.md", "[drift](drift.md#frozen), [up](../README.md)"), []);
  });
});
