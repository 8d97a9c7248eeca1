import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { copyInsteadOf } from "../../src/engine/backend/checkpoint-repair.js";
import { run } from "../scenario/command.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { CountedPulumi } from "../scenario/counted-pulumi.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { cleanEnv, commandLine, type Sandbox } from "../scenario/sandbox.js";
import { copyReplaced, programOf } from "../support/mutant.js";
import { replaced } from "../support/replacement.js";
import { removeFolder } from "../support/folders.js";

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };
const pair: ScenarioCluster = { machines: { ...member.machines, "worker-0": {} } };

describe("a state that a full disk has cut off", () => {
  let sandbox: Sandbox;

  copyForEachTest(member, (copy) => {
    sandbox = copy;
  });

  const file = () =>
    join(sandbox.state, "pulumi", ".pulumi", "stacks", "capstan", `${demoStack}.json`);
  const aside = () => readdirSync(dirname(file())).filter((name) => name.includes(".damaged-"));
  const cutOff = (name = file()) => writeFileSync(name, readFileSync(name, "utf8").slice(0, 900));

  const reading = [
    ["status", demoStack],
    ["describe", demoStack],
    ["history", demoStack],
    ["drift", demoStack],
  ];
  it("is read from its last good copy, which is said, and nothing is written", async () => {
    cutOff();
    forgetUpdates("");
    const damaged = readFileSync(file(), "utf8");
    const commands = [...reading, ["plan", "-f", sandbox.manifests]];
    for (const args of commands) {
      const { stderr } = await sandbox.capstan(0, ...args);
      assert.match(
        stderr,
        /note: the state of default\.demo was cut off .* last good copy/,
        args[0],
      );
    }
    assert.equal(readFileSync(file(), "utf8"), damaged);
    assert.deepEqual(aside(), []);
  });

  it("is restored by an up, and what no copy knows is found in the cloud", async () => {
    const before = readFileSync(file(), "utf8");
    sandbox.write(pair);
    await sandbox.up();
    // As if nothing of that up could have been recorded: neither a state nor a copy of one.
    const folder = dirname(file());
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), before);
    forgetUpdates(before);
    cutOff();
    const { stderr, stdout } = await sandbox.up();
    assert.match(
      stderr,
      /note: the state of default\.demo .* was restored .* kept as \S+\.damaged-1/,
    );
    assert.match(stdout, /recovering/);
    assert.equal(aside().length, 1);
    await sandbox.assertSound(demoStack);
    await sandbox.plan(0);
  });

  it("without any copy is refused and left as it is", async () => {
    const folder = dirname(file());
    for (const name of readdirSync(folder)) writeFileSync(join(folder, name), "");
    forgetUpdates("");
    const { stderr } = await sandbox.up(1);
    assert.match(stderr, /cannot read the state of default\.demo in \S+\.json: /);
    assert.deepEqual(aside(), []);
  });

  /** Every copy in Pulumi's history and backups holds this instead. */
  const forgetUpdates = (text: string): void => {
    for (const kind of ["history", "backups"]) {
      const folder = join(sandbox.state, "pulumi", ".pulumi", kind, "capstan", demoStack);
      for (const name of readdirSync(folder)) {
        if (!name.endsWith(".history.json")) writeFileSync(join(folder, name), text);
      }
    }
  };

  it("that cannot be replaced is refused at once, before anything is begun", async () => {
    sandbox.write(pair);
    const before = sandbox.ledgerEnd();
    const pulumi = await CountedPulumi.in(sandbox.folder);
    const isRoot = process.getuid?.() === 0;
    // Modes are nothing to root.
    if (isRoot) execFileSync("chattr", ["+i", file()]);
    else chmodSync(dirname(file()), 0o500);
    try {
      const args = [commandLine, "--state", sandbox.state, "up", "--yes", "-f", sandbox.manifests];
      const env = { ...cleanEnv(), CAPSTAN_PULUMI: pulumi.program };
      const { code, stderr } = await run(process.execPath, args, { cwd: sandbox.folder, env });
      assert.equal(code, 1, stderr);
      assert.match(stderr, /cannot use \S+\/stacks\/capstan\S*: it is not open to this user/);
      assert.match(stderr, /Nothing was changed/);
      assert.deepEqual(pulumi.runs(), [], "no engine was tried");
    } finally {
      if (isRoot) execFileSync("chattr", ["-i", file()]);
      else chmodSync(dirname(file()), 0o700);
    }
    assert.deepEqual(sandbox.mutations(before), []);
    await sandbox.up();
    await sandbox.assertSound(demoStack);
  });

  it("stops a command that does not look for copies", async () => {
    const findsNoCopy = replaced(copyInsteadOf, () => () => undefined);
    const mutant = copyReplaced(["dist/src", "dist/providers"], [findsNoCopy]);
    try {
      cutOff();
      const args = [
        programOf(mutant),
        "--state",
        sandbox.state,
        "up",
        "--yes",
        "-f",
        sandbox.manifests,
      ];
      const { code, stderr } = await run(process.execPath, args, {
        cwd: sandbox.folder,
        env: cleanEnv(),
      });
      assert.equal(code, 1);
      assert.match(stderr, /unexpected end of JSON input/);
      await sandbox.up();
    } finally {
      removeFolder(mutant);
    }
  });

  it("takes no words of a command that goes on, when those cannot be written either", async () => {
    sandbox.write(pair);
    const words = `"$0" "${commandLine}" --state "$1" up --yes -f "$2" > /dev/full 2> /dev/full`;
    const args = ["-c", words, process.execPath, sandbox.state, sandbox.manifests];
    await run("sh", args, { cwd: sandbox.folder, env: cleanEnv() });
    await sandbox.assertSound(demoStack);
    await sandbox.plan(0);
  });
});
