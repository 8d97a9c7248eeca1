import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import {
  locksToldOf,
  heldLocks,
  lockObjects,
  readPulumiLocks,
} from "../../src/engine/locks/pulumi-locks.js";
import { failsWith } from "../support/errors.js";
import { scratchFolder } from "../support/scratch.js";

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
    objects: undefined,
    projectName: "capstan",
    stackName: (name: string) => name,
  });
  const read = () => readPulumiLocks(backend(true), stack);
  const lock = (holder: Record<string, unknown>) =>
    writeFileSync(join(folder, "a.json"), JSON.stringify(holder));
  const holder = { pid: process.pid, username: "ann", timestamp: new Date().toISOString() };

  it("are removed one by one: what somebody locked since stays", async () => {
    lock({ ...holder, hostname: hostname() });
    const [found] = (await heldLocks(backend(true), stack)) ?? [];
    writeFileSync(join(folder, "b.json"), JSON.stringify({ ...holder, hostname: "elsewhere" }));
    await found?.remove?.();
    assert.deepEqual(
      (await read())?.map(({ host }) => host),
      ["elsewhere"],
    );
  });

  it("that are folders go only when they are empty", async () => {
    mkdirSync(join(folder, "c.json", "somebody's"), { recursive: true });
    const [found] = (await lockObjects(backend(true), stack)) ?? [];
    assert.throws(() => void found?.remove(), /ENOTEMPTY/);
  });

  it("tell who took them", async () => {
    lock({ ...holder, hostname: hostname() });
    const [found, ...more] = (await read()) ?? [];
    assert.deepEqual(
      [found?.pid, found?.user, found?.host, found?.since, more],
      [process.pid, "ann", hostname(), holder.timestamp, []],
    );
  });

  it("are what an engine says that was refused by them", () => {
    const said = "x.json: created by ann@elsewhere.example (pid 1) at 2026-01-01T12:00:00Z";
    const told = { pid: 1, user: "ann", host: "elsewhere.example", since: "2026-01-01T12:00:00Z" };
    assert.deepEqual(locksToldOf(said), [told]);
  });

  it("are none where there is no folder, or one was released while it was read", async () => {
    symlinkSync(join(folder, "gone"), join(folder, "released.json"));
    assert.deepEqual(await read(), []);
    assert.deepEqual(await readPulumiLocks(backend(true, join(scratch.path, "other")), stack), []);
  });

  const unreadable = [
    { name: "that is cut off", write: () => writeFileSync(join(folder, "a.json"), '{"pid": 1') },
    { name: "that names nobody", write: () => lock({ pid: 1 }) },
    { name: "that is no file", write: () => mkdirSync(join(folder, "a.json")) },
  ];
  for (const { name, write } of unreadable) {
    it(`are not taken for none when there is one ${name}`, async () => {
      write();
      const told = /^cannot tell who has locked default\.demo: .*a\.json: /;
      await assert.rejects(read(), failsWith("BAD_STATE", told));
      await assert.rejects(read(), { hint: /run capstan unlock default\.demo$/ });
      const [found] = (await lockObjects(backend(true), stack)) ?? [];
      assert.equal(found?.lock, undefined);
      await found?.remove();
      assert.deepEqual(await read(), []);
    });
  }

  for (const text of ["", "{", '{"pid":1,"username":"an']) {
    it(`cut off as ${JSON.stringify(text)} were never held, where one machine alone writes them`, async () => {
      writeFileSync(join(folder, "a.json"), text);
      const [found] = (await readPulumiLocks(backend(false), stack)) ?? [];
      assert.equal(found?.wasNeverHeld, true);
      await assert.rejects(read(), failsWith("BAD_STATE"));
    });
  }
});
