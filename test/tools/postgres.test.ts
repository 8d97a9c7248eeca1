import assert from "node:assert/strict";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePostgres, findPostgres } from "#postgres";
import { scratchFolder } from "../support/scratch.js";

function writePrograms(folder: string, names = ["initdb", "postgres"]): string {
  mkdirSync(folder, { recursive: true });
  for (const name of names) {
    writeFileSync(join(folder, name), "#!/bin/sh\n");
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

describe("the PostgreSQL of the tests", () => {
  const scratch = scratchFolder();
  const at = (...names: string[]) => join(scratch.path, ...names);
  const find = () => findPostgres({ PATH: at("path") }, at("versions"));

  it("is the one on PATH, else Debian's newest that has a server", () => {
    assert.equal(find(), undefined);
    writePrograms(at("versions", "9", "bin"));
    const newest = writePrograms(at("versions", "15", "bin"));
    writePrograms(at("versions", "17", "bin"), ["initdb"]);
    assert.equal(find(), newest);
    const onPath = writePrograms(at("path"));
    assert.equal(find(), onPath);
  });

  it("is installed where there is none", async () => {
    const lines: string[] = [];
    const folder = at("versions", "15", "bin");
    const installed = await ensurePostgres({
      find,
      progress: (text) => void lines.push(text),
      install: () => Promise.resolve(void writePrograms(folder)),
    });
    assert.equal(installed, folder);
    assert.deepEqual(lines, ["setting up PostgreSQL: Debian package"]);
    const install = () => Promise.reject(new Error("asked"));
    assert.equal(await ensurePostgres({ find, install }), folder);
  });

  it("is missing with the reason, and what to do", async () => {
    await assert.rejects(
      ensurePostgres({ find, install: () => Promise.reject(new Error("there is no apt-get")) }),
      /cannot set up PostgreSQL: no Debian package \(there is no apt-get\); install PostgreSQL/,
    );
    await assert.rejects(
      ensurePostgres({ find, install: () => Promise.resolve() }),
      /it left none/,
    );
  });
});
