import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeProviders } from "../../providers/index.js";
import { isCapstanError } from "../../src/api/error.js";
import { FakeClock } from "../support/fake-clock.js";

const example = fileURLToPath(new URL("../../../examples/provider-minimal/", import.meta.url));

/** A module that exports a provider called so; `how` is its export statement. */
function moduleText(name: string, how = "export default provider;"): string {
  const stem = name.charAt(0).toUpperCase() + name.slice(1);
  return `
    import { defineProvider } from "capstan/provider";
    const calls = ["locate", "create", "remove", "list"].map((call) => [call, async () => []]);
    const provider = defineProvider({
      name: "${name}",
      apiVersion: "${name}.example.dev/v1",
      machineSpec: { kind: "${stem}MachineProviderSpec", schema: {} },
      machine: Object.fromEntries(calls),
    });
    ${how}`;
}

describe("providers from outside", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-outside-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (file: string, content: string | object): void => {
    const path = join(folder, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  };

  const namesIn = (env: Record<string, string> = {}, at = folder): string[] => {
    const providers = makeProviders(join(folder, "state"), new FakeClock(), { folder: at, env });
    try {
      return providers.all.map(({ name }) => name);
    } finally {
      providers.close();
    }
  };

  const project = (...providers: string[]): void =>
    write("package.json", { capstan: { providers } });

  it("are none where nothing is named", () => {
    assert.deepEqual(namesIn(), ["local", "aws"]);
    write("package.json", { name: "some-project" });
    assert.deepEqual(namesIn(), ["local", "aws"]);
  });

  it("are those of the example", () => {
    assert.deepEqual(namesIn({}, example), ["local", "aws", "folder"]);
  });

  const exports = {
    "the default export": "export default provider;",
    "the export provider": "export { provider };",
    "a function": "export default () => provider;",
    "a function called provider": "const make = () => provider; export { make as provider };",
  };
  for (const [what, how] of Object.entries(exports)) {
    it(`may be ${what}`, () => {
      project("./toy.mjs");
      write("toy.mjs", moduleText("toy", how));
      assert.deepEqual(namesIn(), ["local", "aws", "toy"]);
    });
  }

  it("may be a CommonJS module", () => {
    project("./toy.cjs");
    write(
      "toy.cjs",
      moduleText("toy", "module.exports = provider;").replace(
        'import { defineProvider } from "capstan/provider";',
        'const { defineProvider } = require("capstan/provider");',
      ),
    );
    assert.deepEqual(namesIn(), ["local", "aws", "toy"]);
  });

  it("may be an installed package, and named by a folder above", () => {
    project("capstan-provider-toy");
    write("node_modules/capstan-provider-toy/package.json", { type: "module", main: "index.js" });
    write("node_modules/capstan-provider-toy/index.js", moduleText("toy"));
    mkdirSync(join(folder, "clusters", "prod"), { recursive: true });
    assert.deepEqual(namesIn({}, join(folder, "clusters", "prod")), ["local", "aws", "toy"]);
  });

  it("are told the state folder, the clock and the environment", () => {
    project("./toy.mjs");
    const check = `export default ({ stateDir, clock, env }) => {
      if (stateDir !== ${JSON.stringify(join(folder, "state"))}) throw new Error(stateDir);
      if (clock.now() !== 1_000_000 || env.REGION !== "north") throw new Error("not told");
      return provider;
    };`;
    write("toy.mjs", moduleText("toy", check));
    assert.deepEqual(namesIn({ REGION: "north" }), ["local", "aws", "toy"]);
  });

  it("are not loaded by who asks for those of this release", () => {
    project("./toy.mjs");
    write("toy.mjs", "throw new Error('it runs')");
    const outside = { folder, env: {} };
    const providers = makeProviders(join(folder, "state"), new FakeClock(), outside);
    assert.deepEqual(
      providers.ours.map(({ name }) => name),
      ["local", "aws"],
    );
    assert.throws(() => providers.all, /it runs/);
    providers.close();
  });

  it("CAPSTAN_PROVIDERS overrides the project, also with nothing", () => {
    project("./toy.mjs");
    write("toy.mjs", moduleText("toy"));
    write("one.mjs", moduleText("one"));
    write("two.mjs", moduleText("two"));
    assert.deepEqual(namesIn({ CAPSTAN_PROVIDERS: "./one.mjs, ./two.mjs" }), [
      "local",
      "aws",
      "one",
      "two",
    ]);
    assert.deepEqual(namesIn({ CAPSTAN_PROVIDERS: "" }), ["local", "aws"]);
  });

  it("are loaded at the first look, and closed in the end", () => {
    project("./toy.mjs");
    const closing =
      "export default { ...provider, close: () => { globalThis.toyClosed = true; } };";
    write("toy.mjs", moduleText("toy", closing));
    const state = globalThis as { toyClosed?: boolean };
    const unused = makeProviders(folder, new FakeClock(), { folder, env: {} });
    assert.equal(unused.local.name, "local");
    unused.close();
    assert.equal(state.toyClosed, undefined);
    namesIn();
    assert.equal(state.toyClosed, true);
    delete state.toyClosed;
  });

  const refused: readonly {
    name: string;
    files: Record<string, string | object>;
    code?: string;
    message: RegExp;
    hint: RegExp;
  }[] = [
    {
      name: "a module that does not exist",
      files: {},
      code: "NOT_FOUND",
      message: /^cannot load provider \.\/toy\.mjs: there is no such module, seen from \//,
      hint: /install it, or correct capstan\.providers/,
    },
    {
      name: "a module whose own import does not exist",
      files: { "toy.mjs": 'import "no-such-package";' },
      message: /^cannot load provider \.\/toy\.mjs: Cannot find package 'no-such-package'/,
      hint: /the module itself has failed/,
    },
    {
      name: "a module with a syntax error",
      files: { "toy.mjs": "export default {" },
      message: /^cannot load provider \.\/toy\.mjs: /,
      hint: /the module itself has failed/,
    },
    {
      name: "a module that waits at the top level",
      files: { "toy.mjs": "await Promise.resolve(); export default {};" },
      message: /^cannot load provider \.\/toy\.mjs: /,
      hint: /must not use top-level await/,
    },
    {
      name: "a module that exports something else",
      files: { "toy.mjs": "export const answer = 42;" },
      message: /^cannot use provider \.\/toy\.mjs: it exports no provider$/,
      hint: /export what defineProvider returns/,
    },
    {
      name: "an object that has handlers and little else",
      files: { "toy.mjs": "export default { name: 'toy', handlers: {} };" },
      message: /toy\.mjs: apiVersion must be a text; .*; handlers must be a Map with a handler/,
      hint: /export what defineProvider returns/,
    },
    {
      name: "a provider with a call missing",
      files: {
        "toy.mjs": moduleText("toy", "export default { ...provider, inventory: undefined };"),
      },
      message: /^cannot use provider \.\/toy\.mjs: inventory must be a function$/,
      hint: /export what defineProvider returns/,
    },
    {
      name: "an async function",
      files: { "toy.mjs": moduleText("toy", "export default async () => provider;") },
      message: /its function must not be async/,
      hint: /export what defineProvider returns/,
    },
    {
      name: "a function that fails",
      files: { "toy.mjs": "export default ({ env }) => env.KEY.trim();" },
      message: /^cannot use provider \.\/toy\.mjs: Cannot read properties of undefined/,
      hint: /is called with \{ stateDir, clock, env \}/,
    },
    {
      name: "a definition that is not complete",
      files: {
        "toy.mjs": `import { defineProvider } from "capstan/provider";
          export default defineProvider({ name: "toy" });`,
      },
      message: /cannot define provider toy: apiVersion must be/,
      hint: /docs\/providers\.md|the module itself/,
    },
    {
      name: "a second provider of the same name",
      files: { "toy.mjs": moduleText("local") },
      message: /^cannot use provider \.\/toy\.mjs: name local is already that of capstan itself$/,
      hint: /take one of them out/,
    },
    {
      name: "key inputs of a kind that it does not have",
      files: {
        "toy.mjs": moduleText(
          "toy",
          `export default { ...provider, keyInputs: { ToyHosts: ["size"], Disk: ["size"] } };`,
        ),
      },
      message:
        /cannot use provider \.\/toy\.mjs: keyInputs\.ToyHosts has no handler, did you mean ToyHost\?; keyInputs\.Disk has no handler, kinds: ToyHost$/,
      hint: /export what defineProvider returns/,
    },
    {
      name: "a kind that is in every graph",
      files: {
        "toy.mjs": moduleText(
          "toy",
          `const handlers = new Map([["Revision", provider.handlers.get("ToyHost")]]);
           export default { ...provider, hostKind: "Revision", handlers };`,
        ),
      },
      message: /kind Revision is already that of capstan itself/,
      hint: /have its author rename it/,
    },
    {
      name: "a list that is none",
      files: { "package.json": { capstan: { providers: "./toy.mjs" } } },
      message: /package\.json: capstan\.providers must be a list of modules$/,
      hint: /"providers": \["\.\/provider\.js"\]/,
    },
    {
      name: "a package.json that is no JSON",
      files: { "package.json": "{" },
      message: /^cannot read .*package\.json: /,
      hint: /correct the file/,
    },
  ];
  for (const { name, files, code = "INVALID_INPUT", message, hint } of refused) {
    it(`refuses ${name}`, () => {
      project("./toy.mjs");
      for (const [file, content] of Object.entries(files)) write(file, content);
      assert.throws(
        () => namesIn(),
        (error: unknown) => {
          assert.ok(isCapstanError(error), String(error));
          assert.equal(error.code, code);
          assert.match(error.message, message);
          assert.match(error.hint ?? "", hint);
          return true;
        },
      );
    });
  }

  it("refuses two that share an API group, naming both", () => {
    project("./one.mjs", "./two.mjs");
    write("one.mjs", moduleText("one"));
    write("two.mjs", moduleText("one", 'export default { ...provider, name: "two" };'));
    assert.throws(() => namesIn(), {
      message:
        "cannot use provider ./two.mjs: API group one.example.dev is already that of ./one.mjs",
    });
  });

  it("refuses one that claims the API group of another as a former name of its own", () => {
    project("./one.mjs", "./two.mjs");
    write("one.mjs", moduleText("one"));
    const older = `{ ...provider, apiVersion: "two.example.dev/v0", formerly: ["one.example.dev/v1"] }`;
    const two = `{ ...provider, name: "two", apiVersion: "two.example.dev/v1", olderVersions: [${older}] }`;
    write("two.mjs", moduleText("one", `export default ${two};`));
    assert.throws(() => namesIn(), {
      message:
        "cannot use provider ./two.mjs: API group one.example.dev is already that of ./one.mjs",
    });
  });
});
