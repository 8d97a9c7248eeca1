import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { hostname } from "node:os";
import { DatabaseSync } from "node:sqlite";
import { join } from "node:path";
import {
  engineOf,
  type EngineSight,
  enginesNotedHere,
  holderLiveness,
  noteEngine,
  type NotedEngine,
  noteRunning,
  sightIn,
} from "../../src/engine/locks/engine-roster.js";
import { identify, type Liveness, startTimeMs } from "../../src/engine/locks/process-identity.js";
import type { LeaseTerm } from "../../src/engine/locks/lease-term.js";
import type { PulumiLock } from "../../src/engine/locks/pulumi-locks.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";

const since = "2026-01-01T12:00:00.5+01:00";
const sinceMs = Date.parse(since);
const lock = { pid: 7, user: "ann", host: "laptop", since };

/** An engine that was noted, whether it lives now, and what is there under its pid. */
interface Noted extends NotedEngine {
  readonly now: Liveness;
  readonly presentSinceMs?: number;
}

const sight: EngineSight = {
  liveness: (engine) => (engine as Noted).now,
  presentSinceMs: (engine) => (engine as Noted).presentSinceMs,
};

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
      name: "it lives and was long in locking",
      engines: [noted("alive", 300_000)],
      want: "alive",
    },
    {
      name: "somebody has its pid now who was there when the lock was taken",
      engines: [{ ...noted("dead", 500), presentSinceMs: sinceMs - 100 }],
      want: "unknown",
    },
    {
      name: "somebody has its pid now who came later",
      engines: [{ ...noted("dead", 500), presentSinceMs: sinceMs + 5_000 }],
      want: "dead",
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
      assert.equal(holderLiveness(lock, engines, sight), want);
    });
  }

  it("is unknown when the lock's time cannot be read", () => {
    const engines = [noted("dead", 500)];
    assert.equal(holderLiveness({ ...lock, since: "yesterday" }, engines, sight), "unknown");
  });
});

describe("an engine of whoever led before", () => {
  const term = { lease: "uid", transition: 7 };
  const far = { host: "laptop", boot: "elsewhere", pid: 7, started: "1" };
  const cases: { name: string; engine: Partial<NotedEngine>; now?: LeaseTerm; want: Liveness }[] = [
    { name: "of an earlier term", engine: { term }, now: { ...term, transition: 8 }, want: "dead" },
    { name: "of this term", engine: { term }, now: term, want: "unknown" },
    { name: "of a later term", engine: { term }, now: { ...term, transition: 6 }, want: "unknown" },
    {
      name: "of another lease",
      engine: { term },
      now: { lease: "made again", transition: 8 },
      want: "unknown",
    },
    { name: "of nobody who led", engine: {}, now: term, want: "unknown" },
    { name: "seen by nobody who leads", engine: { term }, want: "unknown" },
    {
      name: "that is seen to live, of an earlier term",
      engine: { term, identity: identify(process.pid) ?? far },
      now: { ...term, transition: 8 },
      want: "alive",
    },
  ];
  const ended = { ...(identify(process.pid) ?? far), started: "1" };
  const other = identify(process.ppid) ?? far;
  cases.push(
    {
      name: "that has ended while its command lives",
      engine: { identity: ended, command: other },
      want: "alive",
    },
    {
      name: "that has ended, as its own command sees it",
      engine: { identity: ended, command: identify(process.pid) ?? far },
      want: "dead",
    },
    {
      name: "that has ended with its command",
      engine: { identity: ended, command: ended },
      want: "dead",
    },
    {
      name: "that has ended while whoever led before lives",
      engine: { identity: ended, command: other, term },
      now: { ...term, transition: 8 },
      want: "dead",
    },
  );
  for (const { name, engine, now, want } of cases) {
    it(`is ${want} ${name}`, () => {
      assert.equal(sightIn(now, "others").liveness({ identity: far, sinceMs, ...engine }), want);
    });
  }
});

describe("the engines of a state folder", () => {
  const scratch = scratchFolder();
  const own = () => ({
    pid: process.pid,
    user: "ann",
    host: hostname(),
    since: new Date((startTimeMs(process.pid) ?? 0) + 1_000).toISOString(),
  });

  const livenessOfLock = (lock: PulumiLock) =>
    holderLiveness(lock, enginesNotedHere(scratch.path, lock), sightIn(undefined, "thisMachine"));

  it("tell of a lock whether its engine lives", () => {
    assert.equal(livenessOfLock(own()), "unknown");
    noteRunning(scratch.path, process.pid);
    assert.equal(livenessOfLock(own()), "alive");
    const database = new DatabaseSync(join(scratch.path, "locks.db"));
    const ended = JSON.stringify({ ...identify(process.pid), started: "1" });
    database.prepare("UPDATE engines SET identity = ?").run(ended);
    database.close();
    assert.equal(livenessOfLock(own()), "unknown", "this process has its pid");
    const { pid: nobodys } = spawnSync(process.execPath, ["-e", ""]);
    const again = new DatabaseSync(join(scratch.path, "locks.db"));
    again.prepare("UPDATE engines SET pid = ?").run(nobodys);
    again.exec("UPDATE engines SET identity = json_set(identity, '$.pid', pid)");
    again.close();
    assert.equal(livenessOfLock({ ...own(), pid: nobodys }), "dead");
    assert.equal(livenessOfLock({ ...own(), host: "elsewhere" }), "unknown");
  });

  it("keep in which term they began", () => {
    const engine = engineOf(process.pid, { lease: "uid", transition: 3 });
    assert.ok(engine !== undefined);
    noteEngine(scratch.path, engine);
    assert.deepEqual(enginesNotedHere(scratch.path, own()), [engine]);
  });

  it("are the last thousand", () => {
    for (let times = 0; times < 3; times += 1) noteRunning(scratch.path, process.pid);
    const database = new DatabaseSync(join(scratch.path, "locks.db"));
    database.exec("UPDATE engines SET number = number + 998 WHERE number > 1");
    database.close();
    noteRunning(scratch.path, process.pid);
    const after = new DatabaseSync(join(scratch.path, "locks.db"));
    const [row] = after.prepare("SELECT count(*) AS count, max(number) AS last FROM engines").all();
    after.close();
    assert.deepEqual({ ...row }, { count: 3, last: 1_002 });
  });

  it("are not given up when one cannot be written", () => {
    noteRunning(scratch.path, process.pid);
    const busy = new DatabaseSync(join(scratch.path, "locks.db"));
    busy.exec("BEGIN IMMEDIATE");
    assert.throws(
      () => noteRunning(scratch.path, process.pid),
      failsWith("LOCKED", /locks\.db: another process keeps it locked/),
    );
    busy.close();
    assert.equal(livenessOfLock(own()), "alive");
  }).timeout(20_000);
});
