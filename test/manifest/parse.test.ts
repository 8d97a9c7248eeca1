import assert from "node:assert/strict";
import { diagnosticText } from "../../src/manifest/diagnostic.js";
import { parseManifest } from "../../src/manifest/parse.js";
import { testGolden } from "../support/golden.js";
import { toldOf } from "./texts.js";

function parse(text: string) {
  return parseManifest({ file: "a.yaml", text });
}

describe("YAML", () => {
  const cases: { name: string; given: string; want: unknown[] }[] = [
    { name: "nothing", given: "", want: [] },
    { name: "comments only", given: "# nothing\n---\n# here\n", want: [] },
    { name: "one document", given: "a: 1\n", want: [{ a: 1 }] },
    {
      name: "several documents, empty ones left out",
      given: "a: 1\n---\n---\nb: 2\n...\n",
      want: [{ a: 1 }, { b: 2 }],
    },
    { name: "JSON", given: '{"a": [1, null]}', want: [{ a: [1, null] }] },
    {
      name: "anchors and aliases",
      given: "base: &b { x: 1 }\nother: *b\n",
      want: [{ base: { x: 1 }, other: { x: 1 } }],
    },
    {
      name: "merge keys",
      given: "base: &b { x: 1, y: 1 }\nother:\n  <<: *b\n  y: 2\n",
      want: [{ base: { x: 1, y: 1 }, other: { x: 1, y: 2 } }],
    },
    {
      name: "Windows line ends and a byte order mark",
      given: "\ufeffa: 1\r\nb: 2\r\n",
      want: [{ a: 1, b: 2 }],
    },
    {
      name: "byte order marks of files that were joined",
      given: "\ufeffa: 1\n\ufeff---\nb: 2\n---\n\ufeffc: \ufeff3\n",
      want: [{ a: 1 }, { b: 2 }, { c: "\ufeff3" }],
    },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => {
      const { documents, diagnostics } = parse(given);
      assert.deepEqual(diagnostics, []);
      assert.deepEqual(
        documents.map(({ value }) => value),
        want,
      );
    });
  }
});

it("YAML aliases share nothing: what is filled in behind one does not show behind another", () => {
  const [document] = parse("base: &b { x: 1 }\nother: *b\n").documents;
  const { base, other } = document?.value as { base: object; other: object };
  Object.assign(base, { y: 2 });
  assert.deepEqual(other, { x: 1 });
});

describe("positions", () => {
  const text = "a:\n  b: [x, { c: 1 }]\n---\nbase: &b\n  deep: 1\nuse: *b\n";
  const cases: { name: string; path: (string | number)[]; document: number; want: string }[] = [
    { name: "the whole document", document: 0, path: [], want: "1:1" },
    { name: "a member", document: 0, path: ["a", "b"], want: "2:3" },
    { name: "an item", document: 0, path: ["a", "b", 0], want: "2:7" },
    { name: "a member of an item", document: 0, path: ["a", "b", 1, "c"], want: "2:12" },
    {
      name: "the parent of what is missing",
      document: 0,
      path: ["a", "nothing", "below"],
      want: "1:1",
    },
    { name: "an item beyond the end", document: 0, path: ["a", "b", 9], want: "2:3" },
    { name: "in a later document", document: 1, path: ["base", "deep"], want: "5:3" },
    {
      name: "behind an alias, where it was written",
      document: 1,
      path: ["use", "deep"],
      want: "5:3",
    },
    { name: "an alias itself", document: 1, path: ["use"], want: "6:1" },
  ];
  for (const { name, document, path, want } of cases) {
    it(name, () => {
      const position = parse(text).documents[document]?.positionOf(path);
      assert.equal(`${position?.line}:${position?.column}`, want);
    });
  }
});

describe("bad YAML", () => {
  const cases: { name: string; given: string }[] = [
    {
      name: "a bad indentation",
      given: "a:\n  b: 1\n c: 2\n",
    },
    {
      name: "an open quote",
      given: 'a: "b\n',
    },
    {
      name: "a key twice",
      given: "a: 1\nb: 2\na: 3\n",
    },
    {
      name: "a key twice, deep inside",
      given: "a:\n  b: 1\n  b: 2\n",
    },
    {
      name: "a colon that is missing, told once",
      given:
        "apiVersion: v1\nkind Cluster\nmetadata:\n  name: a\n  labels: { a: b }\nspec:\n  x: 1\n",
    },
    {
      name: "a variable without quotes between braces, told once, with what to do",
      given: `spec: { size: \${SIZE}, zone: a, labels: { a: \${A}, b: c } }\nmore:\n  - { x: \${X} }\n`,
    },
    {
      name: "an alias of nothing",
      given: "a: *nothing\n",
    },
    {
      name: "a key that is no text",
      given: "? [a]\n: 1\n",
    },
    {
      name: "an unknown tag",
      given: "a: !secret x\n",
    },
    {
      name: "a value that holds itself",
      given: "a: &a [*a]\n",
    },
  ];
  testGolden("diagnostics-yaml", cases, ({ given }) => toldOf(parse(given)));

  it("in one document does not hide the others", () => {
    const { documents, diagnostics } = parse("a: 1\n---\nb: [\n---\nc: 3\n");
    assert.deepEqual(
      documents.map(({ value }) => value),
      [{ a: 1 }, { c: 3 }],
    );
    assert.equal(diagnostics.length > 0, true);
  });

  it("that multiplies itself is refused at once", () => {
    const levels = ["a: &a [x, x, x, x, x, x, x, x, x]"];
    for (let level = 1; level < 9; level += 1) {
      const [name, before] = ["abcdefghi"[level], "abcdefghi"[level - 1]];
      levels.push(
        `${name}: &${name} [${Array.from({ length: 9 }, () => `*${before}`).join(", ")}]`,
      );
    }
    const started = performance.now();
    const { documents, diagnostics } = parse(levels.join("\n"));
    assert.ok(performance.now() - started < 10_000, "it took long");
    assert.deepEqual(documents, []);
    assert.match(
      diagnosticText(diagnostics[0]!),
      /^a\.yaml:1:1: error: YAML: Excessive alias count/,
    );
  });
});
