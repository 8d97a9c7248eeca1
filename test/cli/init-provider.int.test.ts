import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { packageVersion } from "../../src/cli/package.js";
import { npmEnv } from "../scenario/packed-package.js";
import { cleanEnv, repository } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";

const { dependencies } = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")) as {
  dependencies: { semver: string };
};

/** What a program wrote, and how it ended. */
interface Ran {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

describe("capstan init --provider-package", () => {
  let folder: string;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-starter-"));
  });
  after(() => removeFolder(folder));

  const node = (args: string[], cwd = folder): Ran =>
    spawnSync(process.execPath, args, { cwd, encoding: "utf8", env: cleanEnv() });

  const npm = (cwd: string, ...args: string[]): Ran => {
    const clean = npmEnv(cleanEnv());
    const PATH = [dirname(process.execPath), clean["PATH"]].join(delimiter);
    const env = { ...clean, PATH, npm_config_prefer_offline: "true" };
    const ran = spawnSync("npm", args, { cwd, encoding: "utf8", env });
    assert.equal(ran.status, 0, `npm ${args.join(" ")}\n${ran.stdout}\n${ran.stderr}`);
    return ran;
  };

  const init = (...args: string[]): Ran => {
    const ran = node([join(repository, "bin/capstan.mjs"), "init", "--provider-package", ...args]);
    assert.equal(ran.status, 0, ran.stderr);
    return ran;
  };

  it("writes a package that takes another package first, and passes at once", () => {
    const { stdout } = init("capstan-provider-my-cloud");
    assert.match(stdout, /^Package capstan-provider-my-cloud with provider my-cloud:\n/);
    assert.match(stdout, /\nNext: cd capstan-provider-my-cloud, npm install, npm test;/);
    const made = join(folder, "capstan-provider-my-cloud");
    npm(made, "install", `semver@${dependencies.semver}`);
    assert.ok(existsSync(join(made, "node_modules", "semver")));
    const tested = npm(made, "test", "--", "--test-reporter=tap");
    assert.match(tested.stdout, /^# pass 4\d$/m);
    assert.match(tested.stdout, /^# fail 0$/m);
    const skipped = [...tested.stdout.matchAll(/# SKIP (.+)$/gm)].map(([, reason]) => reason);
    assert.ok(skipped.includes("the provider serves one version"), skipped.join("\n"));
    assert.ok(!skipped.some((reason) => reason?.startsWith("the world")), skipped.join("\n"));
    const badge = node(["report.js", "--badge"], made);
    assert.match(badge.stdout, /^!\[capstan conformance: 4\d passed, 0 failed.+-brightgreen\)$/m);
    const report = JSON.parse(node(["report.js", "--json"], made).stdout) as object;
    assert.ok("provider" in report && report.provider === "my-cloud");
  });

  it("writes everything in the provider's own name", () => {
    init("@my-company/widgets", "elsewhere");
    const made = join(folder, "elsewhere");
    const files = readdirSync(made, { recursive: true, encoding: "utf8" });
    assert.ok(files.includes(join(".github", "workflows", "test.yml")), files.join(", "));
    for (const file of files.filter((one) => /\.\w+$/.test(one) && one !== ".github")) {
      const text = readFileSync(join(made, file), "utf8");
      assert.doesNotMatch(text, /acme/i, file);
    }
    const { name, peerDependencies, devDependencies } = JSON.parse(
      readFileSync(join(made, "package.json"), "utf8"),
    ) as { name: string } & Record<string, Record<string, string>>;
    assert.equal(name, "@my-company/widgets");
    assert.equal(peerDependencies?.["capstan"], `^${packageVersion()}`);
    const path = devDependencies?.["capstan"]?.replace(/^file:/, "") ?? "";
    assert.equal(join(made, path, "/"), repository);
    const provider = readFileSync(join(made, "provider.js"), "utf8");
    assert.match(provider, /kind: "WidgetsMachineProviderSpec"/);
  });
});
