import assert from "node:assert/strict";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ensurePulumi } from "#toolchain";
import { CheckpointReader } from "../../src/engine/backend/checkpoint-reader.js";
import { Engine } from "../../src/engine/pulumi/engine.js";
import { StackKeys } from "../../src/engine/backend/stack-keys.js";
import { parseExport, stateOf } from "../../src/engine/backend/state.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { run } from "../scenario/command.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { cleanEnv, Sandbox } from "../scenario/sandbox.js";
import { failsWith } from "../support/errors.js";
import { onlyLocal } from "../support/manifests.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };

async function workspaceOf(sandbox: Sandbox, env: NodeJS.ProcessEnv = {}): Promise<Workspace> {
  const { binDir: pulumiBinDir } = await ensurePulumi();
  return new Workspace({ stateDir: sandbox.state, pulumiBinDir, env: { ...cleanEnv(), ...env } });
}

function readerOf(workspace: Workspace): CheckpointReader {
  return new CheckpointReader(workspace, new StackKeys(workspace));
}

function fileOf(workspace: Workspace): string {
  const file = workspace.checkpointFile(demoStack);
  assert.ok(file !== undefined && existsSync(file));
  return file;
}

async function assertReadsLikePulumi(sandbox: Sandbox): Promise<void> {
  const deployment = await readerOf(await workspaceOf(sandbox)).read(demoStack);
  assert.ok(deployment !== undefined, "it is read without Pulumi");
  const args = ["stack", "export", "--show-secrets", "--stack", demoStack];
  const { stdout } = await sandbox.pulumi(0, args);
  assert.deepEqual(stateOf(deployment, demoStack), parseExport(stdout, demoStack));
}

describe("a state that is read without Pulumi", () => {
  let sandbox: Sandbox;

  copyForEachTest(pair, (copy) => {
    sandbox = copy;
  });

  const recorded: { name: string; bring(): Promise<void> }[] = [
    { name: "a committed revision", bring: async () => {} },
    {
      name: "a creation that was killed",
      bring: async () => {
        sandbox.write({ machines: { ...pair.machines, "worker-1": {} } });
        const fault = { call: "create", mode: "hangAfter", name: "worker-1" };
        await (await sandbox.startHanging(fault)).killTree();
      },
    },
    {
      name: "an update that failed",
      bring: async () => {
        sandbox.write({ machines: { ...pair.machines, "worker-0": { kubelet: "1.34.3" } } });
        await sandbox.cloud.fault("update", "fail", { name: "worker-0" });
        await sandbox.startUp().finished;
      },
    },
    {
      name: "nothing, in a stack that Pulumi has made anew after a destroy",
      bring: async () => {
        await sandbox.capstan(0, "destroy", "--yes", demoStack);
        await sandbox.pulumi(0, ["stack", "init", demoStack]);
      },
    },
  ];
  for (const { name, bring } of recorded) {
    it(`is what Pulumi exports: ${name}`, async () => {
      await bring();
      await assertReadsLikePulumi(sandbox);
    });
  }

  const flipped = (text: string) => text.replace(/"ciphertext":"v1:./, '"ciphertext":"v1:*');
  const strange: { name: string; edit(text: string): string }[] = [
    { name: "of a version to come", edit: (text) => text.replace('"version":3', '"version":99') },
    { name: "with a damaged secret", edit: flipped },
    {
      name: "with resources of another shape",
      edit: (text) => text.replace('"urn":', '"urn":7,"was":'),
    },
  ];
  for (const { name, edit } of strange) {
    it(`is left to Pulumi, which refuses it: ${name}`, async () => {
      const workspace = await workspaceOf(sandbox);
      const file = fileOf(workspace);
      const before = readFileSync(file, "utf8");
      const damaged = edit(before);
      assert.notEqual(damaged, before);
      writeFileSync(file, damaged);
      assert.equal(await readerOf(workspace).read(demoStack), undefined);
      const { bin: pulumi } = await ensurePulumi();
      const reading = new Engine({ pulumi, workspace, providers: onlyLocal }).readState(demoStack);
      await assert.rejects(reading, failsWith("BAD_STATE", /in \S+default\.demo\.json: /));
      assert.equal(readFileSync(file, "utf8"), damaged);
    });
  }

  it("is found compressed as well, and left to Pulumi", async () => {
    const env = { PULUMI_DIY_BACKEND_GZIP: "true" };
    const plain = fileOf(await workspaceOf(sandbox));
    const { stdout } = await sandbox.pulumi(0, ["stack", "export", "--stack", demoStack]);
    const file = join(sandbox.folder, "exported.json");
    writeFileSync(file, stdout);
    const program = join((await ensurePulumi()).binDir, "pulumi");
    const { code } = await run(
      program,
      ["stack", "import", "--stack", demoStack, "--file", file, "--non-interactive"],
      { cwd: join(sandbox.state, "work"), env: { ...sandbox.pulumiEnv(), ...env } },
    );
    assert.equal(code, 0);
    assert.equal(existsSync(plain), false);
    const workspace = await workspaceOf(sandbox);
    assert.equal(await readerOf(workspace).read(demoStack), undefined);
    const { bin: pulumi } = await ensurePulumi();
    const state = await new Engine({ pulumi, workspace, providers: onlyLocal }).readState(
      demoStack,
    );
    assert.equal(state.revision?.number, 1);
  });
});

describe("the key of a state", () => {
  let sandbox: Sandbox;

  beforeEach(async () => {
    sandbox = await Sandbox.make(pair);
    await sandbox.up();
  });
  afterEach(() => sandbox.close());

  const keyFile = () => join(sandbox.state, "keys", demoStack);
  const read = async (env?: NodeJS.ProcessEnv) =>
    readerOf(await workspaceOf(sandbox, env)).read(demoStack);

  it("is kept beside our own passphrase, for its owner alone", async () => {
    await read();
    assert.equal(statSync(keyFile()).mode & 0o777, 0o600);
    assert.equal(statSync(dirname(keyFile())).mode & 0o777, 0o700);
    const kept = readFileSync(keyFile(), "utf8");
    await read();
    assert.equal(readFileSync(keyFile(), "utf8"), kept);
  });

  it("opens nothing once the passphrase is another one", async () => {
    await read();
    writeFileSync(join(sandbox.state, "passphrase"), "another one\n");
    assert.equal(await read(), undefined);
  });

  it("is derived again when the file is damaged", async () => {
    await read();
    const { origin } = JSON.parse(readFileSync(keyFile(), "utf8")) as { origin: string };
    for (const damaged of ["", "{}", JSON.stringify({ origin, key: "AAAA" })]) {
      writeFileSync(keyFile(), damaged);
      assert.notEqual(await read(), undefined);
      assert.notEqual(readFileSync(keyFile(), "utf8"), damaged);
    }
  });

  it("is never kept for a passphrase of the user's", async () => {
    await read();
    writeFileSync(keyFile(), "untouched");
    const passphrase = readFileSync(join(sandbox.state, "passphrase"), "utf8").trim();
    const named = join(sandbox.folder, "mine");
    writeFileSync(named, `  ${passphrase}\n\n`);
    for (const env of [
      { PULUMI_CONFIG_PASSPHRASE: passphrase },
      { PULUMI_CONFIG_PASSPHRASE_FILE: named },
    ]) {
      assert.notEqual(await read(env), undefined);
      assert.equal(readFileSync(keyFile(), "utf8"), "untouched");
    }
  });
});
