import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Workspace } from "../../src/engine/workspace.js";
import { scratchFolder } from "../support/scratch.js";

describe("the stacks of a workspace", () => {
  const scratch = scratchFolder();
  const namesIn = (backend?: string) =>
    new Workspace({
      stateDir: scratch.path,
      pulumiBinDir: "/nowhere",
      env: {},
      ...(backend !== undefined && { backend }),
    }).stackNames();
  const addFiles = (root: string, ...files: string[]) => {
    const folder = join(root, ".pulumi", "stacks", "capstan");
    mkdirSync(folder, { recursive: true });
    for (const file of files) writeFileSync(join(folder, file), "not a state");
  };

  it("are none before there is a backend", () => assert.deepEqual(namesIn(), []));

  it("are those that have a state, whatever is in it, and not what lies beside one", () => {
    addFiles(
      join(scratch.path, "pulumi"),
      ...["b.two.json", "b.two.json.bak", "b.two.json.attrs", "a.one.json.gz", "a.one.json.gz.bak"],
      ...["a.one.json", "c.three.json.zst", "notes.txt"],
    );
    mkdirSync(join(scratch.path, "pulumi", ".pulumi", "stacks", "capstan", "folder.json"));
    assert.deepEqual(namesIn(), ["a.one", "b.two", "c.three"]);
  });

  it("are found in a file backend of the user's, and in no other without Pulumi", () => {
    const backend = join(scratch.path, "elsewhere");
    addFiles(backend, "a.one.json");
    assert.deepEqual(namesIn(`${pathToFileURL(backend).href}?metadata=skip`), ["a.one"]);
    assert.equal(namesIn("s3://bucket"), undefined);
  });
});
