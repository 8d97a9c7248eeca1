import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
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

describe("what engines read in a state folder", () => {
  const scratch = scratchFolder();
  const workspaceOn = (backend?: string) =>
    new Workspace({
      stateDir: scratch.path,
      pulumiBinDir: "/nowhere",
      env: {},
      ...(backend !== undefined && { backend }),
    });
  const prepare = (backend?: string) => () => workspaceOn(backend).prepare();
  const plant = (path: string, text = "x: y\n") => {
    const file = join(scratch.path, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  };

  it("is the project as Capstan writes it, whatever stands there", () => {
    plant(
      "work/Pulumi.yaml",
      "name: capstan\nplugins: {languages: [{name: nodejs, path: /evil}]}\n",
    );
    prepare()();
    assert.equal(
      readFileSync(join(scratch.path, "work", "Pulumi.yaml"), "utf8"),
      "name: capstan\nruntime: nodejs\n",
    );
  });

  const strange = [
    "work/Pulumi.json",
    "work/Pulumi.yml",
    "work/package.json",
    "work/node_modules/evil/index.js",
    "work/.env",
    "work/Pulumi.default.demo.json",
    "engine-home/plugins/language-nodejs-v9.9.9/pulumi-language-nodejs",
    "engine-home/policies/evil/PulumiPolicy.yaml",
  ];
  for (const path of strange)
    it(`is refused where others wrote ${path}, and named`, () => {
      plant(path);
      const named = path
        .split("/")
        .slice(0, path.startsWith("work/") ? 2 : 3)
        .join("/");
      assert.throws(
        prepare(),
        failsWith("BAD_STATE", new RegExp(`cannot use .*${named}: Capstan`)),
      );
    });

  it("is refused where a link stands for the project", () => {
    plant("elsewhere.yaml");
    mkdirSync(join(scratch.path, "work"));
    symlinkSync("../elsewhere.yaml", join(scratch.path, "work", "Pulumi.yaml"));
    assert.throws(prepare(), failsWith("BAD_STATE", /Pulumi\.yaml/));
  });

  it("is refused where settings of a stack name what Pulumi would ask or load", () => {
    const settings = "work/Pulumi.default.demo.yaml";
    plant(settings, "encryptionsalt: v1:a\nenvironment: [evil]\n");
    assert.throws(prepare(), failsWith("BAD_STATE", /demo\.yaml: it sets environment/));
    assert.throws(prepare("file:///srv/stacks"), failsWith("BAD_STATE"));
    plant(settings, "encryptionsalt: v1:a\nsecretsprovider: hashivault://evil\n");
    assert.throws(prepare(), failsWith("BAD_STATE", /demo\.yaml: it sets secretsprovider/));
    // On a shared backend that is the user's way to choose how a stack is encrypted.
    prepare("file:///srv/stacks")();
    plant(settings, "encryptionsalt: v1:a\nconfig: {capstan:x: y}\n");
    prepare()();
  });
});

describe("the environment of engines", () => {
  const scratch = scratchFolder();
  const given = {
    HOME: "/home/ann",
    PATH: "/usr/bin",
    https_proxy: "http://proxy:3128",
    SSL_CERT_FILE: "/etc/ca.pem",
    PULUMI_DIY_BACKEND_GZIP: "true",
    PULUMI_ACCESS_TOKEN: "pul-1",
    AWS_SECRET_ACCESS_KEY: "aws",
    GOOGLE_APPLICATION_CREDENTIALS: "/gcp.json",
    AZURE_STORAGE_KEY: "azure",
    PGPASSFILE: "/pgpass",
    GITHUB_TOKEN: "ghp_1",
    NODE_OPTIONS: "--import /x.mjs",
    LD_PRELOAD: "/x.so",
    DB_PASSWORD: "word",
  };
  const namesFor = (backend?: string) => {
    const workspace = new Workspace({
      stateDir: scratch.path,
      pulumiBinDir: "/nowhere",
      env: given,
      ...(backend !== undefined && { backend }),
    });
    const env = workspace.engineEnv();
    return Object.keys(given).filter((name) => env[name] !== undefined);
  };

  it("of a state folder holds what the system and the network need, and no credentials", () => {
    assert.deepEqual(namesFor(), [
      "HOME",
      "PATH",
      "https_proxy",
      "SSL_CERT_FILE",
      "PULUMI_DIY_BACKEND_GZIP",
    ]);
  });

  it("of a shared backend holds credentials of clouds, too, and nothing else", () => {
    assert.deepEqual(namesFor("s3://bucket"), [
      "HOME",
      "PATH",
      "https_proxy",
      "SSL_CERT_FILE",
      "PULUMI_DIY_BACKEND_GZIP",
      "PULUMI_ACCESS_TOKEN",
      "AWS_SECRET_ACCESS_KEY",
      "GOOGLE_APPLICATION_CREDENTIALS",
      "AZURE_STORAGE_KEY",
      "PGPASSFILE",
    ]);
  });
});
