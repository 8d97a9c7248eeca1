import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defaultStateDir } from "../../src/engine/backend/project.js";
import { clearFaults, letBoot } from "../scenario/cloud-faults.js";
import { pathWithCommand } from "../scenario/command-on-path.js";
import { cleanEnv, repository } from "../scenario/sandbox.js";
import { Screen, type Size } from "../support/tmux.js";
import { removeFolder } from "../support/folders.js";

const screens = join(repository, "docs", "screens");
const sizes: Size[] = [
  { columns: 100, rows: 30 },
  { columns: 60, rows: 20 },
];

/** What differs from run to run: ids, UIDs, addresses, times, ages, and where lines are cut because of those. */
function stable(text: string): string {
  return text
    .replace(/^(Transaction .*)\n(\S.*)$/m, "$1 $2")
    .split("\n")
    .map((line) =>
      line
        .replace(/\b(host|net|lb)-[0-9a-f]{16}\b/g, "$1-id")
        .replace(/\b(host|net|lb)-[0-9a-f]*…/g, "…")
        .replace(/\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, "uid")
        .replace(/\b10\.\d+\.\d+\.\d+\b/g, "address")
        .replace(/\d+\.\d ?s\b/g, "time")
        .replace(/ (\d+[dhms])+(?= |$)/g, " age")
        .replace(/^(\d+[dhms])+ elapsed/, "age elapsed")
        .replace(/about \d+ (s|min) left|longer than estimated/, "about so much left")
        .replace(/ +/g, " ")
        .replace(/ ?\S* ?\S*…$/, "…"),
    )
    .join("\n");
}

/**
 * Compares the stable parts of a screen with docs/screens/<name>-<size>.txt; UPDATE_SCREENS=1 writes
 * the file as the screen is.
 */
function assertScreen(name: string, { columns, rows }: Size, text: string): void {
  const file = join(screens, `${name}-${columns}x${rows}.txt`);
  if (process.env["UPDATE_SCREENS"] === "1") {
    mkdirSync(screens, { recursive: true });
    writeFileSync(file, `${text}\n`);
  }
  const want = readFileSync(file, "utf8").trimEnd();
  assert.equal(stable(text), stable(want), `not as in ${file}; UPDATE_SCREENS=1 rewrites`);
  const lines = text.split("\n");
  assert.ok(lines.length <= rows && lines.every((line) => Array.from(line).length <= columns));
}

for (const size of sizes) {
  describe(`screens of ${size.columns} columns and ${size.rows} rows`, function () {
    this.timeout(15 * 60_000);
    let folder: string;
    let screen: Screen;

    before(async () => {
      folder = mkdtempSync(join(tmpdir(), "capstan-screens-"));
      screen = new Screen(size, folder, { ...cleanEnv(), PATH: pathWithCommand(folder) });
      await screen.run("capstan init demo");
      // Slow enough to look at while it happens.
      const file = join(folder, "demo", "cluster.yaml");
      const slow = readFileSync(file, "utf8").replace(/bootMs: 200/, "bootMs: 4000");
      assert.match(slow, /bootMs: 4000/);
      writeFileSync(file, slow);
    });
    after(() => {
      screen.close();
      removeFolder(folder);
    });

    const cloudFile = () => join(folder, defaultStateDir, "local-cloud.db");

    /** plan, up in progress, done, describe. */
    const creation = async () => {
      assertScreen("plan", size, await screen.run("capstan plan -f demo"));
      assert.match(screen.coloured(), /\u001b\[32m.*\+ create/);
      await screen.run("NO_COLOR=1 capstan plan -f demo");
      assert.doesNotMatch(screen.coloured(), /\u001b\[3\dm/);

      await screen.run("capstan local fault create slowBoot --ms 600000 --name demo-workers");
      await screen.clear();
      screen.type("capstan up --yes -f demo");
      const going = await screen.until("workers boot", (text) => {
        return [...text.matchAll(/workers-\S+ .*booting/g)].length === 2;
      });
      clearFaults(cloudFile());
      letBoot(cloudFile());
      assertScreen("up-in-progress", size, going);
      assertScreen("up-done", size, await screen.untilIdle("up"));
      assertScreen("describe", size, await screen.run("capstan describe"));
    };

    /** A failure that is taken back; one whose pieces are kept, and what describe says of them. */
    const failure = async () => {
      await screen.run("capstan destroy --yes -f demo");
      // The control plane: everything before it is made, everything behind it is not begun.
      await screen.run("capstan local fault create fail --times 9 --name demo-cp-0");
      assertScreen("failure", size, await screen.run("capstan up --yes -f demo"));
      await screen.run("capstan up --yes --no-rollback -f demo");
      assertScreen("describe-failure", size, await screen.run("capstan describe"));
      await screen.run("capstan local fault --clear");
    };

    /** Lines in the place of the live tree, then a lost host and a changed one. */
    const drift = async () => {
      const lines = await screen.run("CI=1 capstan up --yes -f demo");
      assert.match(lines, /^ +\d+\.\ds {2}wave 2: the control plane runs, workers follow$/m);
      assert.doesNotMatch(lines, /booting \d/);
      await screen.run("capstan local kill demo-workers-af5f5222-0");
      await screen.run("capstan local set demo-cp-0 size=large");
      assertScreen("describe-drift", size, await screen.run("capstan describe"));
      await screen.run("capstan destroy --yes -f demo");
    };

    it("are as in docs/screens, from the first plan over a failure to drift", async () => {
      // One story: each screen shows what the one before it left, so they are one test.
      await creation();
      await failure();
      await drift();
    });
  });
}
