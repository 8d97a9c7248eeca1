import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { makeProviders } from "../../providers/index.js";
import { readDesired } from "../../src/manifest/desired.js";
import { readSources } from "../../src/manifest/files.js";
import { systemClock } from "../../src/provider/clock.js";
import { removeFolder } from "../support/folders.js";
import { fencedBlocks, outputPattern, promptedCommands } from "./console.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
const cli = join(root, "dist", "cli", "main.js");
const readme = readFileSync(join(root, "README.md"), "utf8");

describe("README", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-readme-"));
    cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true });
  });
  after(() => removeFolder(folder));

  it("shows commands with the output that they have", () => {
    const examples = fencedBlocks(readme, "console").flatMap(promptedCommands);
    assert.ok(examples.length >= 7, `only ${examples.length} examples found`);
    for (const { command, output, exit } of examples) {
      const [program, ...args] = command.split(" ");
      assert.equal(program, "capstan", command);
      const shell = `exec 2>&1; "$NODE" "$CLI" "$@"`;
      const env = { ...process.env, NODE: process.execPath, CLI: cli, NO_COLOR: "1" };
      const run = spawnSync("sh", ["-c", shell, "sh", ...args], {
        cwd: folder,
        env,
        encoding: "utf8",
      });
      const shown = run.stdout.replace(/\n+$/, "\n");
      assert.equal(run.status, exit, `${command}\n${shown}`);
      assert.match(shown, outputPattern(output), command);
    }
  }).timeout(10 * 60_000);

  it("shows YAML that is valid beside the quickstart", () => {
    const [yaml] = fencedBlocks(readme, "yaml");
    assert.ok(yaml !== undefined);
    const providers = makeProviders(folder, systemClock);
    const { clusters, diagnostics } = readDesired(
      [...readSources([join(root, "examples", "quickstart")]), { file: "README.md", text: yaml }],
      providers.all,
    );
    assert.deepEqual(diagnostics, []);
    assert.deepEqual(
      clusters[0]?.machines.map(({ metadata }) => metadata.name),
      ["cp-0", "gpu-0"],
    );
  });
});
