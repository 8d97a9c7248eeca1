import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  holderLiveness,
  locksToldOf,
  readPulumiLocks,
} from "../../src/engine/locks/pulumi-locks.js";
import type { Liveness, SeenProcess } from "../../src/engine/locks/process-identity.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";

describe("whether a lock's holder lives", () => {
  const since = "2026-01-01T12:00:00.5+01:00";
  const sinceMs = Date.parse(since);
  const cases: { name: string; since?: string; found?: SeenProcess; want: Liveness }[] = [
    { name: "no process has its pid", want: "dead" },
    {
      name: "a Pulumi has it",
      found: { program: "pulumi", startedAtMs: sinceMs - 60_000 },
      want: "alive",
    },
    {
      name: "a Pulumi has it that seems to have begun later, as the clock was set",
      found: { program: "pulumi", startedAtMs: sinceMs + 3_600_000 },
      want: "alive",
    },
    {
      name: "another program has it that began later",
      found: { program: "sshd", startedAtMs: sinceMs + 60_000 },
      want: "dead",
    },
    {
      name: "another program has it that was there before",
      found: { program: "sshd", startedAtMs: sinceMs - 60_000 },
      want: "alive",
    },
    {
      name: "it began in the second of the lock",
      found: { program: "sshd", startedAtMs: sinceMs + 900 },
      want: "alive",
    },
    {
      name: "nothing is known of the process but that it runs",
      found: {},
      want: "unknown",
    },
    {
      name: "the lock's time cannot be read",
      since: "yesterday",
      found: { program: "sshd", startedAtMs: sinceMs },
      want: "unknown",
    },
  ];
  for (const { name, found, want, ...lock } of cases) {
    it(`is ${want} when ${name}`, () =>
      assert.equal(holderLiveness(lock.since ?? since, found), want));
  }
});

describe("Pulumi's locks in a file backend", () => {
  const stack = "default.demo";
  const scratch = scratchFolder();
  let folder: string;

  beforeEach(() => {
    folder = join(scratch.path, ".pulumi", "locks", "organization", "capstan", stack);
    mkdirSync(folder, { recursive: true });
  });

  const backend = (isShared: boolean, folder = scratch.path) => ({
    backendUrl: pathToFileURL(folder).href,
    isShared,
    projectName: "capstan",
    stackName: (name: string) => name,
  });
  const read = () => readPulumiLocks(backend(true), stack);
  const lock = (holder: Record<string, unknown>) =>
    writeFileSync(join(folder, "a.json"), JSON.stringify(holder));
  const holder = { pid: process.pid, username: "ann", timestamp: new Date().toISOString() };

  it("tell who took them", () => {
    lock({ ...holder, hostname: hostname() });
    const [found, ...more] = read();
    assert.deepEqual(
      [found?.pid, found?.user, found?.host, found?.liveness, more],
      [process.pid, "ann", hostname(), "alive", []],
    );
  });

  it("of another machine are nobody's to judge, from a file or from an engine's words", () => {
    lock({ ...holder, hostname: "elsewhere.example" });
    const [told] = locksToldOf(
      "x.json: created by ann@elsewhere.example (pid 1) at 2026-01-01T12:00:00Z",
    );
    assert.deepEqual([read()[0]?.liveness, told?.liveness], ["unknown", "unknown"]);
  });

  it("are none where there is no folder, or one was released while it was read", () => {
    symlinkSync(join(folder, "gone"), join(folder, "released.json"));
    assert.deepEqual(read(), []);
    assert.deepEqual(readPulumiLocks(backend(true, join(scratch.path, "other")), stack), []);
  });

  const unreadable = [
    { name: "that is cut off", write: () => writeFileSync(join(folder, "a.json"), '{"pid": 1') },
    { name: "that names nobody", write: () => lock({ pid: 1 }) },
    { name: "that is no file", write: () => mkdirSync(join(folder, "a.json")) },
  ];
  for (const { name, write } of unreadable) {
    it(`are not taken for none when there is one ${name}`, () => {
      write();
      const told = /^cannot tell who has locked default\.demo: .*a\.json: /;
      assert.throws(read, failsWith("BAD_STATE", told));
      assert.throws(read, ({ hint }: { hint?: string }) => {
        assert.ok(hint?.endsWith(`remove it: rm -r '${join(folder, "a.json")}'`), hint);
        return true;
      });
    });
  }

  for (const text of ["", "{", '{"pid":1,"username":"an']) {
    it(`cut off as ${JSON.stringify(text)} were never held, where one machine alone writes them`, () => {
      writeFileSync(join(folder, "a.json"), text);
      const [found] = readPulumiLocks(backend(false), stack);
      assert.equal(found?.liveness, "dead");
      assert.throws(read, failsWith("BAD_STATE"));
    });
  }
});
