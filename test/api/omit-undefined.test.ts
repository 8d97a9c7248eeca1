import assert from "node:assert/strict";
import { join } from "node:path";
import ts from "typescript";
import { omitUndefined } from "../../src/api/omit-undefined.js";
import { repository } from "../scenario/sandbox.js";

interface Host {
  readonly name: string;
  readonly image?: string | null;
  readonly cores?: number;
  readonly ready?: boolean;
}

describe("omitUndefined", () => {
  it("takes away what is undefined, and nothing else", () => {
    const host: Host = omitUndefined({
      name: "",
      image: null,
      cores: undefined,
      ready: false,
    });
    assert.deepEqual(host, { name: "", image: null, ready: false });
  });

  it("keeps the fields in their order", () => {
    const base: Host = { name: "web", ready: true };
    const host: Host = omitUndefined({ cores: 2, ...base, image: undefined });
    assert.deepEqual(Object.keys(host), ["cores", "name", "ready"]);
  });

  it("has a field of every name that users give", () => {
    const named = JSON.parse('{ "__proto__": { "a": 1 }, "constructor": "b" }') as object;
    assert.equal(JSON.stringify(omitUndefined<object>(named)), JSON.stringify(named));
  });
});

describe("the types of omitUndefined", () => {
  const file = join(repository, "test", "api", "sample.ts");
  const cases: { name: string; given: string; want: number[] }[] = [
    { name: "let what may be missing be undefined", given: `{ name: "a", cores }`, want: [] },
    {
      name: "find a field that is not expected",
      given: `{ name: "a", memory: cores }`,
      want: [2353],
    },
    { name: "find it beside what is spread", given: `{ ...base, memory: cores }`, want: [2353] },
    { name: "let nothing else be undefined", given: `{ name: text }`, want: [2322] },
    { name: "miss what has to be there", given: `{ cores }`, want: [2345] },
  ];
  for (const { name, given, want } of cases) {
    it(name, () => {
      const text = `
        import { omitUndefined } from "../../src/api/omit-undefined.js";
        interface Host { readonly name: string; readonly cores?: number }
        declare const base: Host;
        declare const cores: number | undefined;
        declare const text: string | undefined;
        export const returned = (): Host => omitUndefined(${given});`;
      assert.deepEqual(errorsIn(file, text), want);
    });
  }
});

/** Numbers of the compiler's errors in a source that is at a path, under the repository's options. */
function errorsIn(path: string, text: string): number[] {
  const { config } = ts.readConfigFile(join(repository, "tsconfig.json"), ts.sys.readFile) as {
    config: object;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, repository);
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (file, ...how) =>
    file === path
      ? ts.createSourceFile(file, text, ts.ScriptTarget.Latest)
      : getSourceFile.call(host, file, ...how);
  const program = ts.createProgram([path], { ...options, types: [] }, host);
  return program.getSemanticDiagnostics(program.getSourceFile(path)).map(({ code }) => code);
}
