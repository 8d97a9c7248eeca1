import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { scratchFolder } from "../support/scratch.js";
import { cleanEnv } from "./sandbox.js";
import { run } from "./command.js";
import { changesIn, type FileChange, notingFileChanges } from "./file-changes.js";
import { VolatileDisk } from "./volatile-disk.js";

const all = () => true;

describe("a disk that loses what was not synced", () => {
  const scratch = scratchFolder();
  const at = (name: string) => join(scratch.path, name);
  const atMs = 0;
  const made = (name: string): FileChange => ({
    kind: "open",
    of: { path: at(name), fd: 3 },
    creates: true,
    truncates: false,
    appends: false,
    atMs,
  });
  const written = (name: string, text: string): FileChange => ({
    kind: "write",
    of: { path: at(name), fd: 3 },
    data: Buffer.from(text),
    atMs,
  });
  const synced = (name: string): FileChange => ({ kind: "sync", path: at(name), atMs });
  const moved = (name: string, to: string): FileChange => ({
    kind: "rename",
    path: at(name),
    to: at(to),
    atMs,
  });

  const whole = () => [made("new"), written("new", "one "), written("new", "two")];
  const cases: readonly { name: string; changes: () => readonly FileChange[]; left: object }[] = [
    { name: "a name", changes: () => [...whole(), synced("new")], left: { old: "old" } },
    { name: "data", changes: () => [...whole(), synced(".")], left: { new: "", old: "old" } },
    {
      name: "nothing",
      changes: () => [...whole(), synced("new"), synced(".")],
      left: { new: "one two", old: "old" },
    },
    {
      name: "a rename",
      changes: () => [...whole(), synced("new"), moved("new", "old")],
      left: { old: "old" },
    },
    {
      name: "the data of a file whose new name it keeps",
      changes: () => [...whole(), moved("new", "old"), synced(".")],
      left: { old: "" },
    },
    {
      name: "that a name was taken",
      changes: () => [{ kind: "remove", path: at("old"), atMs }],
      left: { old: "old" },
    },
    {
      name: "nothing of all that was synced at once",
      changes: () => [...whole(), { kind: "sync", atMs }],
      left: { new: "one two", old: "old" },
    },
  ];
  for (const { name, changes, left } of cases) {
    it(`loses ${name}`, () => {
      writeFileSync(at("old"), "old");
      const disk = VolatileDisk.holding(scratch.path, all);
      for (const change of changes()) disk.apply(change);
      const found = [...disk.afterPowerLoss(() => false)].sort(([one], [other]) =>
        one < other ? -1 : 1,
      );
      assert.deepEqual(
        Object.fromEntries(found.map(([path, { data }]) => [path, data?.toString()])),
        left,
      );
    });
  }

  /** What a program leaves of its folder, as it was noted. */
  const noted = async (script: string): Promise<VolatileDisk> => {
    const disk = VolatileDisk.holding(scratch.path, all);
    const log = at("changes.log");
    const node = [process.execPath, "--input-type=module", "-e", script, scratch.path];
    const [program, ...args] = [...notingFileChanges(log), ...node];
    const where = { cwd: scratch.path, env: cleanEnv() };
    const { code, stderr } = await run(program ?? "", args, where);
    assert.equal(code, 0, stderr);
    for (const change of changesIn(readFileSync(log, "utf8"), scratch.path).changes)
      disk.apply(change);
    return disk;
  };

  it("hears of all that a program does, in whatever letters", async () => {
    const disk = await noted(`
      import * as fs from "node:fs";
      const at = (name) => process.argv[1] + "/" + name;
      fs.writeFileSync(at("a"), 'Grüße, "Welt"\\n\\0\\t\\\\');
      fs.appendFileSync(at("a"), "more");
      fs.copyFileSync(at("a"), at("b"));
      fs.truncateSync(at("b"), 3);
      fs.linkSync(at("a"), at("c"));
      fs.mkdirSync(at("d"));
      fs.renameSync(at("c"), at("d/c"));
      fs.symlinkSync("d", at("way"));
      fs.writeFileSync(at("way/e"), "through a link");
      fs.writeFileSync(at("gone"), "x");
      fs.rmSync(at("gone"));`);
    const data = (path: string) => disk.contents.get(path)?.data?.toString();
    for (const path of ["a", "b", "d/c", "d/e"]) {
      assert.equal(data(path), readFileSync(at(path), "utf8"));
    }
    assert.equal(disk.contents.get("way")?.target, "d");
    assert.deepEqual([...disk.contents.keys()].sort(), ["a", "b", "d", "d/c", "d/e", "way"]);
    assert.deepEqual([...disk.afterPowerLoss(() => false).keys()], [], "nothing of it was synced");
  });

  it("loses nothing of what is written to last", async () => {
    const module = new URL("../../src/engine/backend/durable-files.js", import.meta.url).href;
    const disk = await noted(`
      import * as files from ${JSON.stringify(module)};
      const at = (name) => process.argv[1] + "/" + name;
      files.makeFolder(at("one/two"));
      files.replaceFile(at("one/two/a"), "first");
      files.replaceFile(at("one/two/a"), "second");
      files.addFile(at("b"), "added");
      files.addFile(at("b"), "too late");
      files.makeFile(at("c"), "made");
      files.nameTwice(at("c"), at("d"));
      files.moveFile(at("d"), at("e"));`);
    const left = disk.afterPowerLoss(() => false);
    assert.deepEqual(
      Object.fromEntries([...left].map(([path, { data }]) => [path, data?.toString()])),
      {
        b: "added",
        c: "made",
        e: "made",
        one: undefined,
        "one/two": undefined,
        "one/two/a": "second",
      },
    );
  });
});
