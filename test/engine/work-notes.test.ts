import assert from "node:assert/strict";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { backendObjects } from "../../src/engine/backend/backend-objects.js";
import { FolderObjects } from "../../src/engine/backend/folder-objects.js";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { ownEngine } from "../../src/engine/locks/engine-roster.js";
import type { LeaseTerm } from "../../src/engine/locks/lease-term.js";
import { noteWork, openWork } from "../../src/engine/locks/noted-engines.js";
import { identify } from "../../src/engine/locks/process-identity.js";
import type { Engine } from "../../src/engine/pulumi/engine.js";
import { withLockedStack } from "../../src/engine/pulumi/locked-stack.js";
import { expectDefined } from "../../src/api/error.js";
import { failsWith } from "../support/errors.js";
import { FakeClock } from "../support/fake-clock.js";
import { onlyLocal } from "../support/manifests.js";
import { scratchFolder } from "../support/scratch.js";

const stack = "default.demo";

describe("work on a stack of a shared backend", () => {
  const scratch = scratchFolder();
  const root = () => join(scratch.path, "shared");

  let clock: FakeClock;

  beforeEach(() => {
    mkdirSync(root());
    clock = new FakeClock();
  });

  /** A command of a machine, which has a state folder of its own. */
  const on = <T>(
    machine: string,
    work: (engine: Engine) => Promise<T>,
    kill = new AbortController().signal,
  ): Promise<T> => {
    const workspace = new Workspace({
      stateDir: join(scratch.path, machine),
      backend: `file://${root()}`,
      pulumiBinDir: scratch.path,
      env: process.env,
    });
    assert.equal(workspace.isShared, true);
    return withLockedStack(
      {
        stack,
        command: "test",
        clock,
        pulumi: "/nowhere",
        workspace,
        providers: onlyLocal,
        interruption: { stop: kill, kill },
      },
      work,
    );
  };
  const notes = () => new FolderObjects(root()).list(`.capstan/work/capstan/${stack}`);
  const isUnsettled = ({ unsettled }: Engine) => Promise.resolve(unsettled);

  it("is noted from before the first change until it has ended, and by nobody who only asks", async () => {
    assert.equal(await on("here", isUnsettled), false);
    assert.deepEqual(await notes(), []);
    await on("here", async (engine) => {
      await engine.beginWork();
      await engine.beginWork();
      assert.equal((await notes()).length, 1);
    });
    assert.deepEqual(await notes(), []);
    assert.equal(await on("there", isUnsettled), false);
  });

  const broken: Readonly<Record<string, (engine: Engine, kill: AbortController) => void>> = {
    "leaves calls that may still happen": (engine) => (engine.unsettled = true),
    "is killed": (_engine, kill) => kill.abort(),
  };
  for (const [how, breaks] of Object.entries(broken)) {
    it(`that ${how} is settled by whoever comes next, wherever they are, and once`, async () => {
      const kill = new AbortController();
      const work = on(
        "here",
        async (engine) => {
          await engine.beginWork();
          breaks(engine, kill);
          throw new Error("broken off");
        },
        kill.signal,
      );
      await assert.rejects(work, /broken off/);
      // One who is refused has settled nothing, and takes away nobody's note.
      assert.equal(await on("there", isUnsettled), true);
      assert.equal((await notes()).length, 1);
      await on("there", async (engine) => {
        assert.equal(engine.unsettled, true);
        await engine.beginWork();
        engine.unsettled = false;
      });
      assert.deepEqual(await notes(), []);
      assert.equal(await on("elsewhere", isUnsettled), false);
    });
  }

  it("ends for a command whose place another one takes, and for neither of two that come at once", async () => {
    const later = () => clock.advance(1_000);
    await on("here", async (frozen) => {
      await frozen.beginWork();
      later();
      await frozen.assertHeld();
      await on("there", async (next) => {
        await next.beginWork();
        later();
        await next.assertHeld();
        await assert.rejects(frozen.assertHeld(), failsWith("LOCKED", /took this one's place/));
      });
      // The one that took its place has ended: that gives nothing back.
      await assert.rejects(frozen.assertHeld(), failsWith("LOCKED"));
    });
    await on("here", (one) =>
      on("there", async (other) => {
        await one.beginWork();
        await other.beginWork();
        later();
        await one.assertHeld();
        await other.assertHeld();
      }),
    );
    assert.deepEqual(readdirSync(join(root(), ".capstan/permits/capstan", stack)), []);
  });

  it("that is not settled is told to the next command of the same state folder", async () => {
    const work = on("here", (engine) => {
      engine.unsettled = true;
      return Promise.reject(new Error("broken off"));
    });
    await assert.rejects(work, /broken off/);
    assert.equal(await on("here", isUnsettled), true);
  });

  it("of one who lives keeps its note, unless that one led and another leads by now", async () => {
    const objects = expectDefined(backendObjects(`file://${root()}`, {}), "backend");
    const workspace = {
      isShared: true,
      objects,
      projectName: "capstan",
      stackName: () => stack,
      stateDir: scratch.path,
    };
    const term: LeaseTerm = { lease: "uid", transition: 7 };
    const later: LeaseTerm = { ...term, transition: 8 };
    const living = expectDefined(ownEngine(process.ppid, term), "parent");
    const key = `.capstan/work/capstan/${stack}/one.json`;
    await objects.write(key, JSON.stringify(living));
    const isLiving = async (now?: LeaseTerm) =>
      (await openWork(workspace, stack, now)).map((note) => note.isLiving);
    assert.deepEqual(await isLiving(), [true]);
    assert.deepEqual(await isLiving(term), [true]);
    assert.deepEqual(await isLiving(later), [false]);
    assert.deepEqual(await isLiving({ ...later, lease: "made again" }), [true]);
    const far = { ...living, identity: { ...living.identity, boot: "elsewhere", machine: "far" } };
    await objects.write(key, JSON.stringify(far));
    assert.deepEqual(await isLiving(), [false]);
    await objects.write(key, "{}");
    assert.deepEqual(await isLiving(), [false]);
    await objects.remove(key);
    // A note of this process is an earlier command's: the lock of the stack is its own.
    const hasEnded = await noteWork(workspace, stack, { id: "own", term });
    assert.deepEqual(await isLiving(), [false]);
    const [own = ""] = await notes();
    assert.match((await objects.read(own)) ?? "", new RegExp(`"pid":${process.pid}\\b.*"lease"`));
    assert.ok(identify(process.pid));
    await hasEnded();
    assert.deepEqual(await notes(), []);
  });
});
