import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Worker } from "node:worker_threads";
import { ManifestNotes } from "../../src/engine/backend/manifest-notes.js";
import { scratchFolder } from "../support/scratch.js";

const moduleUrl = new URL("../../src/engine/backend/manifest-notes.js", import.meta.url).href;

/** What a command of its own does: notes many stacks, moves them elsewhere, and lets every second one go. */
const command = `
  const { workerData } = require("node:worker_threads");
  const { moduleUrl, folder, name } = workerData;
  import(moduleUrl).then(({ ManifestNotes }) => {
    const notes = new ManifestNotes(folder);
    for (let index = 0; index < 30; index += 1) {
      const stack = name + "." + index;
      notes.add(stack, ["/before"]);
      notes.add(stack, ["/after/" + name]);
      notes.takeOut(stack, ([path]) => path === "/before");
      notes.read();
      if (index % 2 === 1) notes.takeOut(stack, () => true);
    }
  });
`;

describe("the notes of which manifests a stack was changed from", () => {
  const scratch = scratchFolder();
  const folder = () => join(scratch.path, "sources");

  it("are none before there is one, and none of a stack that was let go twice", () => {
    const notes = new ManifestNotes(folder());
    assert.deepEqual([notes.read(), notes.of("default.x")], [{}, []]);
    notes.takeOut("default.x", () => true);
    notes.add("default.x", ["/clusters", "--set=NAME=x"]);
    assert.deepEqual(notes.read(), { "default.x": [["/clusters", "--set=NAME=x"]] });
    notes.takeOut("default.x", () => true);
    notes.takeOut("default.x", () => true);
    assert.deepEqual([notes.read(), notes.of("default.x")], [{}, []]);
  });

  it("are of all manifests that hold its cluster, the last ones last, and each is taken out alone", () => {
    const notes = new ManifestNotes(folder());
    for (const path of ["/a", "/b", "/a"]) notes.add("default.x", [path]);
    assert.deepEqual(notes.of("default.x"), [["/b"], ["/a"]]);
    notes.takeOut("default.x", ([path]) => path === "/a");
    assert.deepEqual(notes.of("default.x"), [["/b"]]);
    notes.takeOut("default.x", ([path]) => path === "/b");
    assert.deepEqual(notes.read(), {});
  });

  it("are of what only began to change it, too, and not as the last ones", () => {
    const notes = new ManifestNotes(folder());
    for (const path of ["/a", "/a", "/b"]) notes.addBefore("default.x", [path]);
    assert.deepEqual(notes.of("default.x"), [["/b"], ["/a"]]);
    notes.addBefore("default.x", []);
    assert.deepEqual(notes.of("default.x"), [["/b"], ["/a"]]);
    notes.addBefore("default.y", []);
    assert.deepEqual(notes.of("default.y"), [[]]);
  });

  it("are of standard input until others take its place", () => {
    const notes = new ManifestNotes(folder());
    for (const source of [["/a"], []]) notes.add("default.x", source);
    assert.deepEqual(notes.of("default.x"), [["/a"], []]);
    notes.add("default.x", ["/a"]);
    assert.deepEqual(notes.of("default.x"), [["/a"]]);
  });

  it("are of stacks alone, whatever else a killed command left beside them", () => {
    mkdirSync(join(folder(), "default.x"), { recursive: true });
    writeFileSync(join(folder(), "default.x", "0123.json.4711.tmp"), '{ "source": ["/half');
    assert.deepEqual(new ManifestNotes(folder()).read(), {});
  });

  it("of one command are lost to none that lets the cluster go at that moment", () => {
    const notes = new ManifestNotes(folder());
    notes.add("default.x", ["/a"]);
    // Between the look and the removal another command, which holds the lock of the stack, notes its own.
    notes.takeOut("default.x", ([path]) => {
      new ManifestNotes(folder()).add("default.x", ["/b"]);
      return path === "/a";
    });
    assert.deepEqual(notes.of("default.x"), [["/b"]]);
  });

  it("stay as each command left those of its own stacks, while others write theirs", async () => {
    const names = ["a", "b", "c", "d"];
    await Promise.all(
      names.map(async (name) => {
        const workerData = { moduleUrl, folder: folder(), name };
        await once(new Worker(command, { eval: true, workerData }), "exit");
      }),
    );
    const expected = names.flatMap((name) =>
      Array.from({ length: 15 }, (_, index) => [`${name}.${index * 2}`, [[`/after/${name}`]]]),
    );
    assert.deepEqual(new ManifestNotes(folder()).read(), Object.fromEntries(expected));
  });
});
