import assert from "node:assert/strict";
import ts from "typescript";
import { type Sources, sourcesIn } from "./sources.js";

/** What makes a name or data that a power failure takes back, unless somebody syncs it and its folder. */
const writing =
  /^(append|copy|cp|createWriteStream|fsync|fdatasync|link|mkdir|mkdtemp|open|rename|symlink|truncate|write)/;

/** Who may do so: one writes for all others, and some write what needs not last. */
const mayWrite: Readonly<Record<string, string>> = {
  "src/engine/backend/durable-files.ts": "whatever has to last is written here",
  "src/engine/pulumi/disk-room.ts": "room is kept by a file without a name",
  "src/engine/backend/folder-permits.ts": "a permit is as good as its command lives",
  "src/provider/private-file.ts": "an empty file is made for SQLite, which syncs it",
  "src/inline/joining/program-address.ts": "an address is as good as its process lives",
};

/** "path: names" of those that import what writes files, in the order of the sources. */
function writersIn(sources: Sources): string[] {
  return [...sources].flatMap(([path, text]) => {
    const { statements } = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
    const names = statements.flatMap((statement) => {
      if (!ts.isImportDeclaration(statement)) return [];
      const { moduleSpecifier: from } = statement;
      if (!ts.isStringLiteral(from) || !/^(node:)?fs(\/promises)?$/.test(from.text)) return [];
      const bindings = statement.importClause?.namedBindings;
      // Everything under one name holds what writes, too.
      if (bindings === undefined || !ts.isNamedImports(bindings)) return ["everything"];
      return bindings.elements
        .map(({ name, propertyName }) => (propertyName ?? name).text)
        .filter((name) => writing.test(name));
    });
    return names.length === 0 ? [] : [`${path}: ${names.join(", ")}`];
  });
}

describe("files of the product", () => {
  it("are written by what makes them last, and by few others that need not", () => {
    const found = writersIn(sourcesIn(["src"]));
    const others = found.filter((line) => !(line.slice(0, line.indexOf(":")) in mayWrite));
    assert.deepEqual(others, []);
    assert.equal(found.length, Object.keys(mayWrite).length, "whoever may write does");
  });

  const imports: readonly { text: string; want: string[] }[] = [
    {
      text: 'import { readFileSync, writeFileSync } from "node:fs";',
      want: ["a.ts: writeFileSync"],
    },
    { text: 'import { rename as move } from "fs/promises";', want: ["a.ts: rename"] },
    { text: 'import * as fs from "node:fs";', want: ["a.ts: everything"] },
    { text: 'import { existsSync, rmSync } from "node:fs";', want: [] },
  ];
  for (const { text, want } of imports) {
    it(`${want.length === 0 ? "are not" : "are"} written where one has ${text}`, () => {
      assert.deepEqual(writersIn(new Map([["a.ts", text]])), want);
    });
  }
});
