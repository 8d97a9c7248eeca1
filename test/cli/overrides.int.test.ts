import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findKubernetes } from "#kubernetes";
import type { Outcome } from "../scenario/command.js";
import { cleanEnv, commandLine, repository, Sandbox } from "../scenario/sandbox.js";

describe("a saved plan of manifests that something is put into", () => {
  let sandbox: Sandbox;
  beforeEach(async () => {
    sandbox = await Sandbox.make({ example: "quickstart" });
  });
  afterEach(() => sandbox.close());

  it("is applied with the same options and values, and with no others", async () => {
    const files = ["-f", sandbox.manifests];
    const saved = join(sandbox.folder, "plan.json");
    const set = (count: number) => ["--set", `MachineDeployment/workers:spec.replicas=${count}`];
    const planned = await sandbox.capstan(2, "plan", ...files, ...set(1), "--out", saved);
    const again = "--set MachineDeployment/workers:spec.replicas=1";
    assert.ok(planned.stdout.includes(`plan.json ${again} applies this`), planned.stdout);
    assert.doesNotMatch(readFileSync(saved, "utf8"), /replicas=/);

    const without = await sandbox.capstan(64, "up", "--plan", saved);
    assert.match(
      without.stderr,
      /it was made with --set MachineDeployment\/workers:spec\.replicas/,
    );
    const other = await sandbox.capstan(6, "up", "--plan", saved, ...set(2));
    assert.match(other.stderr, /object MachineDeployment default\/workers has changed/);
    await sandbox.capstan(0, "up", "--plan", saved, ...set(1));
    const workers = sandbox.alive().filter(({ name }) => name.startsWith("workers-"));
    assert.equal(workers.length, 1);

    await sandbox.capstan(0, "plan", ...files, ...set(1));
    const { stdout } = await sandbox.capstan(0, "up", "--yes", ...files, ...set(2));
    assert.match(stdout, /Next: .*status .*--set MachineDeployment\/workers:spec\.replicas=2/);
  });
});

describe("environments of one definition, in one state", () => {
  let sandbox: Sandbox;
  beforeEach(async () => {
    sandbox = await Sandbox.make({ example: "quickstart" });
  });
  afterEach(() => sandbox.close());

  const stacks = async () => {
    const { stdout } = await sandbox.capstan(0, "status", "--json");
    const lines = stdout.trimEnd().split("\n");
    return lines.map((line) => (JSON.parse(line) as { stack: string }).stack).sort();
  };

  it("are overlays that kustomize builds and up reads", async () => {
    const kubernetes = findKubernetes(process.env);
    assert.ok(kubernetes !== undefined, "no kubectl: npm run setup installs one");
    const kubectl = join(kubernetes.binDir, "kubectl");
    const up = (overlay: string): Outcome => {
      const folder = join(repository, "examples", "overlays", overlay);
      const input = execFileSync(kubectl, ["kustomize", folder], { encoding: "utf8" });
      const args = [commandLine, "--state", sandbox.state, "up", "--yes", "-f", "-"];
      const env = cleanEnv();
      const ran = spawnSync(process.execPath, args, { input, env, encoding: "utf8" });
      assert.equal(ran.status, 0, ran.stdout + ran.stderr);
      return { code: 0, stdout: ran.stdout, stderr: ran.stderr };
    };
    assert.match(up("staging").stdout, /revision 1 of staging\/web, 3 machines run/);
    assert.match(up("prod").stdout, /revision 1 of prod\/web, 6 machines run/);
    assert.match(up("staging").stdout, /No changes/);
    assert.deepEqual(await stacks(), ["prod.web", "staging.web"]);
  });

  it("are told apart by a variable in their names, and none is missing in the other's manifests", async () => {
    for (const file of ["cluster.yaml", "workers.yaml"]) {
      const path = join(sandbox.manifests, file);
      const text = readFileSync(path, "utf8").replace(/\bquickstart\b/g, `web-\${ENV}`);
      writeFileSync(path, text);
    }
    await sandbox.up(0, "--var", "ENV=staging");
    await sandbox.up(0, "--var", "ENV=prod");
    assert.deepEqual(await stacks(), ["default.web-prod", "default.web-staging"]);
    const { stdout } = await sandbox.up(0, "--var", "ENV=staging");
    assert.match(stdout, /No changes/);
  });
});
