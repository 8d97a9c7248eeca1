import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../scenario/until.js";
import { removeFolder } from "./folders.js";

export interface Size {
  readonly columns: number;
  readonly rows: number;
}

const prompt = "$";
/** Each look at the screen is a process. */
const pollMs = 250;

/** A shell in a real terminal that nobody looks at: tmux shows what a person would see. */
export class Screen {
  private readonly folder = mkdtempSync(join(tmpdir(), "capstan-tmux-"));

  constructor(
    readonly size: Size,
    private readonly cwd: string,
    private readonly env: NodeJS.ProcessEnv,
  ) {
    const { columns, rows } = size;
    const shell = ["bash", "--norc", "--noprofile", "-i"];
    this.tmux(
      "-f",
      "/dev/null",
      "new-session",
      "-d",
      "-c",
      cwd,
      "-x",
      String(columns),
      "-y",
      String(rows),
      ...shell,
    );
    this.tmux("set-option", "-g", "status", "off");
  }

  /** Types a command and does not wait for it. */
  type(command: string): void {
    this.tmux("send-keys", "-l", command);
    this.tmux("send-keys", "Enter");
  }

  /** Presses one key, by tmux's name of it: "C-c". */
  press(key: string): void {
    this.tmux("send-keys", key);
  }

  /** Types a command and waits until the shell asks for the next one. */
  async run(command: string): Promise<string> {
    await this.clear();
    this.type(command);
    return this.untilIdle(command);
  }

  /** Waits until a prompt stands below what the command printed; the screen without that prompt. */
  async untilIdle(what: string): Promise<string> {
    const text = await this.until(`${what} ends`, (shown) => shown.endsWith(`\n${prompt}`));
    return text.slice(0, -prompt.length).trimEnd();
  }

  /** Waits until the screen fits, and returns it. */
  async until(what: string, fits: (text: string) => boolean): Promise<string> {
    const shown = await until(
      what,
      () => {
        const text = this.text();
        return fits(text) && text;
      },
      240_000,
      pollMs,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.text()}`);
    });
    return shown;
  }

  /** Wipes the screen and waits until nothing but the prompt is there. */
  async clear(): Promise<void> {
    await this.until("the shell is idle", (text) => `\n${text}`.endsWith(`\n${prompt}`));
    this.tmux("send-keys", "C-l");
    await this.until("the screen is empty", (text) => text === prompt);
  }

  /** What the screen shows, lines without trailing blanks, nothing below the last line. */
  text(): string {
    return this.tmux("capture-pane", "-p")
      .split("\n")
      .map((line) => line.trimEnd())
      .join("\n")
      .trimEnd();
  }

  /** The same with its colours as escape sequences. */
  coloured(): string {
    return this.tmux("capture-pane", "-p", "-e").trimEnd();
  }

  close(): void {
    spawnSync("tmux", ["-S", join(this.folder, "socket"), "kill-server"]);
    removeFolder(this.folder);
  }

  private tmux(...args: readonly string[]): string {
    const { TMUX: _, CI: __, NO_COLOR: ___, ...env } = this.env;
    const ran = spawnSync("tmux", ["-u", "-S", join(this.folder, "socket"), ...args], {
      cwd: this.cwd,
      env: {
        ...env,
        PS1: `${prompt} `,
        LANG: "C.UTF-8",
        LC_ALL: "C.UTF-8",
        TERM: "xterm-256color",
      },
      encoding: "utf8",
    });
    assert.ok(
      ran.error === undefined,
      "this test looks at a real terminal and needs tmux (Debian package tmux)",
    );
    assert.equal(ran.status, 0, `tmux ${args.join(" ")}: ${ran.stderr}`);
    return ran.stdout;
  }
}
