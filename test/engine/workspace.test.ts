import assert from "node:assert/strict";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { Workspace } from "../../src/engine/backend/workspace.js";
import { failsWith } from "../support/errors.js";
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
      "b.two.json",
      "b.two.json.bak",
      "b.two.json.attrs",
      "a.one.json.gz",
      "a.one.json.gz.bak",
      "a.one.json",
      "c.three.json.zst",
      "notes.txt",
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

describe("the passphrase of a workspace", () => {
  const scratch = scratchFolder();
  const prepare = (env: NodeJS.ProcessEnv) => () =>
    new Workspace({ stateDir: scratch.path, pulumiBinDir: "/nowhere", env }).prepare();

  beforeEach(() => {
    mkdirSync(join(scratch.path, "pulumi", ".pulumi", "stacks"), { recursive: true });
  });

  const cases: { name: string; env: NodeJS.ProcessEnv; says: RegExp }[] = [
    {
      name: "not set",
      env: {},
      says: /: neither PULUMI_\S+_FILE nor PULUMI_\S+ is set, and it was/,
    },
    {
      name: "blank",
      env: { PULUMI_CONFIG_PASSPHRASE_FILE: "" },
      says: /: PULUMI_CONFIG_PASSPHRASE_FILE is blank, and it was encrypted with a passphrase of/,
    },
  ];
  for (const { name, env, says } of cases) {
    it(`that was the user's is missed by its variable's name when that is ${name}`, () => {
      assert.throws(prepare(env), failsWith("BAD_STATE", says));
      assert.equal(existsSync(join(scratch.path, "passphrase")), false);
    });

    it(`that was ours is missed by its file's name when the variable is ${name}`, () => {
      mkdirSync(join(scratch.path, "keys"));
      assert.throws(prepare(env), failsWith("BAD_STATE", /: \S+passphrase is gone$/));
    });
  }
});
