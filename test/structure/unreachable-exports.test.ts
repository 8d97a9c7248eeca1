import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { repository } from "../scenario/sandbox.js";
import type { NameId } from "./name-graph.js";
import { outOfReach } from "./reachability.js";
import { type Sources, sourcesIn } from "./sources.js";

/** What an issue yet to come wires in. */
const awaited: readonly { readonly by: string; readonly names: readonly NameId[] }[] = [
  {
    by: "nodes: a Machine is as ready and healthy as its Node says",
    names: [
      "src/sets/deletion-order.ts#isMachineHealthy",
      "src/workload/node-readiness.ts#isNodeAvailable",
    ],
  },
  {
    by: "conformance: Cluster API's cases ask for them (docs/conformance.md)",
    names: [
      "src/sets/membership.ts#changeMembers",
      "src/sets/ownership.ts#claimOf",
      "src/sets/status.ts#isComplete",
      "src/sets/template.ts#findNewSet",
      "src/sets/template.ts#findOldSets",
    ],
  },
];

/** What package.json and the Pulumi projects name, and every script, since whoever likes runs it. */
function entriesOf(scripts: Sources): Set<string> {
  const text = readFileSync(join(repository, "package.json"), "utf8");
  const { exports, imports } = JSON.parse(text) as {
    exports: Record<string, string | { types: string }>;
    imports: Record<string, string>;
  };
  const modules = Object.values(exports).flatMap((one) =>
    typeof one === "string" ? [] : one.types,
  );
  const programs = [".", "stacks/aws-foundation"].map((folder) => {
    const project = readFileSync(join(repository, folder, "Pulumi.yaml"), "utf8");
    const [, program = ""] = /^main: (.*)$/m.exec(project) ?? [];
    return join(folder, program);
  });
  const named = Object.values(imports).filter((path) => path.startsWith("./dist/"));
  const compiled = [...modules, ...programs, ...named].map((path) => join(path));
  const sources = compiled
    // What is joined from there (tools/dev/bundle.mjs), as dist/cli is, which bin runs.
    .map((path) => path.replace(/^dist\/program\//, "dist/src/inline/"))
    .map((path) => path.replace(/^dist\/(.*?)(\.d\.ts|\.js)$/, "$1.ts"));
  return new Set([...scripts.keys(), ...sources, "src/main.ts"]);
}

describe("exports", () => {
  it("of the product are reached from an entry of it, by another file than their own", () => {
    const scripts = sourcesIn(["bin", "tools", "bench", "deploy"], "**/*.mjs");
    const modules = sourcesIn(["src", "providers", "stacks"]);
    const entries = entriesOf(scripts);
    for (const entry of entries) assert.ok(scripts.has(entry) || modules.has(entry), entry);
    const found = outOfReach({
      sources: new Map([...scripts, ...modules]),
      entries,
      tests: sourcesIn(["test"]),
      awaited: awaited.flatMap(({ names }) => names),
    });
    assert.deepEqual(found, []);
  });

  const entry = 'import { used } from "./lib.js";\nused();';
  const lib = "export function used() {}";
  const cases: {
    name: string;
    lib?: string;
    more?: Record<string, string>;
    entry?: string;
    test?: string;
    awaited?: NameId[];
    want: string[];
  }[] = [
    { name: "are fine where an entry uses them", want: [] },
    { name: "of an entry are for others", entry: `${entry}\nexport const a = 1;`, want: [] },
    {
      name: "are seen that nothing uses",
      lib: `${lib}\nexport const idle = 1;`,
      want: ["lib.ts#idle: nothing uses it"],
    },
    {
      name: "are seen that only their own file uses",
      lib: "export interface Size {}\nexport function used(size?: Size) {}",
      want: ["lib.ts#Size: only its own file uses it"],
    },
    {
      name: "are seen that only tests use",
      lib: `${lib}\nexport const tried = 1;\nexport const kept = { tried };`,
      test: 'import { tried } from "./lib.js";\ntried;',
      want: ["lib.ts#kept: nothing uses it", "lib.ts#tried: only tests use it"],
    },
    {
      name: "may be for tests where the product itself reaches them",
      lib: "export const limit = 1;\nexport function used() { return { limit }; }",
      test: 'import { limit } from "./lib.js";\nlimit;',
      want: [],
    },
    {
      name: "are seen that only unreachable things use, and none of those is forgotten",
      more: {
        "first.ts": 'import { second } from "./second.js";\nexport const first = () => second;',
        "second.ts": "export const second = 2;",
      },
      want: [
        "first.ts#first: nothing uses it",
        "second.ts#second: only what is out of reach uses it",
      ],
    },
    {
      name: "are not reached by a variable or a member of their name",
      lib: `${lib}\nexport const a = 1;\nexport const b = 2;`,
      entry: `import { a, b } from "./lib.js";\n${entry}\nused.a;\n{ const b = 3; b; }`,
      want: ["lib.ts#a: nothing uses it", "lib.ts#b: nothing uses it"],
    },
    {
      name: "are reached through what passes them on, under another name too",
      more: { "index.ts": 'export { used as other } from "./lib.js";' },
      entry: 'import { other } from "./index.js";\nother();',
      want: [],
    },
    {
      name: "are seen that are passed on in vain",
      more: { "index.ts": 'export { used as other } from "./lib.js";' },
      want: ["index.ts#other: nothing uses it"],
    },
    {
      name: "are reached by an import at run time, as far as it takes them",
      lib: `${lib}\nexport const left = 1;`,
      more: { "all.ts": "export const a = 1;\nexport const b = 2;" },
      entry: 'const { used } = await import("./lib.js");\nused(await import("./all.js"));',
      want: ["lib.ts#left: nothing uses it"],
    },
    {
      name: "are reached by what is required at run time, as its type says",
      lib: `${lib}\nexport const left = 1;`,
      entry: 'const { used } = require("./lib.js") as typeof import("./lib.js");\nused();',
      want: ["lib.ts#left: nothing uses it"],
    },
    {
      name: "are reached by what a module does when it is loaded",
      more: {
        "begun.ts": 'import { begin } from "./begin.js";\nbegin();',
        "begin.ts": "export function begin() {}",
      },
      entry: `${entry}\nimport "./begun.js";`,
      want: [],
    },
    {
      name: "may be awaited, with what they use",
      more: {
        "next.ts": 'import { base } from "./base.js";\nexport const next = () => base;',
        "base.ts": "export const base = 2;",
      },
      awaited: ["next.ts#next"],
      want: [],
    },
    {
      name: "are not awaited any more once they are used, or gone",
      awaited: ["lib.ts#used", "lib.ts#gone"],
      want: ["lib.ts#gone: awaited, and not there", "lib.ts#used: awaited, and within reach"],
    },
  ];
  for (const { name, more = {}, test = "", want, ...given } of cases) {
    it(name, () => {
      const modules = { "main.ts": given.entry ?? entry, "lib.ts": given.lib ?? lib, ...more };
      const found = outOfReach({
        sources: new Map(Object.entries(modules)),
        entries: new Set(["main.ts"]),
        tests: new Map([["lib.test.ts", test]]),
        awaited: given.awaited ?? [],
      });
      assert.deepEqual(found, want);
    });
  }
});
