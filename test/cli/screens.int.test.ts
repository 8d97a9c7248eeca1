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
const wide: Size = { columns: 100, rows: 30 };
const narrow: Size = { columns: 60, rows: 20 };

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

/** A folder with a project in it, whose hosts boot slowly enough to look at while they do. */
class Demo {
  readonly folder = mkdtempSync(join(tmpdir(), "capstan-screens-"));
  private readonly env = { ...cleanEnv(), PATH: pathWithCommand(this.folder) };
  private readonly opened: Screen[] = [];

  /** A terminal whose shell is in the folder. */
  open(size: Size): Screen {
    const screen = new Screen(size, this.folder, this.env);
    this.opened.push(screen);
    return screen;
  }

  get cloudFile(): string {
    return join(this.folder, defaultStateDir, "local-cloud.db");
  }

  async init(screen: Screen): Promise<void> {
    await screen.run("capstan init demo");
    const file = join(this.folder, "demo", "cluster.yaml");
    const slow = readFileSync(file, "utf8").replace(/bootMs: 200/, "bootMs: 4000");
    assert.match(slow, /bootMs: 4000/);
    writeFileSync(file, slow);
  }

  close(): void {
    for (const screen of this.opened) screen.close();
    removeFolder(this.folder);
  }
}

describe("screens", function () {
  this.timeout(15 * 60_000);
  let demo: Demo;

  beforeEach(() => {
    demo = new Demo();
  });
  afterEach(() => demo.close());

  /** plan, up in progress, done, describe. */
  const creation = async (screen: Screen) => {
    const { size } = screen;
    await demo.init(screen);
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
    clearFaults(demo.cloudFile);
    letBoot(demo.cloudFile);
    assertScreen("up-in-progress", size, going);
    assertScreen("up-done", size, await screen.untilIdle("up"));
    assertScreen("describe", size, await screen.run("capstan describe"));
  };

  /** A failure that is taken back. */
  const failure = async (screen: Screen) => {
    await screen.run("capstan destroy --yes -f demo");
    // The control plane: everything before it is made, everything behind it is not begun.
    await screen.run("capstan local fault create fail --times 9 --name demo-cp-0");
    assertScreen("failure", screen.size, await screen.run("capstan up --yes -f demo"));
  };

  const assertDescribed = async (name: string, screens: readonly Screen[]) => {
    for (const one of screens) assertScreen(name, one.size, await one.run("capstan describe"));
  };

  /** One whose pieces are kept, and what describe says of them. */
  const keptFailure = async (screens: readonly [Screen, ...Screen[]]) => {
    const [screen] = screens;
    await screen.run("capstan up --yes --no-rollback -f demo");
    await assertDescribed("describe-failure", screens);
    await screen.run("capstan local fault --clear");
  };

  /** Lines in the place of the live tree, then a lost host and a changed one. */
  const drift = async (screens: readonly [Screen, ...Screen[]]) => {
    const [screen] = screens;
    const lines = await screen.run("CI=1 capstan up --yes -f demo");
    assert.match(lines, /^ +\d+\.\ds {2}wave 2: the control plane runs, workers follow$/m);
    assert.doesNotMatch(lines, /booting \d/);
    await screen.run("capstan local kill demo-workers-af5f5222-0");
    await screen.run("capstan local set demo-cp-0 size=large");
    await assertDescribed("describe-drift", screens);
  };

  // A story is one test: each screen shows what the one before it left. What is described is the same in terminals of all sizes.
  it(`of ${nameOf(wide)} are as in docs/screens, from the first plan to a failure, and of all sizes from there to drift`, async () => {
    const screen = demo.open(wide);
    await creation(screen);
    await failure(screen);
    const screens = [screen, demo.open(narrow)] as const;
    await keptFailure(screens);
    await drift(screens);
  });

  it(`of ${nameOf(narrow)} are as in docs/screens, from the first plan to a failure`, async () => {
    const screen = demo.open(narrow);
    await creation(screen);
    await failure(screen);
  });
});

function nameOf({ columns, rows }: Size): string {
  return `${columns} columns and ${rows} rows`;
}
