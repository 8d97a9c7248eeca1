import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensurePulumi } from "#toolchain";
import { type BackendObjects, backendObjects } from "../../src/engine/backend/backend-objects.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { RecordResource } from "../../src/dynamic/record-resource.js";
import type { LeaseTerm } from "../../src/engine/locks/lease-term.js";
import { Engine } from "../../src/engine/pulumi/engine.js";
import { withLockedStack } from "../../src/engine/pulumi/locked-stack.js";
import { systemClock } from "../../src/provider/clock.js";

import type { Command } from "../scenario/command.js";
import { type ScenarioCluster, demoStack } from "../scenario/manifests.js";
import { Sandbox, sharedBackend, type StateBackend } from "../scenario/sandbox.js";
import { until } from "../scenario/until.js";
import { removeFolder } from "../support/folders.js";
import { freePorts } from "../support/free-ports.js";
import { onlyLocal } from "../support/manifests.js";
import { Postgres } from "../support/postgres.js";

const pair: ScenarioCluster = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };
const three: ScenarioCluster = { machines: { ...pair.machines, "worker-1": {} } };

/** Has the pair when the tests begin. Each test works on a copy: nothing may be connected to what is copied. */
const preparedDatabase = "prepared";

describe("two machines on one PostgreSQL", () => {
  let folder: string;
  let postgres: Postgres;
  let prepared: Sandbox;
  let databases = 0;
  let url: string;
  let here: Sandbox;
  let there: Sandbox;
  let objects: BackendObjects;

  const passphraseFile = (name: string): string => {
    const file = join(folder, name);
    writeFileSync(file, `${name}, a passphrase for tests\n`);
    return file;
  };

  /** In the database of the test, unless another one is named. */
  const backendAt = (at: string, passphrase = "shared"): StateBackend => {
    const key = { PULUMI_CONFIG_PASSPHRASE_FILE: passphraseFile(passphrase) };
    return sharedBackend(at, { ...postgres.env, ...key });
  };

  /** What each machine has of its own: manifests and a state folder. They share all the rest. */
  const machine = (backend: StateBackend): Promise<Sandbox> => Sandbox.make(pair, { backend });

  /** One cloud for both, as a cloud is. */
  const shareCloud = (other: Sandbox): void => {
    mkdirSync(other.state);
    symlinkSync(here.cloudFile, other.cloudFile);
  };

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "capstan-"));
    postgres = await Postgres.start();
    await postgres.createDatabase(preparedDatabase);
    const first = backendAt(postgres.urlOf(preparedDatabase));
    prepared = await machine({ ...first, copy: () => backendAt(url) });
    await prepared.up();
  });
  after(async () => {
    await prepared.close();
    await postgres.stop();
    removeFolder(folder);
  });

  beforeEach(async () => {
    databases += 1;
    const database = `test_${databases}`;
    await postgres.copyStacks(preparedDatabase, database);
    url = postgres.urlOf(database);
    const reached = backendObjects(url, postgres.env);
    assert.ok(reached !== undefined);
    objects = reached;
    here = prepared.copy();
    there = await machine(backendAt(url));
    shareCloud(there);
  });
  afterEach(() => Promise.all([here.close(), there.close(), objects.close()]));

  const noted = () => objects.list(`.capstan/engines/capstan/${demoStack}`);
  const checkpoint = () => objects.read(`.pulumi/stacks/capstan/${demoStack}.json`);

  it("work on one stack in turns", async () => {
    const { stdout } = await there.capstan(0, "status", demoStack);
    assert.match(stdout, /revision 1[^]*worker-0 +ready/);
    await there.plan(0);
    there.write(three);
    await there.plan(2);
    await there.up();
    await here.plan(2);
    here.write(three);
    await here.plan(0);
    const after = here.ledgerEnd();
    await here.up();
    assert.deepEqual(here.mutations(after), []);
    await here.assertSound(demoStack);
    await there.capstan(0, "destroy", "--yes", demoStack);
    assert.deepEqual(here.alive(), []);
    await here.plan(2);
  });

  /** A command of this machine hangs in a pass that makes worker-1, as both machines want it. */
  const hangHere = (): Promise<Command> => {
    here.write(three);
    there.write(three);
    return here.startHanging({ call: "create", mode: "hangAfter", name: "worker-1" });
  };

  it("keep out of each other's passes, and go on after each other's death", async () => {
    const hanging = await hangHere();
    const before = here.ledgerEnd();
    const written = await checkpoint();
    assert.ok(written !== undefined);
    const { stderr } = await there.up(5);
    assert.match(stderr, /it is locked by .* a Pulumi engine, since /);
    assert.deepEqual(here.mutations(before), []);
    await there.plan(2);
    assert.deepEqual(await checkpoint(), written, "who is refused, or only asks, writes nothing");
    await hanging.killTree();
    // Its engine is noted beside its lock, and this machine sees that it is dead.
    await there.up();
    await there.assertSound(demoStack);
    assert.equal(here.hostOf("worker-1").state, "running");
    await here.plan(0);
    assert.deepEqual(await noted(), []);
  });

  for (const isBack of [true, false]) {
    const when = isBack ? "is there again while the pass goes on" : "is away when the pass ends";
    it(`lose nothing when PostgreSQL breaks down in a pass, and ${when}`, async () => {
      here.write(three);
      there.write(three);
      await here.cloud.fault("create", "late", { name: "worker-1", ms: 600_000 });
      const end = here.ledgerEnd();
      const command = here.startUp();
      const isAsked = () => here.ledger(end).some(({ call }) => call === "create");
      await until("worker-1 is asked for", isAsked);
      await postgres.crash();
      if (isBack) await postgres.startAgain();
      await here.cloud.clearFaults();
      const { code } = await command.finished;
      if (!isBack) {
        assert.equal(code, 4, command.said);
        await postgres.startAgain();
      }
      assert.equal(here.hostOf("worker-1").state, "running");
      await here.up();
      await here.assertSound(demoStack);
      await there.plan(0);
      assert.deepEqual(await noted(), []);
    });
  }

  /** The machine of the engine that is noted becomes another one that was copied with this one's machine id, as virtual machines are. */
  const makeCopy = async (): Promise<void> => {
    const [key = ""] = await noted();
    const text = (await objects.read(key)) ?? "";
    assert.match(text, /"machine":"/, "no test of copies in a container");
    await objects.write(key, text.replaceAll(/"boot":"[^"]*"/g, '"boot":"elsewhere"'));
  };

  it("take nothing from a copy of a machine that works, and go on after its death once a person has said so", async () => {
    const hanging = await hangHere();
    await makeCopy();
    const [before, notes] = [here.ledgerEnd(), await noted()];
    assert.match((await there.up(5)).stderr, /it is locked by .* a Pulumi engine/);
    assert.deepEqual(here.mutations(before), []);
    assert.deepEqual(await noted(), notes);
    assert.equal(hanging.hasEnded, false);
    await hanging.killTree();
    // Both bear one name and one machine id, and no process there has the engine's pid: that proves nothing of another machine.
    assert.match(
      (await there.up(5)).stderr,
      /it is locked by .* run capstan .* unlock default\.demo$/ms,
    );
    const asked = await there.capstan(0, "unlock", demoStack, "--yes");
    assert.match(asked.stdout, /a Pulumi engine, since .*: nothing here can tell whether it lives/);
    // Whichever machine comes next waits for calls that may still happen.
    const givenUp = () => objects.list(`.capstan/given-up/capstan/${demoStack}`);
    assert.equal((await givenUp()).length, 1);
    const { stdout } = await there.up();
    assert.match(stdout, /Transaction 2 is not finished; this goes on with it/);
    assert.deepEqual(await givenUp(), []);
    await there.assertSound(demoStack);
    assert.equal(here.hostOf("worker-1").state, "running");
  });

  it("know that somebody was at it who left no lock of Pulumi's", async () => {
    await (await hangHere()).killTree();
    here.write(pair);
    // What the dead engine has made is removed between two engine runs.
    const hanging = await here.startHanging({
      call: "terminate",
      mode: "hangAfter",
      name: "worker-1",
    });
    assert.deepEqual(await objects.list(`.pulumi/locks/organization/capstan/${demoStack}`), []);
    await hanging.killTree();
    const open = () => objects.list(`.capstan/work/capstan/${demoStack}`);
    assert.notDeepEqual(await open(), []);
    const { binDir, bin } = await ensurePulumi();
    const env = { ...process.env, ...postgres.env };
    const workspace = new Workspace({
      stateDir: there.state,
      backend: url,
      pulumiBinDir: binDir,
      env,
    });
    workspace.prepare();
    const about = { stack: demoStack, command: "test", clock: systemClock, workspace };
    const isUnsettled = await withLockedStack(
      { ...about, pulumi: bin, providers: onlyLocal },
      ({ unsettled }) => Promise.resolve(unsettled),
    );
    assert.equal(isUnsettled, true);
    there.write(pair);
    await there.up();
    assert.deepEqual(await open(), []);
    await there.assertSound(demoStack);
    await there.plan(0);
  });

  it("know of an engine whose command lives and has killed it that it has ended, by its note beside the lock", async () => {
    const { binDir: pulumiBinDir, bin: pulumi } = await ensurePulumi();
    const file = passphraseFile("shared");
    const env = { ...process.env, ...postgres.env, PULUMI_CONFIG_PASSPHRASE_FILE: file };
    const kill = new AbortController();
    const interruption = { stop: new AbortController().signal, kill: kill.signal };
    const engineFrom = (state: string, term: LeaseTerm) => {
      const workspace = new Workspace({
        stateDir: state,
        backend: url,
        pulumiBinDir,
        env,
      });
      workspace.prepare();
      return new Engine({ pulumi, workspace, providers: onlyLocal, term, interruption });
    };
    const first = engineFrom(here.state, { lease: "u", transition: 1 });
    const hanging = () =>
      Object.assign(new RecordResource("Transaction"), {
        read: () => new Promise<never>(() => kill.abort()),
      });
    const { resources } = await first.readState(demoStack);
    const urn = resources.find(({ kind }) => kind === "LocalHost")?.urn ?? "";
    const { code } = await first.refresh(demoStack, [urn], {
      lookup: hanging,
      cancelled: () => {},
    });
    assert.equal(code, null);
    const locks = () => objects.list(`.pulumi/locks/organization/capstan/${demoStack}`);
    const notes = () => objects.list(`.capstan/engines/capstan/${demoStack}`);
    assert.deepEqual([(await locks()).length, (await notes()).length], [1, 1]);
    await engineFrom(there.state, { lease: "u", transition: 2 }).releaseDeadLock(demoStack);
    assert.deepEqual([await locks(), await notes()], [[], []]);
  });

  it("need the same passphrase, and say so without the password", async () => {
    const stranger = await machine(backendAt(postgres.withPassword(url), "another"));
    try {
      shareCloud(stranger);
      const before = here.ledgerEnd();
      for (const args of [["status"], ["up", "--yes", "-f", stranger.manifests]]) {
        const { stdout, stderr } = await stranger.capstan(1, ...args);
        assert.match(stderr, /cannot read the state .* in postgres:\/\/owner:\*\*\*@127/);
        assert.match(stderr, /incorrect passphrase/);
        assert.ok(!`${stdout}${stderr}`.includes(postgres.password));
      }
      assert.deepEqual(here.mutations(before), []);
    } finally {
      await stranger.close();
    }
  });

  it("say what is wrong with the server, without the password", async () => {
    const [port = 0] = await freePorts(1);
    const nowhere = postgres.urlWithPassword.replace(`:${postgres.port}/`, `:${port}/`);
    const stranger = await machine(backendAt(nowhere));
    try {
      const { stdout, stderr } = await stranger.plan(1);
      assert.match(stderr, /postgres:\/\/owner:\*\*\*@127.*ECONNREFUSED/);
      assert.ok(!`${stdout}${stderr}`.includes(postgres.password));
    } finally {
      await stranger.close();
    }
  });
});
