import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { once } from "node:events";
import { startsFull } from "./full-disk.js";
import type { HostFolder } from "./host-folder.js";

const restartMs = 1_000;
const patienceMs = 15_000;

/** What is started, and on which disk. */
interface Started {
  readonly program: string;
  readonly path: string;
  readonly args: readonly string[];
  readonly folder: HostFolder;
}

/**
 * A program of a host that is started again when it ends by itself, as a kubelet does with a static pod, for as long as the host
 * has its disk. It is in the group of the host.
 */
export class Supervised {
  private child: ChildProcess | undefined;
  private restart: NodeJS.Timeout | undefined;
  private isWanted = true;

  constructor(private readonly started: Started) {
    this.start();
  }

  private start(): void {
    const { program, path, args, folder } = this.started;
    if (!folder.isWhole()) return;
    const log = openSync(folder.log(program), "a", 0o600);
    const limits = folder.isFull(program) ? startsFull : [];
    const [first, ...words] = [...limits, path, ...args] as [string, ...string[]];
    const child = spawn(first, words, { stdio: ["ignore", log, log] });
    closeSync(log);
    this.child = child;
    const again = () => {
      if (this.child !== child) return;
      this.child = undefined;
      if (this.isWanted) this.restart = setTimeout(() => this.start(), restartMs);
    };
    child.once("exit", again);
    child.once("error", again);
  }

  /** Asks it to end, and ends it where it takes too long. */
  async stop(): Promise<void> {
    this.isWanted = false;
    clearTimeout(this.restart);
    const { child } = this;
    if (child?.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    const late = setTimeout(() => child.kill("SIGKILL"), patienceMs);
    await ended;
    clearTimeout(late);
  }

  /** At once, and for good. */
  kill(): void {
    this.isWanted = false;
    clearTimeout(this.restart);
    this.child?.kill("SIGKILL");
  }
}
