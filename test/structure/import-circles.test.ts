import assert from "node:assert/strict";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";
import { type Sources, sourcesIn } from "./sources.js";

/** What imports what: of files, or of folders. */
type Imports = ReadonlyMap<string, ReadonlySet<string>>;

/** Relative imports and re-exports of a source, those of types too; as paths of sources. */
function importsOf(path: string, text: string): string[] {
  return ts
    .preProcessFile(text, true, true)
    .importedFiles.flatMap(({ fileName }) =>
      fileName.startsWith(".")
        ? [normalize(join(dirname(path), fileName)).replace(/\.js$/, ".ts")]
        : [],
    );
}

function importsIn(sources: Sources): Imports {
  return new Map(
    [...sources].map(([path, text]) => [
      path,
      new Set(importsOf(path, text).filter((one) => sources.has(one))),
    ]),
  );
}

/** The same between the folders that the files are in. */
function ofFolders(imports: Imports): Imports {
  const folders = new Map<string, Set<string>>();
  for (const [path, targets] of imports) {
    const from = dirname(path);
    const known = folders.get(from) ?? new Set();
    for (const to of targets) if (dirname(to) !== from) known.add(dirname(to));
    folders.set(from, known);
  }
  return folders;
}

/** A circle, as "a -> b -> a"; undefined without one. */
function circleIn(imports: Imports): string | undefined {
  const done = new Set<string>();
  const walk = (node: string, way: readonly string[]): string | undefined => {
    const since = way.indexOf(node);
    if (since >= 0) return [...way.slice(since), node].join(" -> ");
    if (done.has(node)) return undefined;
    for (const next of imports.get(node) ?? []) {
      const circle = walk(next, [...way, node]);
      if (circle !== undefined) return circle;
    }
    done.add(node);
    return undefined;
  };
  for (const node of imports.keys()) {
    const circle = walk(node, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
}

describe("imports", () => {
  it("go round in no circle, neither of files nor of folders, not even for a type", () => {
    const imports = importsIn(sourcesIn(["src", "providers", "stacks"]));
    assert.ok(imports.size > 300, `${imports.size} sources are read`);
    assert.equal(circleIn(imports), undefined);
    assert.equal(circleIn(ofFolders(imports)), undefined);
  });

  it("in a circle are seen", () => {
    const circle = importsIn(
      new Map([
        ["src/a/one.ts", 'import type { Two } from "../b/two.js";'],
        ["src/b/two.ts", 'export { three } from "./three.js";'],
        ["src/b/three.ts", 'import { one } from "../a/one.js";'],
      ]),
    );
    assert.equal(
      circleIn(circle),
      "src/a/one.ts -> src/b/two.ts -> src/b/three.ts -> src/a/one.ts",
    );
    assert.equal(circleIn(ofFolders(circle)), "src/a -> src/b -> src/a");
  });

  it("between folders alone are seen", () => {
    const imports = importsIn(
      new Map([
        ["src/a/one.ts", 'import { two } from "../b/two.js";'],
        ["src/a/other.ts", ""],
        ["src/b/two.ts", ""],
        ["src/b/three.ts", 'import { other } from "../a/other.js";'],
      ]),
    );
    assert.equal(circleIn(imports), undefined);
    assert.equal(circleIn(ofFolders(imports)), "src/a -> src/b -> src/a");
  });
});
