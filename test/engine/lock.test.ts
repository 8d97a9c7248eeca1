import assert from "node:assert/strict";
import { chmodSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { LeaseTerm } from "../../src/engine/locks/lease-term.js";
import { type LockHolder, StackLock } from "../../src/engine/locks/lock.js";
import { openLocks } from "../../src/engine/locks/locks-file.js";
import { identify, type ProcessIdentity } from "../../src/engine/locks/process-identity.js";
import { folderWriters } from "../../src/engine/locks/folder-writers.js";
import { FakeClock } from "../support/fake-clock.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";

describe("the lock of a stack", () => {
  const scratch = scratchFolder();
  const stack = "default.demo";
  const own = identify(process.pid)!;

  const acquire = (term?: LeaseTerm) =>
    StackLock.acquire({
      stateDir: scratch.path,
      stack,
      command: "capstan up",
      clock: new FakeClock(),
      term,
    });
  const holderOf = () => StackLock.holderOf(scratch.path, stack);

  /** What a command that ended without a word has left. */
  const leave = async (text: string): Promise<void> => {
    (await acquire()).release();
    const database = new DatabaseSync(join(scratch.path, "locks.db"));
    database.prepare("INSERT INTO locks (stack, holder) VALUES (?, ?)").run(stack, text);
    database.close();
  };
  const heldBy = (identity: ProcessIdentity): LockHolder => ({
    command: "capstan up",
    user: "ann",
    since: "2026-01-01T12:00:00.000Z",
    process: identity,
  });

  it("is taken over from the dead", async () => {
    await leave(JSON.stringify(heldBy({ ...own, started: "1" })));
    assert.equal(holderOf(), undefined);
    const lock = await acquire();
    assert.equal(lock.wasTakenOver, true);
    await assert.rejects(acquire, failsWith("LOCKED", /pid \d+, "capstan up", since /));
    lock.release();
    assert.equal(holderOf(), undefined);
  });

  it("is taken over from before a restart where no other machine can have written it, and nowhere else", async () => {
    await leave(JSON.stringify(heldBy({ ...own, boot: "before the restart" })));
    const isOurs = folderWriters(scratch.path) === "thisMachine" && own.machine !== undefined;
    if (!isOurs) return assert.rejects(acquire, failsWith("LOCKED"));
    const lock = await acquire();
    assert.equal(lock.wasTakenOver, true);
    lock.release();
  });

  it("is taken over from who led in an earlier term, frozen perhaps, and from no other who lives", async () => {
    const frozen = await acquire({ lease: "uid", transition: 1 });
    await assert.rejects(acquire(), failsWith("LOCKED"));
    await assert.rejects(acquire({ lease: "uid", transition: 1 }), failsWith("LOCKED"));
    await assert.rejects(acquire({ lease: "another", transition: 2 }), failsWith("LOCKED"));
    const next = await acquire({ lease: "uid", transition: 2 });
    assert.equal(next.wasTakenOver, true);
    // It wakes: no engine runs under the lock that it had, and it gives back nothing.
    assert.throws(() => frozen.setEngine(process.pid), failsWith("LOCKED"));
    frozen.release();
    await assert.rejects(acquire(), failsWith("LOCKED"));
    next.release();
    assert.equal(holderOf(), undefined);
  });

  it("is not taken from a container of the same host name", async () => {
    await leave(JSON.stringify(heldBy({ ...own, started: "1", pidNamespace: "pid:[1]" })));
    assert.match(holderOf() ?? "", /^it is locked by ann@/);
    await assert.rejects(acquire, (error: Error & { hint?: string }) => {
      assert.match(
        error.hint ?? "",
        /container is gone for good, run capstan unlock default\.demo$/,
      );
      return failsWith("LOCKED")(error);
    });
  });

  for (const text of ["{", "undefined", '"ann"', '{"process":{"pid":1}}']) {
    it(`with the damaged holder ${text} is nobody's to take, and says which file it is`, async () => {
      await leave(text);
      const told = /^cannot tell who has locked default\.demo: \S+locks\.db names no holder$/;
      await assert.rejects(acquire, failsWith("BAD_STATE", told));
      assert.throws(holderOf, failsWith("BAD_STATE", told));
    });
  }

  const file = () => join(scratch.path, "locks.db");
  /** Another process that writes, and does not come to an end. */
  const keepBusy = (): DatabaseSync => {
    const other = new DatabaseSync(file());
    other.exec("BEGIN IMMEDIATE");
    return other;
  };

  it("is written in a file that nobody else may read, also where an older release made it", async () => {
    const old = new DatabaseSync(file());
    old.close();
    chmodSync(file(), 0o644);
    const lock = await acquire();
    const modes = readdirSync(scratch.path).map((name) => statSync(join(scratch.path, name)).mode);
    assert.deepEqual([...new Set(modes.map((mode) => mode & 0o777))], [0o600]);
    lock.release();
  });

  it("cannot be taken while the file is busy, which is no damage", async () => {
    (await acquire()).release();
    const other = keepBusy();
    await assert.rejects(
      acquire,
      failsWith("LOCKED", /locks\.db: another process keeps it locked/),
    );
    other.close();
  });

  it("that cannot be released hides no other error, and is this process's to take again", async () => {
    const lock = await acquire();
    const other = keepBusy();
    lock.release();
    other.close();
    assert.equal(holderOf(), undefined);
    const again = await acquire();
    assert.equal(again.wasTakenOver, false);
    again.release();
  });

  it("is on the disk before anything is done under it, also where the power fails then", () => {
    const database = openLocks(scratch.path);
    const [row] = database.prepare("PRAGMA synchronous").all();
    database.close();
    // 2 is FULL: the log is fsynced with each write, as NORMAL (1) does not in this journal.
    assert.deepEqual({ ...row }, { synchronous: 2 });
  });

  it("says so when its engine cannot be recorded, and goes on to name the one before", async () => {
    const lock = await acquire();
    const other = keepBusy();
    assert.throws(() => lock.setEngine(process.pid), failsWith("LOCKED", /locks\.db/));
    other.close();
    lock.setEngine(process.pid);
    lock.release();
    assert.equal(holderOf(), undefined);
  });
});
