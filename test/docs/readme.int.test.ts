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

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");
const cli = join(root, "dist", "cli", "main.js");
const readme = readFileSync(join(root, "README.md"), "utf8");

/** A command of the README with the output that it shows; "..." stands for anything. */
interface Example {
  readonly command: string;
  readonly output: readonly string[];
  readonly exit: number;
}

function blocks(language: string): string[] {
  return [...readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(
    (match) => match[1] ?? "",
  );
}

function examplesIn(block: string): Example[] {
  return block
    .split(/^\$ /m)
    .slice(1)
    .map((part) => {
      const [command = "", ...lines] = part.trimEnd().split("\n");
      const exit = /^\[exit (\d+)\]$/.exec(lines.at(-1) ?? "")?.[1];
      return {
        command,
        output: exit === undefined ? lines : lines.slice(0, -1),
        exit: Number(exit ?? 0),
      };
    });
}

/** A line "..." matches any lines, "..." within a line any text; everything else to the letter. */
function pattern(output: readonly string[]): RegExp {
  const escape = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const lines = output.map((line) =>
    line === "..." ? "(?:.*\\n)*?" : `${line.split("...").map(escape).join(".*")}\\n`,
  );
  return new RegExp(`^${lines.join("")}$`);
}

describe("README", () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-readme-"));
    cpSync(join(root, "examples"), join(folder, "examples"), { recursive: true });
  });
  after(() => removeFolder(folder));

  it("shows commands with the output that they have", () => {
    const examples = blocks("console").flatMap(examplesIn);
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
      assert.match(shown, pattern(output), command);
    }
  }).timeout(10 * 60_000);

  it("shows YAML that is valid beside the quickstart", () => {
    const [yaml] = blocks("yaml");
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
