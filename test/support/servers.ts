import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeFolder } from "./folders.js";

/**
 * Reads lines of pids, the living ones of the moment. When no more can come, because whoever writes
 * them has died, it ends the last ones and removes their folder.
 */
const watchdog = `while read -r line; do pids=$line; done
for pid in $pids; do kill -KILL "$pid"; done 2>/dev/null
[ -z "$pids" ] || sleep 1
rm -rf "$1"`;

/** What a server is started with, if not with what the test's own process has. */
export interface RunAs {
  /** The account that it runs under. */
  readonly uid?: number;
  readonly gid?: number;
  readonly env?: NodeJS.ProcessEnv;
}

/**
 * Real servers that a test starts, kills and starts again, in a folder of their own. However the
 * test's process ends, they end with it.
 */
export class Servers {
  readonly folder: string;
  private readonly running = new Map<string, ChildProcess>();
  private readonly watchdog: ChildProcess;

  constructor(name: string) {
    this.folder = mkdtempSync(join(tmpdir(), `capstan-${name}-`));
    this.watchdog = spawn("/bin/sh", ["-c", watchdog, "watchdog", this.folder], {
      stdio: ["pipe", "ignore", "ignore"],
      detached: true,
    });
    this.watchdog.unref();
    // A pipe of a child keeps the process alive like the child itself.
    const pipe = this.watchdog.stdin as unknown as { unref: () => void };
    pipe.unref();
    this.watchdog.stdin?.on("error", () => undefined);
  }

  /** Starts a program under its file's name. Its output goes to a log that `assertRuns` shows. */
  start(name: string, program: string, args: readonly string[], as: RunAs = {}): void {
    const log = openSync(this.logFile(name), "a");
    // A group of its own: Ctrl-C is for the tests, which then end it.
    const child = spawn(program, args, {
      ...as,
      cwd: this.folder,
      detached: true,
      stdio: ["ignore", log, log],
    });
    closeSync(log);
    child.unref();
    child.on("error", () => undefined);
    child.on("exit", () => this.forget(name, child));
    this.running.set(name, child);
    this.tellWatchdog();
  }

  pidOf(name: string): number {
    const pid = this.running.get(name)?.pid;
    assert.ok(pid !== undefined, `${name} does not run:\n${this.lastLines(name)}`);
    return pid;
  }

  /** Sends a signal, by which it may end or not. */
  signal(name: string, signal: NodeJS.Signals): void {
    process.kill(this.pidOf(name), signal);
  }

  /** Ends it by a signal and waits until it has ended; nothing to do when it does not run. */
  async end(name: string, signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.running.get(name);
    if (child?.pid === undefined) return;
    child.ref();
    const ended = once(child, "exit");
    child.kill(signal);
    await ended;
  }

  /** Ends all of them and removes the folder. */
  async endAll(): Promise<void> {
    await Promise.all([...this.running.keys()].map((name) => this.end(name)));
    this.watchdog.kill("SIGKILL");
    removeFolder(this.folder);
  }

  /** All that it has printed, in all its lives. */
  printed(name: string): string {
    const file = this.logFile(name);
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  /** The end of what it has printed. */
  lastLines(name: string): string {
    return this.printed(name).trimEnd().split("\n").slice(-8).join("\n");
  }

  private forget(name: string, child: ChildProcess): void {
    if (this.running.get(name) === child) this.running.delete(name);
    this.tellWatchdog();
  }

  private tellWatchdog(): void {
    const pids = [...this.running.values()].map(({ pid }) => pid ?? "");
    this.watchdog.stdin?.write(`${pids.join(" ")}\n`);
  }

  private logFile(name: string): string {
    return join(this.folder, `${name}.log`);
  }
}
