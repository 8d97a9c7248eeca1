import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeStateFolder } from "../../src/engine/backend/state-folder.js";
import { scratchFolder } from "../support/scratch.js";

describe("a state folder", () => {
  const scratch = scratchFolder();
  const ignored = (folder: string) => join(folder, ".gitignore");

  it("is kept out of a repository once it is made", () => {
    const folder = join(scratch.path, ".capstan");
    makeStateFolder(folder);
    assert.equal(readFileSync(ignored(folder), "utf8"), "*\n");
    makeStateFolder(folder);
  });

  it("is kept out of it where a database of ours came first", () => {
    const folder = join(scratch.path, "early");
    mkdirSync(folder);
    for (const name of ["local-cloud.db", "local-cloud.db-wal"]) {
      writeFileSync(join(folder, name), "");
    }
    makeStateFolder(folder);
    assert.equal(existsSync(ignored(folder)), true);
  });

  it("hides no files of the user's that are in it", () => {
    const folder = join(scratch.path, "infrastructure");
    mkdirSync(folder);
    writeFileSync(join(folder, "cluster.yaml"), "");
    makeStateFolder(folder);
    assert.equal(existsSync(ignored(folder)), false);
  });
});
