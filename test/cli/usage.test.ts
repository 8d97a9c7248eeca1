import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "../scenario/command.js";
import { cleanEnv, repository } from "../scenario/sandbox.js";

const bin = join(repository, "bin", "capstan.mjs");
const { version } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
  version: string;
};

describe("bin/capstan.mjs", () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-test-"));
  });
  after(() => rmSync(folder, { recursive: true }));

  const cases: { given: string[]; code: number; stdout?: RegExp; stderr?: RegExp }[] = [
    { given: ["--help"], code: 0, stdout: /^Usage: capstan .*\bplan\b.*\bdestroy\b/s },
    { given: ["up", "--help"], code: 0, stdout: /^Usage: capstan up .*--yes/s },
    { given: ["--version"], code: 0, stdout: new RegExp(`^${version.replaceAll(".", "\\.")}\n$`) },
    {
      given: ["version"],
      code: 0,
      stdout: new RegExp(`^capstan ${version.replaceAll(".", "\\.")}\n$`),
    },
    { given: ["version", "--json"], code: 0, stdout: /^\{"type":"version","version":"[^"]+"\}\n$/ },
    { given: [], code: 64, stderr: /^Usage: capstan/ },
    { given: ["fly"], code: 64, stderr: /unknown command 'fly'/ },
    { given: ["fly", "--help"], code: 64, stderr: /^error: unknown command 'fly'\n/ },
    { given: ["--json", "fly", "-h"], code: 64, stdout: /"code":"BAD_USAGE".*command 'fly'/ },
    { given: ["local", "fly", "--help"], code: 64, stderr: /^error: unknown command 'fly'\n/ },
    { given: ["help"], code: 0, stdout: /^Usage: capstan \[options\] \[command\]/ },
    { given: ["help", "up"], code: 0, stdout: /^Usage: capstan up .*--yes/s },
    { given: ["help", "local", "kill"], code: 0, stdout: /^Usage: capstan local kill / },
    { given: ["local", "help", "kill"], code: 0, stdout: /^Usage: capstan local kill / },
    { given: ["help", "fly"], code: 64, stderr: /^error: unknown command 'fly'\n/ },
    { given: ["help", "apply"], code: 64, stderr: /capstan up --plan FILE applies/ },
    { given: ["history", "default.a", "--help"], code: 0, stdout: /^Usage: capstan history / },
    { given: ["up", "--fly"], code: 64, stderr: /unknown option '--fly'/ },
    {
      given: ["up", "--timeout", "soon"],
      code: 64,
      stderr: /expected seconds, or a time such as 30s/,
    },
    { given: ["up"], code: 64, stderr: /which manifests\?/ },
    { given: ["destroy"], code: 64, stderr: /which cluster\?/ },
    { given: ["local"], code: 64, stderr: /Usage: capstan local/ },
    { given: ["local", "fault", "create", "explode"], code: 64, stderr: /modes are fail, / },
    { given: ["up", "-f", join(repository, "examples/quickstart")], code: 64, stderr: /add --yes/ },
  ];
  for (const { given, code, stdout, stderr } of cases) {
    it(`${given.join(" ").replace(repository, "")} -> ${code}`, async () => {
      const outcome = await run(process.execPath, [bin, ...given], {
        cwd: folder,
        env: cleanEnv(),
      });
      assert.equal(outcome.code, code, outcome.stderr);
      assert.match(outcome.stdout, stdout ?? /^(?!.*error)/s);
      assert.match(outcome.stderr, stderr ?? /^$/);
    });
  }

  it("keeps everything in .capstan in the current folder", async () => {
    const options = { cwd: folder, env: cleanEnv() };
    const outcome = await run(process.execPath, [bin, "local", "fault", "create", "fail"], options);
    assert.equal(outcome.code, 0, outcome.stderr);
    assert.ok(existsSync(join(folder, ".capstan", "local-cloud.db")));
  });
});
