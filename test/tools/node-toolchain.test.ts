import assert from "node:assert/strict";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureNode, packagedNodeVersion } from "#node-toolchain";
import type { Install } from "#toolchain";
import { repository } from "../scenario/sandbox.js";

const old = "v20.20.2";

/** Leaves a node that says `version`. */
function installing(version: string): Install {
  return async ({ folder }) => {
    mkdirSync(join(folder, "bin"));
    const file = join(folder, "bin", "node");
    writeFileSync(file, `#!/bin/sh\necho '${version}'\n`);
    chmodSync(file, 0o755);
  };
}

const refusing: Install = async () => {
  throw new Error("npm ended with 1: no network");
};

describe("node toolchain", () => {
  let cache: string;
  let env: NodeJS.ProcessEnv;
  let said: string[];
  const ensure = (running: string, install: Install) =>
    ensureNode({ env, running, install, progress: (text) => void said.push(text) });

  beforeEach(() => {
    cache = mkdtempSync(join(tmpdir(), "capstan-node-"));
    env = { PATH: process.env["PATH"], CAPSTAN_CACHE: cache };
    said = [];
  });
  afterEach(() => rmSync(cache, { recursive: true, force: true }));

  it("is the one that runs, where that fits", async () => {
    assert.equal(await ensure("v22.19.0", refusing), process.execPath);
    assert.deepEqual([said, readdirSync(cache)], [[], []]);
  });

  it("is set up once, and says so in one line", async () => {
    const node = await ensure(old, installing(`v${packagedNodeVersion}`));
    assert.ok(node.startsWith(join(cache, `node-${packagedNodeVersion}-`)), node);
    assert.equal(said.length, 1);
    assert.match(
      said[0] ?? "",
      /^Node\.js v20\.20\.2 is older than 22\.19\.0: setting up a private/,
    );
    assert.equal(await ensure(old, refusing), node);
    assert.equal(said.length, 1);
  });

  it("is set up by several at once", async () => {
    const all = [1, 2, 3].map(() => ensure(old, installing(`v${packagedNodeVersion}`)));
    assert.equal(new Set(await Promise.all(all)).size, 1);
    assert.equal(readdirSync(cache).length, 1);
  });

  for (const [name, install, cause] of [
    ["npm fails", refusing, /installation from npm \(npm ended with 1: no network\)/],
    ["npm brought another", installing("v1.0.0"), /the new node says v1\.0\.0/],
  ] as const) {
    it(`names the way out and leaves nothing, where ${name}`, async () => {
      await assert.rejects(ensure(old, install), (error: Error & { hint?: string }) => {
        assert.match(error.message, cause);
        assert.equal(error.hint, "install Node.js 22.19.0 or newer");
        return true;
      });
      assert.deepEqual(readdirSync(cache), []);
    });
  }

  it("has the version that the lockfile pins", () => {
    const file = join(repository, "tools", "toolchain", "node", "package-lock.json");
    const { packages } = JSON.parse(readFileSync(file, "utf8")) as {
      packages: Record<string, { version?: string }>;
    };
    const versions = Object.values(packages).flatMap(({ version }) => version ?? []);
    assert.deepEqual([...new Set(versions)], [packagedNodeVersion]);
  });
});
