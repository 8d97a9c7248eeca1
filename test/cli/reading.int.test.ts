import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { writeManifests } from "../scenario/manifests.js";
import { Sandbox } from "../scenario/sandbox.js";

const pair = { machines: { "cp-0": { controlPlane: true }, "worker-0": {} } };

/** Every file below a folder, with its bytes. */
function filesIn(folder: string): Map<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((path) => [relative(folder, path), readFileSync(path, "base64")]),
  );
}

describe("verbs that only read", () => {
  let sandbox: Sandbox;
  beforeEach(async () => {
    sandbox = await Sandbox.make(pair);
  });
  afterEach(() => sandbox.close());

  it("make no state where there is none, and the plan saved there is applied as it is", async () => {
    const saved = join(sandbox.folder, "plan.json");
    await sandbox.plan(2, "--out", saved);
    await sandbox.capstan(0, "diff", sandbox.manifests, sandbox.manifests);
    await sandbox.capstan(0, "local", "machines");
    await sandbox.capstan(0, "local", "ledger");
    assert.equal(existsSync(sandbox.state), false);
    await sandbox.capstan(0, "up", "--plan", saved);
    await sandbox.assertSound("default.demo");
  });

  it("and verbs that change records make no state either", async () => {
    for (const words of [["destroy", "default/demo"], ["rollback", "default/demo"], ["sweep"]]) {
      const { stderr } = await sandbox.capstan(1, ...words, "--yes");
      assert.match(stderr, /there is no state in \S+state\n/, words.join(" "));
    }
    assert.equal(existsSync(sandbox.state), false);
  });

  it("fail for a state that was named and is not there", async () => {
    for (const verb of ["status", "describe", "drift", "history"]) {
      const { stderr } = await sandbox.capstan(1, verb);
      assert.match(stderr, /there is no state in \S+state\n/, verb);
    }
    assert.equal(existsSync(sandbox.state), false);
  });

  it("write no file of a state but the cloud's own ledger", async () => {
    await sandbox.up();
    const own = () =>
      [...filesIn(sandbox.state)].filter(([path]) => !path.startsWith("local-cloud.db"));
    const before = own();
    await sandbox.capstan(0, "status");
    await sandbox.capstan(0, "describe");
    await sandbox.capstan(0, "drift");
    await sandbox.capstan(0, "history");
    await sandbox.capstan(0, "history", "show", "1");
    await sandbox.plan(0);
    assert.deepEqual(own(), before);
  });

  it("fail with --require-state where nothing is recorded", async () => {
    const required = "--require-state";
    await sandbox.plan(1, required);
    await sandbox.up();
    await sandbox.capstan(0, "drift", required);
    await sandbox.plan(0, required);
    const other = join(sandbox.folder, "other");
    mkdirSync(other);
    writeManifests(other, { ...pair, name: "other" });
    const planned = await sandbox.capstan(1, "plan", "-f", other, required);
    assert.match(planned.stderr, /cannot plan against default.other: nothing is recorded/);
    const drifted = await sandbox.capstan(1, "drift", "-f", other, required);
    assert.match(drifted.stderr, /nothing is recorded about it/);
    await sandbox.capstan(0, "drift", "-f", other);
  });
});
