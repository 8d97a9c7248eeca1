import assert from "node:assert/strict";
import ts from "typescript";
import { type Sources, sourcesIn } from "./sources.js";

/** Names of the types that a source exports where it declares them. */
function exportedTypes(path: string, text: string): string[] {
  const { statements } = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  return statements.flatMap((statement) => {
    const isType =
      ts.isTypeAliasDeclaration(statement) ||
      ts.isInterfaceDeclaration(statement) ||
      ts.isClassDeclaration(statement) ||
      ts.isEnumDeclaration(statement);
    if (!isType || statement.name === undefined) return [];
    const isExported = statement.modifiers?.some(
      ({ kind }) => kind === ts.SyntaxKind.ExportKeyword,
    );
    return isExported === true ? [statement.name.text] : [];
  });
}

/** A line for each name that means two things, in name order. */
function declaredTwice(sources: Sources): string[] {
  const places = new Map<string, string[]>();
  for (const [path, text] of sources) {
    for (const name of exportedTypes(path, text)) {
      places.set(name, [...(places.get(name) ?? []), path]);
    }
  }
  return [...places]
    .filter(([, paths]) => paths.length > 1)
    .map(([name, paths]) => `${name}: ${paths.join(", ")}`)
    .sort();
}

describe("exported types", () => {
  it("mean one thing each in the whole repository", () => {
    const sources = sourcesIn(["src", "providers", "stacks", "test"]);
    assert.ok(sources.size > 500, `${sources.size} sources are read`);
    assert.deepEqual(declaredTwice(sources), []);
  });

  it("that mean two things are seen, whatever declares them", () => {
    const sources = new Map([
      ["a.ts", "export interface Plan {}\nexport type Step = 1;\ninterface Inner {}"],
      ["b.ts", "export class Plan {}\nexport const Step = 1;\nexport interface Inner {}"],
    ]);
    assert.deepEqual(declaredTwice(sources), ["Plan: a.ts, b.ts"]);
  });
});
