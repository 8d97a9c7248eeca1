import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Outcome } from "../scenario/command.js";
import { cleanEnv, commandLine, repository } from "../scenario/sandbox.js";

describe("what a command says beside its manifests", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-overrides-"));
    cpSync(join(repository, "examples", "quickstart"), folder, { recursive: true });
    const file = join(folder, "workers.yaml");
    const text = readFileSync(file, "utf8").replace(/replicas: \d+/, `replicas: \${REPLICAS}`);
    writeFileSync(file, text);
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const capstan = (code: number, args: readonly string[], env: NodeJS.ProcessEnv = {}): Outcome => {
    const ran = spawnSync(process.execPath, [commandLine, ...args], {
      cwd: folder,
      env: { ...cleanEnv(), ...env },
      encoding: "utf8",
    });
    assert.equal(ran.status, code, `capstan ${args.join(" ")}\n${ran.stdout}\n${ran.stderr}`);
    return { code: ran.status, stdout: ran.stdout, stderr: ran.stderr };
  };

  it("variables are values of the command line, or of the environment where it is allowed", () => {
    capstan(0, ["validate", "-f", ".", "--var", "REPLICAS=3"]);
    capstan(0, ["validate", "-f", ".", "--var-from-env", "REPLICAS"], { REPLICAS: "3" });
    const { stderr } = capstan(65, ["validate", "-f", ".", "--var", "OTHER=3"], { REPLICAS: "3" });
    assert.match(stderr, /workers\.yaml:\d+:\d+: error: .*variable REPLICAS is not allowed/);
    assert.match(stderr, /known: OTHER;/);
    const unset = capstan(65, ["validate", "-f", ".", "--var-from-env", "REPLICAS"]).stderr;
    assert.match(unset, /workers\.yaml:\d+:\d+: error: .*variable REPLICAS is not set/);
  });

  it("settings are told of in the place of a file", () => {
    const set = "MachineDeployment/workers:spec.replicas=many";
    const args = ["validate", "-f", ".", "--set", set];
    const { stderr } = capstan(65, args);
    assert.ok(
      stderr.startsWith(`--set ${set}: error: MachineDeployment default/workers: `),
      stderr,
    );
    const [line = ""] = capstan(65, [...args, "--json"]).stdout.split("\n");
    const { diagnostics } = JSON.parse(line) as { diagnostics: { position: object }[] };
    assert.deepEqual(diagnostics[0]?.position, { file: `--set ${set}` });
    capstan(0, ["validate", "-f", ".", "--set", "MachineDeployment/workers:spec.replicas=4"]);
  });

  it("they are what every verb plans from", () => {
    const graph = (count: string) =>
      capstan(0, ["graph", "-f", ".", "--var", `REPLICAS=${count}`]).stdout.match(
        /workers-\w+-\d/g,
      );
    assert.ok(new Set(graph("1")).size < new Set(graph("4")).size);
    const diff = ["diff", ".", ".", "--set", "MachineDeployment/workers:spec.replicas=4"];
    assert.match(capstan(0, diff).stdout, /are the same/);
  });

  it("they are refused in another form, and where no manifests are named", () => {
    assert.match(capstan(64, ["validate", "--var", "A"]).stderr, /expected NAME=VALUE/);
    assert.match(capstan(64, ["validate", "--var-from-env", "A B"]).stderr, /expected NAME,/);
    assert.match(capstan(64, ["validate", "--set", "replicas"]).stderr, /expected KIND\/NAME:/);
    for (const verb of ["status", "drift", "watch"]) {
      const { stderr } = capstan(64, [verb, "--set", "Machine/a:spec.x=1"]);
      assert.match(stderr, /--set Machine\/a:spec\.x changes what manifests say, and none are/);
    }
  });
});
