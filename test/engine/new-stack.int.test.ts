import assert from "node:assert/strict";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parse } from "yaml";
import { ensurePulumi } from "#toolchain";
import { Engine } from "../../src/engine/pulumi/engine.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { demoStack } from "../scenario/manifests.js";
import { cleanEnv, Sandbox } from "../scenario/sandbox.js";
import { onlyLocal } from "../support/manifests.js";

describe("a stack that is made without Pulumi", () => {
  let sandbox: Sandbox;
  let workspace: Workspace;
  let engine: Engine;
  let started: number;

  beforeEach(async () => {
    sandbox = await Sandbox.make({ machines: { "cp-0": { controlPlane: true } } });
    const { bin: pulumi, binDir: pulumiBinDir } = await ensurePulumi();
    workspace = new Workspace({ stateDir: sandbox.state, pulumiBinDir, env: cleanEnv() });
    workspace.prepare();
    started = 0;
    engine = new Engine({
      pulumi,
      workspace,
      providers: onlyLocal,
      onEngine: () => (started += 1),
    });
  });
  afterEach(() => sandbox.close());

  const settings = () =>
    parse(readFileSync(workspace.stackFile(demoStack), "utf8")) as Record<string, unknown>;
  /** An export without who made the stack, and when, and with which salt. */
  const exported = async (stack: string) => {
    const args = ["stack", "export", "--show-secrets", "--stack", stack];
    const { stdout } = await sandbox.pulumi(0, args);
    return stdout.replace(/"(time|magic|version|salt)": ".*?"/g, '"$1": ""');
  };
  const ensure = async () => engine.ensureStack(demoStack, await engine.readState(demoStack));

  it("is to Pulumi what it would have made itself", async () => {
    await ensure();
    assert.equal(started, 0);
    await sandbox.pulumi(0, ["stack", "init", "default.other"]);
    assert.equal(await exported(demoStack), await exported("default.other"));
    const { stdout } = await sandbox.pulumi(0, ["stack", "ls", "--json"]);
    const listed = (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name);
    assert.deepEqual(listed.sort(), [demoStack, "default.other"]);
    assert.equal((await engine.readState(demoStack)).salt, settings()["encryptionsalt"]);
  });

  it("encrypts with our passphrase, so that Pulumi keeps secrets in it", async () => {
    await ensure();
    const secret = ["config", "set", "word", "hidden", "--secret", "--stack", demoStack];
    await sandbox.pulumi(0, secret);
    const { stdout } = await sandbox.pulumi(0, ["config", "get", "word", "--stack", demoStack]);
    assert.equal(stdout.trim(), "hidden");
    assert.ok(!readFileSync(workspace.stackFile(demoStack), "utf8").includes("hidden"));
    assert.equal(statSync(workspace.stackFile(demoStack)).mode & 0o077, 0);
  });

  it("is made once", async () => {
    await ensure();
    const salt = settings()["encryptionsalt"];
    await ensure();
    assert.equal(settings()["encryptionsalt"], salt);
    assert.equal(started, 0);
  });

  it("gets its settings back after a kill between its two files", async () => {
    await ensure();
    const salt = settings()["encryptionsalt"];
    rmSync(workspace.stackFile(demoStack));
    await ensure();
    assert.equal(settings()["encryptionsalt"], salt);
  });

  it("is left to Pulumi where somebody chose how it is encrypted", async () => {
    writeFileSync(workspace.stackFile(demoStack), "secretsprovider: nonsense://key\n");
    await ensure();
    assert.ok(started > 0);
  });

  it("is left to Pulumi in a backend that is not ours", async () => {
    const backend = pathToFileURL(join(sandbox.folder, "elsewhere")).href;
    const { binDir: pulumiBinDir } = await ensurePulumi();
    const given = { stateDir: sandbox.state, backend, pulumiBinDir, env: cleanEnv() };
    assert.equal(new Workspace(given).addCheckpoint(demoStack, "{}"), false);
    assert.equal(workspace.addCheckpoint(demoStack, "{}"), true);
  });
});
