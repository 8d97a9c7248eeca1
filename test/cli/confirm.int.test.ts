import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathWithCommand } from "../scenario/command-on-path.js";
import { cleanEnv } from "../scenario/sandbox.js";
import { removeFolder } from "../support/folders.js";
import { Screen } from "../support/tmux.js";

const machine = "demo-workers-af5f5222-0";

/** Every command that asks, in an order in which each of them has something to ask about. */
const asksFirst: readonly string[] = ["capstan up -f demo"];
const asksLater: readonly string[] = [
  "capstan up -f demo --set md/demo-workers:spec.replicas=1",
  "capstan rollback default/demo --to 1",
  "capstan certificates rotate default/demo",
  `capstan state forget default/demo Machine/${machine}`,
  "capstan destroy default/demo",
];

describe("a question at a terminal", function () {
  this.timeout(15 * 60_000);
  let folder: string;
  let screen: Screen;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "capstan-confirm-"));
    const env = { ...cleanEnv(), PATH: pathWithCommand(folder) };
    screen = new Screen({ columns: 100, rows: 50 }, folder, env);
    await screen.run("capstan init demo");
  });
  after(() => {
    screen.close();
    removeFolder(folder);
  });

  const answer = async (command: string, key: string): Promise<string> => {
    await screen.clear();
    screen.type(`${command}; echo "exit $?"`);
    await screen.until(`${command} asks`, (text) => text.endsWith('Only "yes" goes on:'));
    screen.press(key);
    return screen.untilIdle(command);
  };

  const assertLeft = async (command: string): Promise<void> => {
    for (const key of ["C-c", "C-d"]) {
      const shown = await answer(command, key);
      const asked = shown.slice(shown.lastIndexOf('Only "yes"'));
      const want = 'Only "yes" goes on:\nerror: not confirmed; nothing was changed\nexit 130';
      assert.equal(asked, want, `${command}, ${key}`);
    }
  };

  it("is left by Ctrl-C and Ctrl-D with nothing changed, in every command that asks", async () => {
    for (const command of asksFirst) await assertLeft(command);
    await screen.run("capstan up --yes -f demo");
    await screen.run("capstan up --yes -f demo --set md/demo-workers:spec.replicas=3");
    for (const command of asksLater) await assertLeft(command);
  });

  it("takes no for an answer", async () => {
    const shown = await answer("capstan init other && capstan up -f other", "Enter");
    assert.match(shown, /error: not confirmed; nothing was changed\nexit 64$/);
  });
});
