import assert from "node:assert/strict";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cleanEnv, repository } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";
import { Screen } from "../support/tmux.js";

/** The lines of the README that make `capstan` a command of a shell in a clone. */
function linesOfReadme(): string[] {
  const text = readFileSync(join(repository, "README.md"), "utf8");
  const lines = text.split("\n").map((line) => line.trim());
  const wanted = lines.filter((line) => /^(export PATH|source <\(capstan)/.test(line));
  assert.equal(wanted.length, 2);
  return wanted;
}

describe("a shell as the README sets it up", function () {
  this.timeout(5 * 60_000);
  let folder: string;
  let screen: Screen;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), "capstan-path-"));
    screen = new Screen({ columns: 100, rows: 30 }, repository, cleanEnv());
  });
  after(() => {
    screen.close();
    removeFolder(folder);
  });

  it("finds capstan in any folder, and completes its verbs by TAB", async () => {
    for (const line of linesOfReadme()) await screen.run(line);
    await screen.run(`cd ${folder}`);
    assert.match(await screen.run("capstan version"), /\ncapstan \d/);
    await screen.clear();
    screen.press("capstan hist");
    screen.press("Tab");
    await screen.until("TAB completes", (text) => text.endsWith("capstan history"));
  });
});
