import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageVersion } from "../../src/cli/package.js";
import { cleanEnv, commandLine, repository } from "../scenario/sandbox.js";
import { copyReplaced } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";

/** Preloaded: writes the files of modules that a process has loaded, one a line, where LOADED says. */
const counter = `
  import { writeFileSync } from "node:fs";
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({
    load(url, context, next) {
      if (url.startsWith("file:")) loaded.push(url);
      return next(url, context);
    },
  });
  process.on("exit", () => writeFileSync(process.env.LOADED, loaded.join("\\n")));
`;

describe("what is joined", () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-test-"));
    writeFileSync(join(folder, "counter.mjs"), counter);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = folder) =>
    spawnSync(process.execPath, args, {
      cwd,
      encoding: "utf8",
      env: { ...cleanEnv(), ...env },
    });
  const loadedBy = (code: number, ...args: string[]): string[] => {
    const file = join(folder, "loaded");
    const preload = pathToFileURL(join(folder, "counter.mjs")).href;
    const ran = run(["--import", preload, ...args], { LOADED: file });
    assert.equal(ran.status, code, ran.stderr);
    return readFileSync(file, "utf8").split("\n");
  };

  it("says that a Pulumi which was named cannot be used, as of any other input", () => {
    const env = { CAPSTAN_PULUMI: join(folder, "nowhere") };
    const { status, stderr } = run([commandLine, "status", "default/demo"], env);
    assert.equal(status, 1);
    assert.match(
      stderr,
      /^error: cannot use CAPSTAN_PULUMI \S+nowhere: there is no pulumi program$/m,
    );
    assert.match(stderr, /^hint: set it to an installed pulumi /m);
  });

  it("ends while Pulumi is set up when it is interrupted, in plain words", async () => {
    const bin = join(folder, "with-go");
    mkdirSync(bin);
    writeFileSync(
      join(bin, "go"),
      '#!/bin/sh\n[ "$1" = version ] && echo go version go1.99.0 linux/amd64 && exit\nexec /bin/sleep 600\n',
      { mode: 0o755 },
    );
    // Nothing answers there: the download fails at once, and the build begins.
    const preload = join(folder, "no-network.mjs");
    writeFileSync(preload, 'globalThis.fetch = () => Promise.reject(new Error("no network"));\n');
    const command = spawn(
      process.execPath,
      ["--import", pathToFileURL(preload).href, commandLine, "status", "default/demo"],
      {
        cwd: folder,
        env: { ...cleanEnv(), PATH: bin, CAPSTAN_CACHE: join(folder, "cache") },
        stdio: ["ignore", "ignore", "pipe"],
      },
    );
    let stderr = "";
    command.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (!stderr.includes("building") && `${stderr}${text}`.includes("building")) {
        command.kill("SIGINT");
      }
      stderr += text;
    });
    const [code] = (await once(command, "exit")) as [number | null];
    assert.equal(code, 130, stderr);
    assert.match(stderr, /^error: interrupted$/m);
    assert.doesNotMatch(stderr, /defect/);
  });

  it("starts from few files, and from bin", () => {
    const loaded = loadedBy(0, join(repository, "bin", "capstan.mjs"), "--version");
    assert.ok(loaded.includes(pathToFileURL(commandLine).href), loaded.join("\n"));
    assert.ok(loaded.length < 40, `${loaded.length} files:\n${loaded.join("\n")}`);
  });

  it("plans without a single file of a dependency, or of the modules that are joined", () => {
    const quickstart = join(repository, "examples", "quickstart");
    const loaded = loadedBy(2, commandLine, "plan", "-f", quickstart);
    const single = loaded.filter((url) => /\/node_modules\/|\/dist\/(src|providers)\//.test(url));
    assert.deepEqual(single, []);
    assert.ok(loaded.length < 130, `${loaded.length} files`);
  });

  it("is made anew as a whole from modules that have changed", () => {
    const edited = replaced(packageVersion, (original) => () => `${original()}-edited`);
    const copy = copyReplaced(["dist/src", "dist/providers"], [edited]);
    try {
      const left = join(copy, "dist", "cli", "chunk-of-before.js");
      mkdirSync(dirname(left));
      writeFileSync(left, "");
      const made = run([join(copy, "tools", "dev", "bundle.mjs")]);
      assert.equal(made.status, 0, made.stderr);
      const { stdout } = run([join(copy, "dist", "cli", "main.js"), "version"]);
      assert.match(stdout, /^capstan \d+\.\d+\.\d+-edited$/m);
      assert.deepEqual(
        [existsSync(left), existsSync(`${dirname(left)}.unfinished`)],
        [false, false],
      );
    } finally {
      rmSync(copy, { recursive: true, force: true });
    }
  });

  for (const folder of ["cli", "program"].map((name) => join(repository, "dist", name))) {
    it(`passes on the licence of all that is joined in ${basename(folder)}`, () => {
      const joined = readdirSync(folder)
        .filter((name) => name.endsWith(".js"))
        .map((name) => readFileSync(join(folder, name), "utf8"))
        .flatMap((code) => [
          ...code.matchAll(/^ *\/\/ .*node_modules\/((?:@[^/\n]+\/)?[^/\n]+)\//gm),
        ])
        .map(([, name = ""]) => name);
      const licences = readFileSync(join(folder, "LICENSES.txt"), "utf8");
      const listed = [...licences.matchAll(/^(\S+) \d+\.\d+\.\d+\S* \(.+\)\n\n(?!\n)/gm)];
      assert.deepEqual(
        [...new Set(joined)].sort(),
        [...new Set(listed.map(([, name = ""]) => name))].sort(),
      );
      assert.ok(joined.includes("typebox"));
    });
  }

  it("gives a Pulumi program few files beside those of Pulumi", () => {
    const program = join(folder, "program.mjs");
    const entry = pathToFileURL(join(repository, "dist", "src", "index.js")).href;
    writeFileSync(program, `import { cluster } from ${JSON.stringify(entry)}; void cluster;`);
    const loaded = loadedBy(0, program);
    const own = loaded.filter((url) => /\/dist\/(src|providers|program)\//.test(url));
    assert.ok(
      own.some((url) => url.endsWith("/dist/program/cluster.js")),
      own.join("\n"),
    );
    assert.ok(own.length < 20, `${own.length} files:\n${own.join("\n")}`);
  });

  it("knows an error that a provider from outside throws, whose modules are single ones", () => {
    const project = join(folder, "project");
    mkdirSync(join(project, "node_modules"), { recursive: true });
    symlinkSync(repository, join(project, "node_modules", "capstan"));
    writeFileSync(
      join(project, "package.json"),
      '{ "type": "module", "capstan": { "providers": ["./provider.js"] } }',
    );
    writeFileSync(
      join(project, "provider.js"),
      `import { CapstanError } from "capstan/provider";
      export default () => {
        throw new CapstanError({ code: "NOT_FOUND", source: "user", message: "no account", hint: "log in" });
      };`,
    );
    const quickstart = join(repository, "examples", "quickstart");
    const { stderr } = run([commandLine, "plan", "-f", quickstart], {}, project);
    assert.match(stderr, /^error: no account\n.*log in/m);
    assert.doesNotMatch(stderr, /defect/);
  });
});
