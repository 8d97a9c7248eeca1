import assert from "node:assert/strict";
import { hostname } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import {
  holderLiveness,
  lockLiveness,
  noteEngine,
  type NotedEngine,
} from "../../src/engine/locks/engine-roster.js";
import { identify, type Liveness, startTimeMs } from "../../src/engine/locks/process-identity.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";

const since = "2026-01-01T12:00:00.5+01:00";
const sinceMs = Date.parse(since);
const lock = { pid: 7, user: "ann", host: "laptop", since };

/** An engine that was noted, and whether it lives now. */
interface Noted extends NotedEngine {
  readonly now: Liveness;
}

const noted = (now: Liveness, beforeMs: number, changed: object = {}): Noted => ({
  identity: { host: "laptop", boot: "b", pid: 7, started: now, ...changed },
  sinceMs: sinceMs - beforeMs,
  now,
});

describe("whether the engine that took a lock lives", () => {
  const cases: { name: string; engines: Noted[]; want: Liveness }[] = [
    { name: "nobody noted it, whatever runs here", engines: [], want: "unknown" },
    { name: "it was noted and is dead", engines: [noted("dead", 500)], want: "dead" },
    { name: "it was noted and lives", engines: [noted("alive", 500)], want: "alive" },
    { name: "it cannot be seen from here", engines: [noted("unknown", 500)], want: "unknown" },
    {
      name: "another one with its pid is dead that began later",
      engines: [noted("dead", -60_000)],
      want: "unknown",
    },
    {
      name: "another one with its pid is dead that began long before",
      engines: [noted("dead", 3_600_000)],
      want: "unknown",
    },
    {
      name: "the dead one has another pid",
      engines: [noted("dead", 500, { pid: 8 })],
      want: "unknown",
    },
    {
      name: "the dead one was on another machine",
      engines: [noted("dead", 500, { host: "server" })],
      want: "unknown",
    },
    {
      name: "of two that it may be one lives",
      engines: [noted("dead", 500), noted("alive", 900)],
      want: "alive",
    },
    {
      name: "of two that it may be one cannot be seen",
      engines: [noted("dead", 500), noted("unknown", 900)],
      want: "unknown",
    },
  ];
  for (const { name, engines, want } of cases) {
    it(`is ${want} when ${name}`, () => {
      const now = ({ started }: NotedEngine["identity"]) =>
        engines.find(({ identity }) => identity.started === started)?.now ?? "unknown";
      assert.equal(holderLiveness(lock, engines, now), want);
    });
  }

  it("is unknown when the lock's time cannot be read", () => {
    const engines = [noted("dead", 500)];
    assert.equal(
      holderLiveness({ ...lock, since: "yesterday" }, engines, () => "dead"),
      "unknown",
    );
  });
});

describe("the engines of a state folder", () => {
  const scratch = scratchFolder();
  const own = () => ({
    pid: process.pid,
    user: "ann",
    host: hostname(),
    since: new Date((startTimeMs(process.pid) ?? 0) + 1_000).toISOString(),
  });

  it("tell of a lock whether its engine lives", () => {
    assert.equal(lockLiveness(scratch.path, own()), "unknown");
    noteEngine(scratch.path, process.pid);
    assert.equal(lockLiveness(scratch.path, own()), "alive");
    const database = new DatabaseSync(join(scratch.path, "locks.db"));
    const ended = JSON.stringify({ ...identify(process.pid), started: "1" });
    database.prepare("UPDATE engines SET identity = ?").run(ended);
    database.close();
    assert.equal(lockLiveness(scratch.path, own()), "dead");
    assert.equal(lockLiveness(scratch.path, { ...own(), host: "elsewhere" }), "unknown");
  });

  it("are the last thousand", () => {
    for (let times = 0; times < 3; times += 1) noteEngine(scratch.path, process.pid);
    const database = new DatabaseSync(join(scratch.path, "locks.db"));
    database.exec("UPDATE engines SET number = number + 998 WHERE number > 1");
    database.close();
    noteEngine(scratch.path, process.pid);
    const after = new DatabaseSync(join(scratch.path, "locks.db"));
    const [row] = after.prepare("SELECT count(*) AS count, max(number) AS last FROM engines").all();
    after.close();
    assert.deepEqual({ ...row }, { count: 3, last: 1_002 });
  });

  it("are not given up when one cannot be written", () => {
    noteEngine(scratch.path, process.pid);
    const busy = new DatabaseSync(join(scratch.path, "locks.db"));
    busy.exec("BEGIN IMMEDIATE");
    assert.throws(
      () => noteEngine(scratch.path, process.pid),
      failsWith("LOCKED", /locks\.db: another process keeps it locked/),
    );
    busy.close();
    assert.equal(lockLiveness(scratch.path, own()), "alive");
  }).timeout(20_000);
});
