import assert from "node:assert/strict";
import { ensurePulumi } from "#toolchain";
import { withLockedStack } from "../../src/engine/pulumi/locked-stack.js";
import { noteEngine, noteRunning } from "../../src/engine/locks/engine-roster.js";
import type { LeaseTerm } from "../../src/engine/locks/lease-term.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { systemClock } from "../../src/provider/clock.js";
import { failsWith } from "../support/errors.js";
import { onlyLocal } from "../support/manifests.js";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import type { Command } from "../scenario/command.js";
import { CountedPulumi } from "../scenario/counted-pulumi.js";
import { copyForEachTest } from "../scenario/copy-for-each-test.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import type { Sandbox } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";

const member: ScenarioCluster = { machines: { "cp-0": { controlPlane: true } } };
const pair: ScenarioCluster = { machines: { ...member.machines, "worker-0": {} } };

describe("the locks on a stack", () => {
  let sandbox: Sandbox;

  copyForEachTest(member, (copy) => {
    sandbox = copy;
    sandbox.write(pair);
  });

  const hang = (): Promise<Command> =>
    sandbox.startHanging({ call: "create", mode: "hangAfter", name: "worker-0" });

  const locksFolder = () =>
    join(sandbox.state, "pulumi", ".pulumi", "locks", "organization", "capstan", demoStack);

  /** Writes a lock as Pulumi's file backend does. */
  const writePulumiLock = (holder: { pid: number; host: string; since: Date }): void => {
    mkdirSync(locksFolder(), { recursive: true });
    const { pid, host, since } = holder;
    writeFileSync(
      join(locksFolder(), "01234567-89ab-cdef-0123-456789abcdef.json"),
      JSON.stringify({
        pid,
        username: userInfo().username,
        hostname: host,
        timestamp: since.toISOString(),
      }),
    );
  };

  it("let one command in and tell the other who is there", async () => {
    const first = await hang();
    const before = sandbox.ledgerEnd();
    const { stderr } = await sandbox.up(5);
    const { username } = userInfo();
    assert.ok(
      stderr.includes(`it is locked by ${username}@${hostname()} (pid ${first.pid}, `),
      stderr,
    );
    assert.ok(stderr.includes(`"capstan up -f ${sandbox.manifests}", since 20`), stderr);
    await sandbox.capstan(5, "destroy", "--yes", demoStack);
    assert.deepEqual(sandbox.mutations(before), []);
    await sandbox.plan(2);
    await sandbox.capstan(0, "status", demoStack);
  });

  it("of another machine keep everybody out but who is alone by a lease", async () => {
    const { binDir, bin } = await ensurePulumi();
    const workspace = new Workspace({
      stateDir: sandbox.state,
      pulumiBinDir: binDir,
      env: process.env,
    });
    const since = new Date(Date.now() - 60_000);
    const asks = async (term?: LeaseTerm) => {
      const about = { stack: demoStack, command: "test", clock: systemClock };
      const tools = {
        pulumi: bin,
        workspace,
        providers: onlyLocal,
        ...(term !== undefined && { term }),
      };
      return withLockedStack({ ...about, ...tools }, ({ unsettled }) => Promise.resolve(unsettled));
    };
    writePulumiLock({ pid: 1, host: "another-machine", since });
    await assert.rejects(asks(), failsWith("LOCKED"));
    const term = { lease: "uid", transition: 7 };
    const later = { ...term, transition: 8 };
    // Whoever locked it has not led: a lease tells nothing of them, whenever it began.
    await assert.rejects(asks(later), failsWith("LOCKED", /@another-machine/));
    const identity = { host: "another-machine", boot: "elsewhere", pid: 1, started: "1" };
    noteEngine(sandbox.state, { identity, sinceMs: since.getTime() - 500, term });
    await assert.rejects(asks(), failsWith("LOCKED"));
    await assert.rejects(asks(term), failsWith("LOCKED"));
    await assert.rejects(asks({ ...later, lease: "made again" }), failsWith("LOCKED"));
    // What that machine last asked for may still happen.
    assert.equal(await asks(later), true);
    assert.deepEqual(readdirSync(locksFolder()), []);
  });

  it("of somebody else's stack stay, however dead their holders are", async () => {
    const { binDir, bin } = await ensurePulumi();
    const workspace = new Workspace({
      stateDir: sandbox.state,
      pulumiBinDir: binDir,
      env: process.env,
    });
    const asks = (owner: string) => {
      const about = { stack: demoStack, command: "test", clock: systemClock, owner };
      const tools = { pulumi: bin, workspace, providers: onlyLocal };
      return withLockedStack({ ...about, ...tools }, () => Promise.resolve());
    };
    await deadEngine((pid) => noteRunning(sandbox.state, pid));
    await assert.rejects(asks("another-server"), failsWith("NOT_OWNER"));
    assert.equal(readdirSync(locksFolder()).length, 1);
    await asks("files");
    assert.deepEqual(readdirSync(locksFolder()), []);
  });

  it("keep out a plain pulumi while a pass runs", async () => {
    await hang();
    const { stderr } = await sandbox.plain(1, "refresh", demoStack, "--yes");
    assert.match(stderr, /the stack is currently locked/);
  });

  it("keep a command out while a plain pulumi works", async () => {
    const fault = { call: "get", mode: "hang", name: "cp-0" };
    const refresh = await sandbox.startHanging(fault, () =>
      sandbox.startPlain("refresh", demoStack, "--yes"),
    );
    const { stderr } = await sandbox.up(5);
    assert.match(stderr, new RegExp(`\\(pid ${refresh.pid}, a Pulumi engine, since 20`));
  });

  it("keep a command out also when the clock was set while a plain pulumi works", async () => {
    const fault = { call: "get", mode: "hang", name: "cp-0" };
    const refresh = await sandbox.startHanging(fault, () =>
      sandbox.startPlain("refresh", demoStack, "--yes"),
    );
    const folder = locksFolder();
    for (const name of readdirSync(folder)) {
      const lock = JSON.parse(readFileSync(join(folder, name), "utf8")) as object;
      const yesterday = new Date(Date.now() - 24 * 60 * 60 * 1000).toISOString();
      writeFileSync(join(folder, name), JSON.stringify({ ...lock, timestamp: yesterday }));
    }
    const { stderr } = await sandbox.up(5);
    assert.match(stderr, new RegExp(`\\(pid ${refresh.pid}, a Pulumi engine, since 20`));
  });

  it("that cannot be read are not taken for none, and are unlocked by the hint", async () => {
    mkdirSync(locksFolder(), { recursive: true });
    writeFileSync(join(locksFolder(), "strange.json"), '{"pid":1}');
    const before = sandbox.ledgerEnd();
    const { stderr } = await sandbox.up(1);
    assert.match(stderr, /cannot tell who has locked default\.demo: \S+strange\.json: /);
    assert.deepEqual(sandbox.mutations(before), []);
    const [, verb = "", stack = ""] = /run capstan .*?(unlock) (\S+)/.exec(stderr) ?? [];
    const { stdout } = await sandbox.capstan(0, verb, stack, "--yes");
    assert.match(stdout, /whom \S+strange\.json does not name: it names no holder: nothing here/);
    await sandbox.up();
    await sandbox.assertSound(demoStack);
  });

  it("that a full disk has cut off were never held, and are removed", async () => {
    mkdirSync(locksFolder(), { recursive: true });
    for (const [name, text] of Object.entries({ "a.json": "", "b.json": '{"pid":1,"user' })) {
      writeFileSync(join(locksFolder(), name), text);
    }
    await sandbox.up();
    assert.deepEqual(readdirSync(locksFolder()), []);
    await sandbox.assertSound(demoStack);
  });

  it("that a killed Pulumi had not finished writing were never held, and are removed", async () => {
    mkdirSync(locksFolder(), { recursive: true });
    // Its name until it is whole: the lock's own, and when the writing began.
    writeFileSync(join(locksFolder(), "01234567.json.18a2f3b4c5d6e7f8.tmp"), "");
    await sandbox.up(0);
    assert.deepEqual(readdirSync(locksFolder()), []);
    await sandbox.assertSound(demoStack);
  });

  it("that go while an engine reads them are no failure", async () => {
    mkdirSync(locksFolder(), { recursive: true });
    // Listed, and not there for whoever reads it.
    const lock = join(locksFolder(), "01234567-89ab-cdef-0123-456789abcdef.json");
    symlinkSync(join(locksFolder(), "gone"), lock);
    const pulumi = await CountedPulumi.in(sandbox.folder);
    sandbox.runner = ["env", `CAPSTAN_PULUMI=${pulumi.program}`];
    const command = sandbox.startUp();
    const engines = () => pulumi.runs().filter((words) => /^(?:up|refresh)\b/.test(words));
    await until("an engine has begun again", () => engines().length > 1);
    rmSync(lock);
    const { code, stderr } = await command.finished;
    assert.equal(code, 0, stderr);
    await sandbox.assertSound(demoStack);
  });

  it("do not keep anybody from the environment of a plain pulumi", async () => {
    const command = await hang();
    writeFileSync(join(sandbox.folder, "Pulumi.yaml"), "name: capstan\nruntime: nodejs\n");
    await sandbox.capstan(0, "env", "default/demo");
    assert.equal(command.hasEnded, false);
  });

  /** An engine that has begun, of which a command has noted that, and that has ended without a word. */
  const deadEngine = async (note: (pid: number) => void): Promise<number> => {
    const engine = spawn("sleep", ["600"]);
    const { pid } = engine;
    assert.ok(pid !== undefined);
    note(pid);
    writePulumiLock({ pid, host: hostname(), since: new Date() });
    engine.kill("SIGKILL");
    await once(engine, "exit");
    return pid;
  };

  it("of a Pulumi engine that is dead are released without a word", async () => {
    await deadEngine((pid) => noteRunning(sandbox.state, pid));
    await sandbox.up();
    await sandbox.assertSound(demoStack);
  });

  it("of one who lives are not unlocked, and of one of whom nobody knows for a person alone", async () => {
    writePulumiLock({ pid: 1, host: "elsewhere.example", since: new Date() });
    const refused = await sandbox.capstan(64, "unlock", demoStack);
    assert.match(refused.stdout, /@elsewhere\.example \(pid 1, .*: nothing here can tell/);
    assert.match(refused.stderr, /cannot ask for confirmation/);
    const first = sandbox.startUp();
    await first.finished;
    assert.equal(readdirSync(locksFolder()).length, 1);
    const asked = await sandbox.capstan(0, "unlock", demoStack, "--yes", "--json");
    const { locks, removed } = JSON.parse(asked.stdout) as { locks: object[]; removed: number };
    assert.deepEqual([locks.length, removed], [1, 1]);
    assert.deepEqual(readdirSync(locksFolder()), []);
    const hanging = await hang();
    const living = await sandbox.capstan(5, "unlock", demoStack, "--yes");
    assert.match(living.stderr, /cannot unlock .*"capstan up .*, which lives/s);
    await hanging.killTree();
    assert.match((await sandbox.capstan(0, "unlock", demoStack)).stdout, /nothing to unlock/);
    await sandbox.up();
    await sandbox.assertSound(demoStack);
    assert.match((await sandbox.capstan(0, "unlock", demoStack)).stdout, /is not locked$/m);
  });
});
